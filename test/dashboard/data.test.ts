/** The page Data in Chromium, with real films: collections, the grid, its filter, live changes, long lists, who may what. */
import t from 'tap';
import { SEED_SETS } from '../../scripts/seed-sets.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { filmDesk } from '../helpers/dashboard/films.ts';
import { writeToGrid } from '../helpers/dashboard/write-to-grid.ts';
import { inPage, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

const IS_LONG = process.env['MILLRACE_LONG'] === '1';
/** Rows of the long list; with MILLRACE_LONG as many as the design asks for. */
const LONG = IS_LONG ? 100_000 : 5_000;

t.test('collections and their documents', options, async (t) => {
  const { app, services, page, origin, browser, owner, films, fill, complaints, open, go, picture, violations } =
    await filmDesk(t);
  const viewer = await signInAdmin(app, services, ['viewer']);

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
    await page.getByRole('textbox', { name: 'Type memos to confirm' }).fill('memos');
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
    await page.getByRole('combobox', { name: 'Field of condition 1' }).fill('Director');
    await page.getByRole('textbox', { name: 'Value of condition 1' }).fill('Steven Spielberg');
    const his = films.filter((film) => film['Director'] === 'Steven Spielberg');
    const great = his.filter((film) => Number(film['US Gross']) > 300_000_000).length;
    await page.getByText(`${his.length} documents`, { exact: true }).waitFor();
    t.match(decodeURIComponent(page.url()), /q=Director=Steven\+Spielberg/);
    await page.getByLabel('As query parameters').fill('Director=Steven+Spielberg&US+Gross[gt]=300000000');
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
    t.comment(await writeToGrid(page, origin, owner, film));
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

  await t.test('the list says why it is empty, and which index it lacks', async (t) => {
    await go('/data/movies?q=Titel=Zoom');
    await page.getByText("did you mean the field 'Title'?").waitFor();
    t.strictSame(await violations(), []);
    // As the server says it of a list that takes long; lists of this test do not.
    const hint = 'This list took long because an index on ["Director","-US Gross"] is missing.';
    await page.route('**/api/movies?*', async (requested) => {
      const response = await requested.fetch();
      await requested.fulfill({ response, headers: { ...response.headers(), 'millrace-hint': hint } });
    });
    await go('/data/movies?q=Director=Nobody&sort=-US+Gross');
    await page.getByText(hint).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('link', { name: 'Create index' }).click();
    t.equal(await page.getByLabel('Fields of the new index').inputValue(), 'Director,-US Gross');
  });

  await t.test('a value is changed in its cell, by keys alone', async (t) => {
    await go('/data/movies?sort=id&columns=Title,US+Gross');
    await grid.getByText('film-0000').waitFor();
    await grid.focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'F2']) await page.keyboard.press(key);
    await page.getByRole('textbox', { name: 'Title of film-0002' }).fill('Changed here');
    await page.keyboard.press('Enter');
    await grid.getByText('Changed here').waitFor();
    t.equal((await ask(app, 'GET /api/movies/film-0002', undefined, owner)).json().Title, 'Changed here');
  });

  await t.test(`a list of ${LONG} documents scrolls to its end, and its middle stays right`, async (t) => {
    await fill('long', rows(LONG));
    await open('/data/long?sort=id');
    const list = page.getByRole('grid', { name: 'Documents of long' });
    await list.getByText('row-000000').waitFor();
    const resting = await inPage<readonly number[]>(page, FRAMES, LONG, 0);
    const scrolling = await inPage<readonly number[]>(page, FRAMES, LONG, 10);
    t.comment(`frames at rest: ${smoothness(resting)}; while it scrolls: ${smoothness(scrolling)}`);
    await inPage(page, `(row) => { document.querySelector('[role=grid]').scrollTop = row * 34; }`, LONG);
    await list.getByText(idOf(LONG - 1)).waitFor();
    await inPage(page, `(row) => { document.querySelector('[role=grid]').scrollTop = row * 34; }`, LONG / 2);
    await list.getByText(idOf(LONG / 2), { exact: true }).waitFor();
    const between = `${idOf(LONG / 2)}-and-a-half`;
    await ask(app, 'POST /api/long', { id: between, seq: -1 }, owner);
    await list.getByText(between).waitFor();
    await ask(app, `DELETE /api/long/${idOf(LONG / 2 + 1)}`, undefined, owner);
    await list.getByText(idOf(LONG / 2 + 1), { exact: true }).waitFor({ state: 'detached' });
  });

  const onlyLong = { skip: IS_LONG ? false : 'only with MILLRACE_LONG=1' };
  await t.test('200,000 flights are sorted, filtered and scrolled', onlyLong, async (t) => {
    const flights = (await SEED_SETS.find(({ name }) => name === 'flights')?.read()) ?? [];
    t.equal(flights.length, 200_000);
    await fill('flights', flights);
    await services.mongo.data.collection('flights').createIndex({ delay: 1, _id: 1 });
    const list = page.getByRole('grid', { name: 'Documents of flights' });
    const began = performance.now();
    await go('/data/flights?sort=-delay&columns=delay,distance');
    const latest = flights.reduce((most, flight) => Math.max(most, Number(flight['delay'])), 0);
    await list.getByRole('row').nth(1).getByText(String(latest), { exact: true }).waitFor();
    t.comment(`the latest of ${flights.length} flights is shown within ${Math.round(performance.now() - began)} ms`);
    await page.getByText('200,000 documents', { exact: true }).waitFor();
    const frames = await inPage<readonly number[]>(page, FRAMES, flights.length, 10);
    t.comment(`frames while it scrolls: ${smoothness(frames)}`);
    await inPage(page, `(row) => { document.querySelector('[role=grid]').scrollTop = row * 34; }`, flights.length);
    const earliest = flights.reduce((least, flight) => Math.min(least, Number(flight['delay'])), 0);
    await list.getByRole('row').last().getByText(String(earliest), { exact: true }).waitFor();
    const far = flights.filter(({ distance }) => Number(distance) >= 2_500).length;
    await go('/data/flights?sort=-delay&q=distance[gte]=2500');
    await page.getByText(`${far.toLocaleString('en')} documents`, { exact: true }).waitFor();
    await ask(app, 'POST /api/flights', { delay: latest + 1, distance: 2_500, time: 0 }, owner);
    await list
      .getByRole('row')
      .nth(1)
      .getByText(String(latest + 1), { exact: true })
      .waitFor();
  });

  await t.test('a viewer looks and cannot change; a phone shows it all', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.enter('/data', 'viewer@example.org');
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

/** A machine that is busy with other things draws late at rest as well. */
function smoothness(frames: readonly number[]): string {
  const late = frames.filter((ms) => ms > 20).length;
  return `${(100 - (100 * late) / frames.length).toFixed(1)} % of ${frames.length} under 20 ms`;
}

/** Scrolls by `step` rows a frame, at most 120 frames. Answers the milliseconds of each frame. */
const FRAMES = `async (rows, step) => {
  const grid = document.querySelector('[role=grid]');
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let row = 0; row < rows && times.length < 120; row += step) {
    grid.scrollTop = row * 34;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}`;
