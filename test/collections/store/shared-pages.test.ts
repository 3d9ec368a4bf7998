/** Pages that share database calls: only equal queries do, and no response is older than its request. */
import type { Document } from 'mongodb';
import t from 'tap';
import { DocumentStore } from '../../../src/collections/store/store.ts';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import type { FirstBatch } from '../../../src/database/cursors/find-raw.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { buildTestApp } from '../../helpers/app.ts';

const THINGS = parseCollectionName('things');

t.test('pages of equal queries share calls', async (t) => {
  const { services } = await buildTestApp(t);
  const things = services.mongo.data.collection<Document & { _id: string }>('things');
  await things.insertMany(['a', 'b', 'c'].map((_id, n) => ({ _id, n, kind: n % 2 })));
  const requested: Document[] = [];
  let issue: Error | null = null;
  /** The database, with its queries recorded. */
  const data: typeof services.mongo.data = Object.create(services.mongo.data);
  data.command = async (command: Document, options) => {
    if (command['find'] === 'things') requested.push(command['filter']);
    if (issue !== null) throw issue;
    return services.mongo.data.command(command, options);
  };
  const store = new DocumentStore({ ...services.mongo, data }, 5_000);
  const page = (filter: Document, projection?: ReadonlyMap<string, 0 | 1>) => {
    const shown = projection === undefined ? {} : { projection };
    return store.page(THINGS, filter, { ...shown, sort: new Map([['_id', 1]]), limit: 10, maxTimeMS: 5_000 });
  };
  const idsIn = ({ documents }: FirstBatch) => documents.map((raw) => String(decodeDocument(raw)['_id'])).join();

  await t.test('fifty equal pages at once are two calls', async (t) => {
    const found = await Promise.all(Array.from({ length: 50 }, () => page({})));
    t.strictSame(new Set(found.map(idsIn)), new Set(['a,b,c']));
    t.equal(requested.splice(0).length, 2);
  });

  await t.test('pages that differ in anything use calls of their own', async (t) => {
    const filters = [{ kind: 0 }, { kind: 1 }, { kind: '0' }, { kind: 0.5 }];
    const found = await Promise.all([...filters, ...filters].map((filter) => page(filter)));
    t.strictSame(found.map(idsIn), ['a,c', 'b', '', '', 'a,c', 'b', '', '']);
    t.equal(requested.splice(0).length, 8);
    const [whole, cut] = await Promise.all([page({ kind: 1 }), page({ kind: 1 }, new Map([['n', 1]]))]);
    t.strictSame(
      [whole, cut].map((one) => Object.keys(decodeDocument(one?.documents[0] ?? Buffer.alloc(0)))),
      [
        ['_id', 'n', 'kind'],
        ['_id', 'n'],
      ],
    );
    requested.length = 0;
  });

  await t.test('a read after a write sees it, though the query is already running', async (t) => {
    const before = page({});
    await things.insertOne({ _id: 'd', n: 3 });
    t.equal(idsIn(await page({})), 'a,b,c,d');
    await before;
  });

  await t.test('an error goes to the requests that shared the call, and to no later one', async (t) => {
    issue = new Error('away');
    const failed = [page({}), page({}), page({})];
    for (const one of failed) await t.rejects(one, { message: 'away' });
    issue = null;
    t.equal(idsIn(await page({})), 'a,b,c,d');
  });
});
