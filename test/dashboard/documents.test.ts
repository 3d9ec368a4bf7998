/** Documents of the page Data in Chromium: one in its drawer, many by import, export and filter; indexes; the view of others; keys. */
import { readFile } from 'node:fs/promises';
import type { Locator } from 'playwright-core';
import t from 'tap';
import { SEED_SETS } from '../../scripts/seed-sets.ts';
import { filmDesk } from '../helpers/dashboard/films.ts';
import { whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';
import { ask } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

t.test('what can be done with documents', options, async (t) => {
  const { app, page, owner, films, fill, complaints, open, go, picture, violations } = await filmDesk(t);
  const grid = page.getByRole('grid', { name: 'Documents of movies' });

  await t.test('a document: form, JSON, conflict, history, restore, copy, delete and undo', async (t) => {
    const stored = async (id: string) => (await ask(app, `GET /api/movies/${id}`, undefined, owner)).json();
    await open('/data/movies?doc=film-0010');
    const drawer = page.getByRole('dialog', { name: 'film-0010' });
    await drawer.getByLabel('Title', { exact: true }).fill('By the form');
    await drawer.getByLabel('Type of US DVD Sales').selectOption('number');
    await drawer.getByLabel('US DVD Sales', { exact: true }).fill('12');
    await picture('document');
    t.strictSame(await violations(), []);
    await drawer.getByRole('button', { name: 'Save', exact: true }).click();
    await drawer.getByText('Revision 2').waitFor();
    t.match(await stored('film-0010'), { Title: 'By the form', 'US DVD Sales': 12 });

    await ask(app, 'PATCH /api/movies/film-0010', { Distributor: 'Elsewhere' }, owner);
    await drawer.getByText('Elsewhere').waitFor();
    await drawer.getByText('JSON', { exact: true }).click();
    await page.waitForURL(/side=json/);
    const json = drawer.getByRole('textbox', { name: 'Document as JSON' });
    await json.fill('{"Title":');
    t.equal(await drawer.getByRole('button', { name: 'Save', exact: true }).isDisabled(), true, 'not valid');
    await json.fill('{"Title":"Mine","Source":"Mine"}');
    await ask(app, 'PATCH /api/movies/film-0010', { Title: 'Theirs' }, owner);
    await drawer.getByText('This document was changed by someone else', { exact: true }).waitFor();
    await drawer.getByRole('button', { name: 'Save', exact: true }).click();
    await drawer.getByText('Nothing is lost').waitFor();
    await picture('document-conflict');
    t.strictSame(await violations(), []);
    await drawer.getByRole('radiogroup', { name: 'Value of Title to keep' }).getByText('Theirs').click();
    await drawer.getByRole('button', { name: 'Save', exact: true }).click();
    await drawer.getByText('Revision 5').waitFor();
    const { id, _meta, ...merged } = await stored('film-0010');
    t.strictSame(merged, { Title: 'Theirs', Source: 'Mine' });

    await drawer.getByText('History', { exact: true }).click();
    const changes = drawer.getByRole('button', { name: /^(?:updated|created)/ });
    await changes.nth(4).waitFor();
    await changes.nth(3).click();
    await drawer.getByRole('button', { name: 'Restore' }).click();
    await changes.nth(5).waitFor();
    await picture('document-history');
    t.strictSame(await violations(), []);
    t.match(await stored('film-0010'), { Title: 'By the form', 'US DVD Sales': 12 });

    await drawer.getByText('Form', { exact: true }).click();
    await drawer.getByRole('button', { name: 'Duplicate' }).click();
    const fresh = page.getByRole('dialog', { name: 'New document in movies' });
    // Behind all films in the order of ids: the keys below count rows from the first film.
    await fresh.getByLabel('id', { exact: true }).fill('the-copy');
    await fresh.getByRole('button', { name: 'Create' }).click();
    const copy = page.getByRole('dialog', { name: 'the-copy' });
    await copy.getByRole('button', { name: 'Delete' }).click();
    await copy.waitFor({ state: 'detached' });
    t.equal((await ask(app, 'GET /api/movies/the-copy', undefined, owner)).statusCode, 404);
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => (await stored('the-copy')).Title === 'By the form', 'the document is back');
  });

  await t.test('import, export, and writes by filter', async (t) => {
    await ask(app, 'POST /api/people', { name: 'Ada' }, owner);
    await open('/data/people');
    const choose = async (item: RegExp) => {
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await choose(/^Import/);
    const lines = Array.from({ length: 1_200 }, (_, at) => `p-${at},Person ${at},${at % 90},0${at},,true`);
    const buffer = Buffer.from(`id,full name,age,code,note,active\n${lines.join('\n')}\n`);
    const dialog = page.getByRole('dialog', { name: 'Import into people' });
    await dialog.locator('input[type=file]').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
    await dialog.getByLabel('Field for full name').fill('name');
    await dialog.getByLabel('Type of active').selectOption('skip');
    await picture('import');
    t.strictSame(await violations(), []);
    await dialog.getByRole('button', { name: 'Import 1,200 documents' }).click();
    await page.getByText('1,201 documents', { exact: true }).waitFor();
    await page.getByRole('columnheader', { name: 'age' }).waitFor();
    const { _meta, ...imported } = (await ask(app, 'GET /api/people/p-7', undefined, owner)).json();
    t.strictSame(
      imported,
      { id: 'p-7', name: 'Person 7', age: 7, code: '07' },
      'digits stay, empty cells are left out',
    );
    await choose(/^Import/);
    await dialog.locator('input[type=file]').setInputFiles({
      name: 'more.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from('{"id":"x-1","name":"X"}\n{"id":"p-7"}\n'),
    });
    await dialog.getByRole('button', { name: 'Import 2 documents' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByText('0 of 2 documents saved').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    await ask(app, 'POST /api/people', { id: '1e5', name: 'Not a number' }, owner);
    await go('/data/people?doc=1e5');
    await page.getByRole('dialog', { name: '1e5' }).getByText('Revision 1').waitFor();

    await go('/data/people?q=age[lt]=30&sort=id');
    await choose(/^Export/);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).click(),
    ]);
    const exported = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
    const young = lines.filter((_, at) => at % 90 < 30).length;
    t.equal(exported.length, young);
    t.strictSame(JSON.parse(exported[0] ?? ''), { id: 'p-0', name: 'Person 0', age: 0, code: '00' });

    await choose(/^Update/);
    await page.getByRole('textbox', { name: 'Fields to set, as JSON' }).fill('{"young":true}');
    await page.getByRole('button', { name: /^Update \d+/ }).click();
    await page.getByText(`${young} documents updated`, { exact: true }).waitFor();
    await go('/data/people?q=young=true');
    await choose(/^Delete/);
    await page.getByRole('textbox', { name: 'Type people to confirm' }).fill('people');
    await page.keyboard.press('Enter');
    await page.getByText('No documents match the filter').waitFor();
    const left = await ask(app, 'GET /api/people?limit=0&count=exact', undefined, owner);
    t.equal(left.headers['millrace-count'], String(1_202 - young));
  });

  await t.test('indexes: listed, created, dropped', async (t) => {
    await go('/data/movies?tab=indexes');
    await page.getByLabel('Fields of the new index').fill('Director,-US Gross');
    await page.getByRole('button', { name: 'Create index' }).click();
    await page.getByRole('cell', { name: 'Director, -US Gross', exact: true }).waitFor();
    t.strictSame(await violations(), []);
    await picture('indexes');
    await page.getByRole('button', { name: 'Drop the index Director, -US Gross' }).click();
    await page.getByRole('button', { name: 'Drop', exact: true }).click();
    await page.getByText('No indexes yet').waitFor();
    t.strictSame((await ask(app, 'GET /admin/collections/movies/indexes', undefined, owner)).json(), []);
  });

  await t.test('the list as somebody else gets it', async (t) => {
    const policy = {
      name: 'Members see good films without money',
      resources: ['movies'],
      actions: ['read'],
      effect: 'allow',
      principals: { roles: ['member'] },
      filter: { 'IMDB Rating': { $gte: 9 } },
      fields: { read: ['*', '-US Gross'] },
    };
    t.equal((await ask(app, 'POST /admin/policies', policy, owner)).statusCode, 201);
    await go('/data/movies?sort=Title&columns=Title,US+Gross');
    await page.getByRole('button', { name: 'View as…' }).click();
    await page.getByRole('combobox', { name: 'View as' }).selectOption('role');
    await page.getByLabel('Role', { exact: true }).fill('member');
    await page.getByRole('button', { name: 'View', exact: true }).click();
    await page.getByText('Viewing as the role member').waitFor();
    const seen = films.filter((film) => Number(film['IMDB Rating']) >= 9).length;
    await page.getByText(`${seen} documents`, { exact: true }).waitFor();
    await grid.getByRole('columnheader', { name: 'US Gross hidden' }).waitFor();
    await picture('data-as');
    t.strictSame(await violations(), []);
    t.equal(await page.getByRole('button', { name: 'New document' }).isDisabled(), true);
    await page.getByRole('button', { name: 'Stop viewing as' }).click();
    await page.getByText('Viewing as the role member').waitFor({ state: 'detached' });
  });

  await t.test('countries: nested members as columns, in a filter, and as references', async (t) => {
    const countries = (await SEED_SETS.find(({ name }) => name === 'countries')?.read()) ?? [];
    const trips = ['CHE', 'NOR'].map((countryId, at) => ({ id: `trip-${at}`, countryId }));
    await fill(
      'countries',
      countries.map((country) => ({ id: country['cca3'], ...country })),
    );
    await fill('trips', trips);
    const list = page.getByRole('grid', { name: 'Documents of countries' });
    const found = (count: number) =>
      page.getByText(`${count} document${count === 1 ? '' : 's'}`, { exact: true }).waitFor();
    await open('/data/countries?sort=-area&columns=name.common,currencies,borders,area');
    await found(countries.length);
    const largest = countries.toSorted((one, other) => Number(other['area']) - Number(one['area']))[0];
    await list.getByRole('row').nth(1).getByText(String(largest?.['cca3']), { exact: true }).waitFor();
    await list.getByRole('row').nth(1).getByText('{"RUB":{"name":"Russian ruble"').waitFor();

    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('combobox', { name: 'Field of condition 1' }).fill('subregion');
    await page.getByRole('textbox', { name: 'Value of condition 1' }).fill('Western Europe');
    await found(countries.filter(({ subregion }) => subregion === 'Western Europe').length);
    await page.getByLabel('As query parameters').fill('borders=CHE&name.common[ne]=Italy');
    await list.getByText('Liechtenstein', { exact: true }).waitFor();
    await found(countries.filter(({ borders }) => Array.isArray(borders) && borders.includes('CHE')).length - 1);
    await page.getByLabel('As query parameters').fill('name.native.gsw.common=Schweiz');
    await found(1);
    await list.getByText('CHE', { exact: true }).waitFor();
    t.strictSame(await violations(), []);

    await go('/data/trips?sort=id');
    await page.getByRole('link', { name: 'NOR', exact: true }).click();
    const drawer = page.getByRole('dialog', { name: 'NOR' });
    await drawer.getByLabel('region', { exact: true }).waitFor();
    t.equal(await drawer.getByLabel('region', { exact: true }).inputValue(), 'Europe');
    await drawer.getByRole('button', { name: 'What references it?' }).click();
    await drawer.getByRole('link', { name: 'trip-1' }).click();
    await page.getByRole('dialog', { name: 'trip-1' }).getByRole('link', { name: 'Open in countries' }).waitFor();
  });

  await t.test('everything by keys alone: a cell, the form, a new document, deleting and undoing', async (t) => {
    const stored = async (id: string) => await ask(app, `GET /api/movies/${id}`, undefined, owner);
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const hasFocus = async (locator: Locator) => (await locator.and(page.locator(':focus')).count()) === 1;
    const tabTo = async (locator: Locator, key = 'Tab') => {
      for (let tabs = 0; !(await hasFocus(locator)); tabs += 1) {
        if (tabs > 60) throw new Error(`The key ${key} does not reach ${locator}`);
        await page.keyboard.press(key);
      }
    };
    const write = async (locator: Locator, text: string) => {
      await tabTo(locator);
      await press('Control+a');
      await page.keyboard.type(text);
    };
    // On a busy server, the answer who somebody is can come after the documents. Keys pressed before it must count, too.
    const whoIsIt = Promise.withResolvers<void>();
    await page.route('**/auth/me', async (requested) => {
      await whoIsIt.promise;
      await requested.continue();
    });
    await open('/data/movies?sort=id&columns=Title,US+Gross');
    await grid.getByText('film-0000').waitFor();
    await tabTo(grid);
    await press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'F2');
    whoIsIt.resolve();
    await until(() => hasFocus(page.getByRole('textbox', { name: 'Title of film-0003' })), 'the cell has the keys');
    await press('Control+a');
    await page.keyboard.type('Typed into its cell');
    await press('Enter');
    await until(async () => (await stored('film-0003')).json().Title === 'Typed into its cell', 'the cell is stored');
    await grid.getByText('Typed into its cell').waitFor();

    await press('ArrowDown', 'Enter');
    const drawer = page.getByRole('dialog', { name: 'film-0004' });
    await drawer.getByLabel('Title', { exact: true }).waitFor();
    await write(drawer.getByLabel('Title', { exact: true }), 'Typed into its form');
    await tabTo(drawer.getByRole('button', { name: 'Save', exact: true }));
    await press('Enter');
    await drawer.getByText('Revision 2').waitFor();
    t.equal((await stored('film-0004')).json().Title, 'Typed into its form');
    await press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await until(() => hasFocus(grid), 'the grid has the keys again');

    await tabTo(page.getByRole('button', { name: 'New document' }), 'Shift+Tab');
    await press('Enter');
    const fresh = page.getByRole('dialog', { name: 'New document in movies' });
    await fresh.getByLabel('id', { exact: true }).waitFor();
    await write(fresh.getByLabel('id', { exact: true }), 'by-keys');
    await write(fresh.getByLabel('New field'), 'Title');
    await tabTo(fresh.getByRole('button', { name: 'Add', exact: true }));
    await press('Enter');
    await write(fresh.getByLabel('Title', { exact: true }), 'Made by keys');
    await tabTo(fresh.getByRole('button', { name: 'Create' }));
    await press('Enter');
    const created = page.getByRole('dialog', { name: 'by-keys' });
    await created.getByText('Revision 1').waitFor();

    await tabTo(created.getByRole('button', { name: 'Delete' }));
    await press('Enter');
    await created.waitFor({ state: 'detached' });
    t.equal((await stored('by-keys')).statusCode, 404);
    await until(() => hasFocus(page.getByRole('button', { name: 'Undo' })), 'what can be undone has the keys');
    await press('Enter');
    await until(async () => (await stored('by-keys')).statusCode === 200, 'the document is back');
    t.equal((await stored('by-keys')).json().Title, 'Made by keys');
  });

  t.strictSame(complaints, []);
});
