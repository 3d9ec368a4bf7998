/** Reads inside an open transaction: they see its own writes, and no other reader sees them before it commits. */
import t from 'tap';
import { NO_PRECONDITIONS } from '../../../src/collections/store/preconditions.ts';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

const [items, fresh, never] = ['items', 'fresh', 'never'].map(parseCollectionName) as [never, never, never];
const STOP = new Error('rolled back');

t.test('a transaction sees what it wrote', async (t) => {
  const { services } = await buildTestApp(t);
  const { collections, atomic, policies } = services;
  const boss = owner();
  const scope = policies.scope(boss, 'read', items);
  const creating = policies.scope(boss, 'create', items);
  const write = { request: 'req_1', preconditions: NO_PRECONDITIONS };
  const ids = (documents: unknown) => (documents as Uint8Array[]).map((raw) => String(decodeDocument(raw)['_id']));
  const query = (body: object) => parseQueryJson({ limit: 2, sort: 'n', ...body });
  for (const n of [1, 2, 3]) await collections.create(creating, items, { id: `d${n}`, n, list: [n] }, write);

  await t.test(
    'a transaction sees its writes in lists, pages, counts and by id, until it is rolled back',
    async (t) => {
      const work = atomic.run(async (within) => {
        await collections.create(creating, items, { id: 'd0', n: 0, list: [0] }, { ...write, within });
        await collections.remove(policies.scope(boss, 'delete', items), items, 'd3', { ...write, within });
        const first = await collections.list(scope, items, query({ count: 'exact' }), within);
        t.strictSame([ids(first.documents), first.count?.value], [['d0', 'd1'], 3]);
        const second = await collections.list(scope, items, query({ cursor: first.next }), within);
        t.strictSame([ids(second.documents), second.next], [['d2'], null]);
        const back = await collections.list(scope, items, query({ cursor: second.prev }), within);
        t.strictSame(ids(back.documents), ['d0', 'd1'], 'and backwards');
        const byArray = query({ sort: '-list' });
        const one = await collections.list(scope, items, byArray, within);
        const two = await collections.list(scope, items, query({ sort: '-list', cursor: one.next }), within);
        const again = await collections.list(scope, items, query({ sort: '-list', cursor: two.prev }), within);
        t.strictSame(ids(again.documents), ['d2', 'd1'], 'in the order of arrays');
        const whole = await collections.list(scope, items, parseQueryJson({}), within);
        const all = ids(whole.documents);
        for await (const batch of whole.rest ?? []) all.push(...ids(batch));
        t.strictSame(all, ['d0', 'd1', 'd2'], 'without a limit');
        const estimated = await collections.list(scope, items, query({ count: 'estimated', limit: 0 }), within);
        t.strictSame(estimated.count, { kind: 'exact', value: 3 }, 'no estimate: that is not possible inside');
        t.equal((await collections.get(scope, items, 'd0', within)).raw.length > 0, true);
        await t.rejects(collections.get(scope, items, 'd3', within), { code: 'document-not-found' });
        await t.rejects(collections.get(scope, items, 'd0'), { code: 'document-not-found' }, 'others do not see it');
        t.strictSame(ids((await collections.list(scope, items, query({}))).documents), ['d1', 'd2']);
        throw STOP;
      });
      await t.rejects(work, STOP);
      t.strictSame(ids((await collections.list(scope, items, query({}))).documents), ['d1', 'd2']);
    },
  );

  await t.test('a transaction sees its writes in a collection that it created', async (t) => {
    const work = atomic.run(async (within) => {
      const reading = policies.scope(boss, 'read', fresh);
      await t.rejects(collections.list(reading, fresh, query({}), within), { code: 'resource-not-available' });
      const created = policies.scope(boss, 'create', fresh);
      await collections.create(created, fresh, { id: 'x' }, { ...write, within });
      t.strictSame(ids((await collections.list(reading, fresh, query({}), within)).documents), ['x']);
      await t.rejects(collections.get(reading, fresh, 'y', within), { code: 'document-not-found' });
      t.strictSame((await collections.list(reading, fresh, query({ filter: { n: 1 } }), within)).documents, []);
      throw STOP;
    });
    await t.rejects(work, STOP);
    await t.rejects(collections.list(scope, never, query({})), { code: 'resource-not-available' });
  });

  await t.test('a transaction sees its writes within its Scope', async (t) => {
    withPolicies(services, [
      { resources: ['items'], actions: ['read'], filter: { n: { $lt: 2 } }, fields: { read: ['n'] } },
    ]);
    const narrow = policies.scope(user('ann'), 'read', items);
    await atomic.run(async (within) => {
      const found = await collections.list(narrow, items, query({ count: 'exact' }), within);
      t.strictSame([ids(found.documents), found.count?.value], [['d1'], 1]);
      const [raw = new Uint8Array()] = found.documents as Uint8Array[];
      t.notOk('list' in decodeDocument(raw), 'hidden fields stay hidden');
      await t.rejects(collections.get(narrow, items, 'd2', within), { code: 'document-not-found' });
    });
  });
});
