/** The page Data in Chromium, with real films: the grid, its filter, live changes, documents, import and export. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { bodies, SEED_SETS } from '../../scripts/seed-sets.ts';
import { ask, signInOwner } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { signInAt } from '../helpers/dashboard/sign-in.ts';
import { inPage, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

/** Rows of the long list; with MILLRACE_LONG as many as the design asks for. */
const LONG = process.env['MILLRACE_LONG'] === '1' ? 100_000 : 5_000;

t.test('the page Data', options, async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_PRINCIPAL: '100000' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInOwner(app, parts);
  const viewer = await signInOwner(app, parts, ['viewer']);
  const fill = async (collection: string, documents: Iterable<unknown>) => {
    for (const { text } of bodies(documents)) {
      const headers = { ...owner.headers, 'content-type': 'application/json', prefer: 'return=minimal' };
      const answer = await app.inject({ method: 'POST', url: `/api/${collection}`, headers, payload: text });
      t.equal(answer.statusCode, 201);
    }
  };
  const films = (await SEED_SETS.find(({ name }) => name === 'movies')?.read()) ?? [];
  await fill(
    'movies',
    films.map((film, at) => ({ id: `film-${String(at).padStart(4, '0')}`, ...film })),
  );
  const browser = await testBrowser(t);
  const desk = await dashboardPage(t, browser, origin);
  const { page, complaints, open, picture, violations } = desk;
  await open('/data');
  await signInAt(page, 'owner@example.org');

  await t.test('collections: new, renamed, dropped, counted live', async (t) => {
    await page.getByRole('row', { name: /^movies 3,201/ }).waitFor();
    await ask(app, 'POST /api/notes', { text: 'one' }, owner);
    await page.getByRole('row', { name: /^notes 1 / }).waitFor();
    await picture('collections');
    t.strictSame(await violations(), []);

    await page.getByRole('button', { name: 'New collection' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('todos');
    await page.getByRole('textbox', { name: 'First document' }).fill('{"title":"Milk"}');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('gridcell', { name: 'Milk' }).waitFor();
    await page.getByRole('link', { name: 'All collections' }).click();

    await page.getByRole('button', { name: 'Actions for notes' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'New name' }).fill('memos');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^memos 1 / }).waitFor();

    await page.getByRole('button', { name: 'Actions for memos' }).click();
    await page.getByRole('menuitem', { name: 'Drop' }).click();
    t.equal(
      await page.getByRole('button', { name: 'Drop', exact: true }).isDisabled(),
      true,
      'the name is typed first',
    );
    await page.getByRole('textbox', { name: 'Type memos to go on' }).fill('memos');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^memos/ }).waitFor({ state: 'detached' });
    t.equal((await ask(app, 'GET /api/memos', undefined, owner)).statusCode, 404);
  });

  const grid = page.getByRole('grid', { name: 'Documents of movies' });

  await t.test('the grid sorts, filters by its address, and shows a write from elsewhere at once', async (t) => {
    await page.getByRole('link', { name: 'movies' }).click();
    await page.getByText('3,201 documents', { exact: true }).waitFor();
    await grid.getByRole('columnheader', { name: 'Title' }).waitFor();
    await picture('data');
    t.strictSame(await violations(), []);

    await grid.getByRole('button', { name: /^Title/ }).click();
    await page.waitForURL(/sort=Title/);
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('combobox', { name: 'Member of condition 1' }).fill('Director');
    await page.getByRole('textbox', { name: 'Value of condition 1' }).fill('Steven Spielberg');
    const his = films.filter((film) => film['Director'] === 'Steven Spielberg');
    const great = his.filter((film) => Number(film['US Gross']) > 300_000_000).length;
    await page.getByText(`${his.length} documents`, { exact: true }).waitFor();
    t.match(decodeURIComponent(page.url()), /q=Director=Steven\+Spielberg/);
    await page.getByLabel('As words of the address').fill('Director=Steven+Spielberg&US+Gross[gt]=300000000');
    await page.getByText(`${great} documents`, { exact: true }).waitFor();
    const command = (await page.getByLabel('the command', { exact: true }).textContent()) ?? '';
    const [, copied = ''] = /'http:\/\/[^/]+([^']+)'/.exec(command) ?? [];
    const listed = (await ask(app, `GET /${copied.slice(1)}`, undefined, owner)).json();
    t.equal(listed.length, great, 'the command gets the same list');
    await grid.getByRole('row').nth(great).waitFor();
    await grid
      .getByRole('row')
      .nth(great + 1)
      .waitFor({ state: 'detached' });
    t.equal(await grid.getByRole('row').nth(1).getByRole('gridcell').nth(1).textContent(), listed[0].Title);
    await picture('data-filter');
    t.strictSame(await violations(), []);

    const film = { id: 'new-film', Title: 'A New Film', Director: 'Steven Spielberg', 'US Gross': 400_000_000 };
    const began = performance.now();
    await ask(app, 'POST /api/movies', film, owner);
    const written = performance.now();
    await grid.getByText('A New Film').waitFor();
    t.comment(
      `write → grid: ${Math.round(performance.now() - began)} ms, of which the write ${Math.round(written - began)}`,
    );
    await page.getByText(`${great + 1} documents`, { exact: true }).waitFor();
    await ask(app, 'PATCH /api/movies/new-film', { Title: 'Renamed' }, owner);
    await grid.getByText('Renamed').waitFor();
    await ask(app, 'DELETE /api/movies/new-film', undefined, owner);
    await grid.getByText('Renamed').waitFor({ state: 'detached' });

    await page.goBack();
    await page.getByRole('link', { name: 'movies' }).waitFor();
    await open('/data/movies?sort=-US+Gross&columns=Title,US+Gross&q=Distributor=Universal');
    await grid.getByText('Jurassic Park', { exact: true }).waitFor();
    t.equal(await grid.getByRole('columnheader').count(), 3);
  });

  await t.test('a value is changed in its cell, by keys alone', async (t) => {
    await open('/data/movies?sort=id&columns=Title,US+Gross');
    await grid.getByText('film-0000').waitFor();
    await grid.focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'F2']) await page.keyboard.press(key);
    await page.getByRole('textbox', { name: 'Title of film-0002' }).fill('Changed here');
    await page.keyboard.press('Enter');
    await grid.getByText('Changed here').waitFor();
    t.equal((await ask(app, 'GET /api/movies/film-0002', undefined, owner)).json().Title, 'Changed here');
  });

  await t.test('a document: form, JSON, conflict, history, restore, copy, delete and undo', async (t) => {
    const stored = async (id: string) => (await ask(app, `GET /api/movies/${id}`, undefined, owner)).json();
    await open('/data/movies?doc=film-0010');
    const drawer = page.getByRole('dialog', { name: 'film-0010' });
    await drawer.getByLabel('Title', { exact: true }).fill('By the form');
    await drawer.getByLabel('Type of US DVD Sales').selectOption('number');
    await drawer.getByLabel('US DVD Sales', { exact: true }).fill('12');
    await picture('document');
    t.strictSame(await violations(), []);
    await drawer.getByRole('button', { name: 'Save' }).click();
    await drawer.getByText('Revision 2').waitFor();
    t.match(await stored('film-0010'), { Title: 'By the form', 'US DVD Sales': 12 });

    await ask(app, 'PATCH /api/movies/film-0010', { Distributor: 'Elsewhere' }, owner);
    await drawer.getByText('Elsewhere').waitFor();
    await drawer.getByText('JSON', { exact: true }).click();
    await page.waitForURL(/side=json/);
    const json = drawer.getByRole('textbox', { name: 'Document as JSON' });
    await json.fill('{"Title":');
    t.equal(await drawer.getByRole('button', { name: 'Save' }).isDisabled(), true, 'not valid');
    await json.fill('{"Title":"Mine","Source":"Mine"}');
    await ask(app, 'PATCH /api/movies/film-0010', { Title: 'Theirs' }, owner);
    await drawer.getByText('Somebody has changed this document', { exact: true }).waitFor();
    await drawer.getByRole('button', { name: 'Save' }).click();
    await drawer.getByText('Nothing is lost').waitFor();
    await picture('document-conflict');
    t.strictSame(await violations(), []);
    await drawer.getByRole('radiogroup', { name: 'Which Title stays' }).getByText('Theirs').click();
    await drawer.getByRole('button', { name: 'Save this' }).click();
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
    await fresh.getByLabel('id', { exact: true }).fill('a-copy');
    await fresh.getByRole('button', { name: 'Create' }).click();
    const copy = page.getByRole('dialog', { name: 'a-copy' });
    await copy.getByRole('button', { name: 'Delete' }).click();
    await copy.waitFor({ state: 'detached' });
    t.equal((await ask(app, 'GET /api/movies/a-copy', undefined, owner)).statusCode, 404);
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => (await stored('a-copy')).Title === 'By the form', 'the document is back');
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
    await dialog.getByLabel('Member for full name').fill('name');
    await dialog.getByLabel('Type of active').selectOption('leave out');
    await picture('import');
    t.strictSame(await violations(), []);
    await dialog.getByRole('button', { name: 'Import 1,200 documents' }).click();
    await page.getByText('1,201 documents', { exact: true }).waitFor();
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
    await dialog.getByText('0 of 2 documents are stored').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    await open('/data/people?q=age[lt]=30&sort=id');
    await choose(/^Export/);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).click(),
    ]);
    const exported = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
    const young = lines.filter((_, at) => at % 90 < 30).length;
    t.equal(exported.length, young);
    t.strictSame(JSON.parse(exported[0] ?? ''), { id: 'p-0', name: 'Person 0', age: 0, code: '00' });

    await choose(/^Change/);
    await page.getByRole('textbox', { name: 'Members to change, as JSON' }).fill('{"young":true}');
    await page.getByRole('button', { name: /^Change \d+/ }).click();
    await page.getByText(`${young} documents are changed`).waitFor();
    await open('/data/people?q=young=true');
    await choose(/^Delete/);
    await page.getByRole('textbox', { name: 'Type people to go on' }).fill('people');
    await page.keyboard.press('Enter');
    await page.getByText('No document matches the filter').waitFor();
    const left = await ask(app, 'GET /api/people?limit=0&count=exact', undefined, owner);
    t.equal(left.headers['millrace-count'], String(1_201 - young));
  });

  await t.test('indexes: listed, created, dropped', async (t) => {
    await open('/data/movies?tab=indexes');
    await page.getByLabel('Members of a new index').fill('Director,-US Gross');
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
      collections: ['movies'],
      actions: ['read'],
      effect: 'allow',
      principals: { roles: ['member'] },
      where: { 'IMDB Rating': { $gte: 9 } },
      fields: { read: ['*', '-US Gross'] },
    };
    t.equal((await ask(app, 'POST /admin/policies', policy, owner)).statusCode, 201);
    await open('/data/movies?sort=Title&columns=Title,US+Gross');
    await page.getByRole('button', { name: 'View as…' }).click();
    await page.getByRole('combobox', { name: 'View as' }).selectOption('role');
    await page.getByLabel('Role', { exact: true }).fill('member');
    await page.getByRole('button', { name: 'Look' }).click();
    await page.getByText('This is what role:member gets').waitFor();
    const seen = films.filter((film) => Number(film['IMDB Rating']) >= 9).length;
    await page.getByText(`${seen} documents`, { exact: true }).waitFor();
    await grid.getByRole('columnheader', { name: 'US Gross hidden' }).waitFor();
    await picture('data-as');
    t.strictSame(await violations(), []);
    t.equal(await page.getByRole('button', { name: 'New document' }).isDisabled(), true);
    await page.getByRole('button', { name: 'Back to my own view' }).click();
    await page.getByText('This is what role:member gets').waitFor({ state: 'detached' });
  });

  await t.test(`a list of ${LONG} documents scrolls to its end, and its middle stays right`, async (t) => {
    await fill('long', rows(LONG));
    await open('/data/long?sort=id');
    const list = page.getByRole('grid', { name: 'Documents of long' });
    await list.getByText('row-000000').waitFor();
    const frames = await inPage<readonly number[]>(page, SCROLL, LONG);
    const late = frames.filter((ms) => ms > 20).length;
    const share = (100 - (100 * late) / frames.length).toFixed(1);
    t.comment(`${frames.length} frames, ${share} % under 20 ms, longest ${Math.round(Math.max(...frames))} ms`);
    await list.getByText(idOf(LONG - 1)).waitFor();
    await inPage(page, `(row) => { document.querySelector('[role=grid]').scrollTop = row * 34; }`, LONG / 2);
    await list.getByText(idOf(LONG / 2), { exact: true }).waitFor();
    const between = `${idOf(LONG / 2)}-and-a-half`;
    await ask(app, 'POST /api/long', { id: between, seq: -1 }, owner);
    await list.getByText(between).waitFor();
    await ask(app, `DELETE /api/long/${idOf(LONG / 2 + 1)}`, undefined, owner);
    await list.getByText(idOf(LONG / 2 + 1), { exact: true }).waitFor({ state: 'detached' });
  });

  await t.test('a viewer looks and cannot change; a phone shows it all', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.open('/data');
    await signInAt(phone.page, 'viewer@example.org');
    await phone.page.getByRole('link', { name: 'movies' }).waitFor();
    t.equal(await phone.page.getByRole('button', { name: 'New collection' }).isDisabled(), true);
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390);
    t.strictSame(await phone.violations(), []);
    await phone.page.getByRole('link', { name: 'movies' }).click();
    await phone.page.getByRole('gridcell', { name: 'film-3200' }).waitFor();
    t.equal(await phone.page.getByRole('button', { name: 'New document' }).isDisabled(), true);
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390);
    t.strictSame(await phone.violations(), []);
    await phone.picture('data-phone');
    t.strictSame(phone.complaints, []);
    t.equal((await ask(app, 'POST /api/movies', { Title: 'No' }, viewer)).statusCode, 403);
    t.equal((await ask(app, 'DELETE /admin/collections/movies', undefined, viewer)).statusCode, 403);
  });

  t.strictSame(complaints, []);
});

function idOf(row: number): string {
  return `row-${String(row).padStart(6, '0')}`;
}

function* rows(count: number) {
  for (let row = 0; row < count; row++) {
    yield { id: idOf(row), seq: row, even: row % 2 === 0, name: `Number ${row}`, at: { x: row, y: [row] } };
  }
}

/** Scrolls by 100 rows a frame, at most 600 frames, then to the end. Answers the milliseconds of each frame. */
const SCROLL = `async (rows) => {
  const grid = document.querySelector('[role=grid]');
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let row = 0; row < rows && times.length < 600; row += 10) {
    grid.scrollTop = row * 34;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  grid.scrollTop = rows * 34;
  return times;
}`;
