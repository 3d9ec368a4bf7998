/**
 * Pages that share their calls to the database: only those of the very same question do, and nobody is answered from
 * before it asked.
 */
import type { Document } from 'mongodb';
import t from 'tap';
import { type CoalescedCalls, CoalescedOperations } from '../../../src/collections/store/coalesced-operations.ts';
import { readStored } from '../../../src/database/bson/stored.ts';
import { type FirstFound, findFirst } from '../../../src/database/cursors/find-raw.ts';
import { parseCollectionName } from '../../../src/database/names.ts';
import { buildTestApp } from '../../helpers/app.ts';

const THINGS = parseCollectionName('things');

t.test('pages of the very same question share calls', async (t) => {
  const { parts } = await buildTestApp(t);
  const things = parts.mongo.data.collection<Document & { _id: string }>('things');
  await things.insertMany(['a', 'b', 'c'].map((_id, n) => ({ _id, n, kind: n % 2 })));
  const asked: Document[] = [];
  let fault: Error | null = null;
  /** The calls of the store; only the one of pages is made here. */
  const calls = {
    findFirst: async (name, find) => {
      asked.push(find.filter);
      if (fault !== null) throw fault;
      return findFirst(parts.mongo.data, name, find);
    },
  } as Partial<CoalescedCalls> as CoalescedCalls;
  const shared = new CoalescedOperations(calls);
  const page = (filter: Document, projection?: ReadonlyMap<string, 0 | 1>) => {
    const shown = projection === undefined ? {} : { projection };
    return shared.page(THINGS, { filter, ...shown, sort: new Map([['_id', 1]]), batchSize: 10, maxTimeMS: 5_000 });
  };
  const idsIn = ({ documents }: FirstFound) => documents.map((raw) => String(readStored(raw)['_id'])).join();

  await t.test('fifty at once are two calls', async (t) => {
    const found = await Promise.all(Array.from({ length: 50 }, () => page({})));
    t.strictSame(new Set(found.map(idsIn)), new Set(['a,b,c']));
    t.equal(asked.splice(0).length, 2);
  });

  await t.test('what differs in anything goes by itself', async (t) => {
    const filters = [{ kind: 0 }, { kind: 1 }, { kind: '0' }, { kind: 0.5 }];
    const found = await Promise.all([...filters, ...filters].map((filter) => page(filter)));
    t.strictSame(found.map(idsIn), ['a,c', 'b', '', '', 'a,c', 'b', '', '']);
    t.equal(asked.splice(0).length, 8);
    const [whole, cut] = await Promise.all([page({ kind: 1 }), page({ kind: 1 }, new Map([['n', 1]]))]);
    t.strictSame(
      [whole, cut].map((one) => Object.keys(readStored(one?.documents[0] ?? Buffer.alloc(0)))),
      [
        ['_id', 'n', 'kind'],
        ['_id', 'n'],
      ],
    );
    asked.length = 0;
  });

  await t.test('who asks after a write sees it, though the question is under way', async (t) => {
    const before = page({});
    await things.insertOne({ _id: 'd', n: 3 });
    t.equal(idsIn(await page({})), 'a,b,c,d');
    await before;
  });

  await t.test('a failure is told to those who shared it, and to nobody after them', async (t) => {
    fault = new Error('away');
    const failed = [page({}), page({}), page({})];
    for (const one of failed) await t.rejects(one, { message: 'away' });
    fault = null;
    t.equal(idsIn(await page({})), 'a,b,c,d');
  });
});
