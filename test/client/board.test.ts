/**
 * The live board of one airport: flights change over HTTP and, every fourth time, by another program directly in the database. At
 * every checked moment the board equals the result of the query.
 */
import t from 'tap';
import { createClient, type Doc } from '../../client/client.ts';
import { type Departure, departures, turns } from '../../scripts/board-day.ts';
import { SEED_SETS } from '../../scripts/seed-sets.ts';
import { buildTestApp } from '../helpers/app.ts';

const FLIGHTS = process.env['MILLRACE_LONG'] === '1' ? 5_000 : 200;
const CHECK_EVERY = 40;
const ROWS = 12;

t.test('The live board of one airport equals the result of its query.', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = createClient(url);
  t.teardown(() => client.close());
  const source = (await SEED_SETS.find(({ name }) => name === 'flights')?.read()) ?? [];
  const flights = departures(source, FLIGHTS);
  for (let at = 0; at < flights.length; at += 1_000) {
    await app.inject({ method: 'POST', url: '/api/departures', payload: flights.slice(at, at + 1_000) });
  }
  const board = client.collection<Departure>('departures');
  const foreign = services.mongo.data.collection<{ _id: string }>('departures');
  const query = { filter: { airport: 'ORD', status: { $ne: 'departed' } }, sort: 'time', limit: ROWS };

  let shown: readonly Doc<Departure>[] = [];
  let wake = () => {};
  const stop = board.live(query, ({ documents }) => {
    shown = documents;
    wake();
  });
  const same = async () => {
    const { documents } = await board.list(query);
    const requested = JSON.stringify(documents);
    while (JSON.stringify(shown) !== requested) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return documents;
  };
  t.equal((await same()).length, ROWS);

  const day = turns(flights);
  for (const [n, { id, status }] of day.entries()) {
    if (n % 4 === 3) await foreign.updateOne({ _id: id }, { $set: { status } });
    else await board.patch(id, { status });
    if (n % CHECK_EVERY !== 0) continue;
    const documents = await same();
    t.strictSame(shown, documents, `after ${n + 1} changes`);
  }
  await same();
  t.strictSame(shown, [], 'in the end everybody has left');
  stop();
});
