/** The queries of the direct sender read index keys only, and no more than necessary, however many deliveries wait. */
import { MongoClient, ObjectId } from 'mongodb';
import t from 'tap';
import { connectMongo } from '../../../../src/database/mongo.ts';
import { DeliveryListStore } from '../../../../src/webhooks/sending/queue/delivery-list-store.ts';
import { DeliveryStore } from '../../../../src/webhooks/sending/queue/delivery-store.ts';
import { toDeliveryRow } from '../../../../src/webhooks/sending/queue/new-delivery-rows.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';

const ENDPOINTS = 10;
const EACH = 300;
/** Keys and documents of a page of five: one more, and those created at the time at which it begins. */
const PAGE = [6 + ENDPOINTS, 6 + ENDPOINTS] as const;

t.test('the queries of the direct sender read only what they need', async (t) => {
  const position = await testMongo(t);
  const mongo = await connectMongo(position);
  t.teardown(() => mongo.close());
  const client = await new MongoClient(position.url).connect();
  t.teardown(() => client.close());
  const db = client.db(`${position.database}_log`);
  const store = new DeliveryStore(mongo, () => 0);
  await store.start();
  const now = Date.now();
  const endpoints = Array.from({ length: ENDPOINTS }, () =>
    newEndpoint('http://127.0.0.1:1024/', { ordering: 'document' }),
  );
  for (const target of endpoints) {
    const rows = Array.from({ length: EACH }, (_, n) =>
      toDeliveryRow(newDelivery(target.id, n, { document: `todos/${n % 3}` }), {
        now: now + n,
        dueAt: new Date(now + n),
        token: null,
        target,
        ref: new ObjectId(),
      }),
    );
    await store.insert(rows);
  }
  const ids = endpoints.map(({ id }) => id);
  const lists = new DeliveryListStore(mongo);
  const { next } = await lists.page({ limit: 5 });
  const after = next ?? '';
  const late = new Date(now + EACH);
  /** By the server's own report of each command. */
  const read = async (query: () => Promise<unknown>) => {
    await db.command({ profile: 0 });
    await db.collection('system.profile').drop();
    await db.command({ profile: 2 });
    await query();
    const entries = await db
      .collection('system.profile')
      .find({ ns: `${position.database}_log.webhook_deliveries` })
      .toArray();
    const sum = (name: string) => entries.reduce((total, entry) => total + Number(entry[name] ?? 0), 0);
    return {
      keys: sum('keysExamined'),
      documents: sum('docsExamined'),
      plans: entries.map(({ planSummary }) => String(planSummary)),
    };
  };
  const cases = [
    ['endpoints with something due', () => store.dueEndpoints(ids, late), 2 * ENDPOINTS, 0],
    ['the next time', () => store.nextDue(new Date(now)), 1, 1],
    [
      'five of two endpoints',
      () =>
        store.findDue(
          ids.slice(0, 2).map((endpoint) => ({ endpoint, count: 5 })),
          late,
        ),
      10,
      10,
    ],
    [
      'the first ones of two documents',
      () => store.firstPending([0, 1].map((n) => ({ endpoint: ids[0] ?? '', document: `todos/${n}` }))),
      2,
      2,
    ],
    ['a page of all', () => lists.page({ limit: 5, after }), ...PAGE],
    ['a page of an endpoint', () => lists.page({ limit: 5, after, endpoint: ids[0] ?? '' }), ...PAGE],
    ['a page of some endpoints', () => lists.page({ limit: 5, after, endpoints: ids }), ...PAGE],
    ['a page of a state', () => lists.page({ limit: 5, after, state: 'pending' }), ...PAGE],
    ['how many are pending', () => store.pending(ids.slice(0, 1)), EACH + 1, 0],
  ] as const;
  for (const [what, query, keys, documents] of cases) {
    const found = await read(query);
    t.comment(`${what}: ${JSON.stringify(found)}`);
    t.ok(found.keys <= keys, `${what}: ${found.keys} keys`);
    t.ok(found.documents <= documents, `${what}: ${found.documents} documents`);
  }
  await db.command({ profile: 0 });
});
