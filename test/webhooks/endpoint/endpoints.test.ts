/**
 * Endpoints: stored with encrypted secrets, an event for each change, active in every process, passed to the sender.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { AuditEvents } from '../../../src/database/audit-only-events.ts';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Transactions } from '../../../src/database/transactions.ts';
import { Encryption } from '../../../src/lib/encryption.ts';
import type { Creator } from '../../../src/webhooks/endpoint/endpoint.ts';
import { EndpointStore } from '../../../src/webhooks/endpoint/endpoint-store.ts';
import { Endpoints } from '../../../src/webhooks/endpoint/endpoints.ts';
import { toEndpointSubscription } from '../../../src/webhooks/endpoint/stored-endpoint.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { RecordingSender } from '../../helpers/webhooks/recording-sender.ts';

const VALUE = 'planted-header-value-4410';
const BODY = {
  url: 'https://example.org/hook',
  types: ['todos.*'],
  filter: { $or: [{ 'a.b': 1 }, { owner: '$user.id' }] },
  headers: { Authorization: VALUE, 'x.dotted': 'two' },
};
const STAMP = { by: 'admin:o1', request: 'req_1' };
const ADMIN: Creator = { kind: 'admin', id: 'o1' };
const KEY: Creator = { kind: 'key', id: 'k1' };
const HOUR = 3_600_000;

const { url, database } = await testMongo(t);
const mongo = await connectMongo({ url, database });
const transactions = new Transactions(mongo);
await transactions.start();
const activity = new AuditEvents(mongo);
await activity.start();
t.teardown(async () => {
  await transactions.stop();
  await mongo.close();
});

const masterKey = randomBytes(32);
const clock = { now: Date.now() };

/** The endpoints of one process. Without a log there are no reports of changes, so it polls. */
async function openRegistry(t: import('tap').Test, options: { encryption?: Encryption; looks?: boolean } = {}) {
  const store = new EndpointStore(mongo, options.encryption ?? new Encryption([masterKey]));
  const sender = new RecordingSender();
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const checkUrl = (address: string) => (address.startsWith('https://') ? null : 'must start with https://');
  const now = () => clock.now;
  const registry = new Endpoints({ store, transactions, activity, sender, checkUrl, onError, now });
  await store.start();
  await registry.reloader.start(() => options.looks !== true);
  t.teardown(() => registry.reloader.stop());
  return { registry, store, sender, errors };
}

const occurrences = async (type: string) => mongo.data.collection('_activity').find({ type }).toArray();
const stored = () => mongo.data.collection<{ _id: string }>('_endpoints');

t.beforeEach(async () => {
  await stored().deleteMany({});
  await mongo.log.collection('webhook_secrets').deleteMany({});
  await mongo.data.collection('_activity').deleteMany({});
});

t.test('an endpoint is created, passed to the sender with its secrets, and shown without them', async (t) => {
  const { registry, sender } = await openRegistry(t);
  const { shown, secret } = await registry.create(BODY, KEY, STAMP);
  const { id } = shown.endpoint;
  t.match(shown.endpoint, {
    types: ['todos.*'],
    filter: BODY.filter,
    headers: { authorization: '•••', 'x.dotted': '•••' },
    principal: KEY,
    enabled: true,
    disabledReason: null,
    createdAt: Date,
  });
  t.notMatch(JSON.stringify(shown), VALUE);
  t.strictSame(sender.targets.get(id), {
    id,
    url: BODY.url,
    secrets: [{ secret, until: null }],
    headers: { authorization: VALUE, 'x.dotted': 'two' },
    ratePerSecond: null,
    ordering: 'none',
    retrySchedule: 'standard',
    enabled: true,
  });
  t.strictSame(registry.activeNow(), [sender.targets.get(id)]);
  t.strictSame(await registry.list(null), [shown]);
  const row = await stored().findOne({ _id: id });
  t.notMatch(JSON.stringify(row), new RegExp(`${VALUE}|whsec`), 'the documents behind events contain no secret');
  t.strictSame(toEndpointSubscription(row ?? {}), {
    id,
    types: BODY.types,
    filter: BODY.filter,
    principal: KEY,
    ordering: 'none',
    enabled: true,
  });
  const encrypted = JSON.stringify(await mongo.log.collection('webhook_secrets').find().toArray());
  t.match(encrypted, /enc1\./);
  t.notMatch(encrypted, new RegExp(`${VALUE}|whsec`));
});

t.test('an invalid document of another program matches no events', async (t) => {
  const good = { _id: 'e', types: ['a.*'], principal: KEY, enabled: true };
  t.match(toEndpointSubscription(good), { filter: null, ordering: 'none' });
  const wrong = [
    { _id: 7 },
    { types: 'a.*' },
    { types: [7] },
    { principal: null },
    { principal: { kind: 'x', id: 'y' } },
  ];
  for (const part of [...wrong, { filter: 'x' }])
    t.equal(toEndpointSubscription({ ...good, ...part }), null, JSON.stringify(part));
});

t.test('a creator finds its own endpoints, and cannot detect others', async (t) => {
  const { registry } = await openRegistry(t);
  const mine = (await registry.create(BODY, KEY, STAMP)).shown.endpoint.id;
  const other = (await registry.create(BODY, { kind: 'user', id: 'k1' }, STAMP)).shown.endpoint.id;
  t.strictSame(
    (await registry.list(KEY)).map(({ endpoint }) => endpoint.id),
    [mine],
  );
  t.strictSame(
    (await registry.list(null)).map(({ endpoint }) => endpoint.id),
    [mine, other],
  );
  t.equal((await registry.show(mine, KEY)).endpoint.id, mine);
  const change = { id: other, owner: KEY, stamp: STAMP };
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => registry.show(other, KEY),
    () => registry.show('none', null),
    () => registry.change({ name: 'Mine' }, change),
    () => registry.rotate(HOUR, change),
    () => registry.remove(change),
  ];
  for (const attempt of attempts) {
    await t.rejects(attempt(), { code: 'endpoint-not-found' });
  }
  t.equal((await registry.list(null)).length, 2);
});

t.test('a change of an endpoint is active at once, and within a second in another process', async (t) => {
  const [one, two] = [await openRegistry(t), await openRegistry(t)];
  const { id } = (await one.registry.create(BODY, ADMIN, STAMP)).shown.endpoint;
  two.registry.reloader.applyLogRows([{ collection: 'todos' }]);
  two.registry.reloader.applyLogRows([{ collection: '_endpoints' }]);
  await until(() => two.sender.targets.has(id), 'the other process notifies its sender');
  t.strictSame(two.sender.targets.get(id), one.sender.targets.get(id));

  const before = (await one.registry.show(id, null)).version;
  const patched = await one.registry.change(
    { ratePerSecond: 5, headers: { authorization: '•••' } },
    { id, owner: null, stamp: STAMP },
  );
  t.match(patched.endpoint, { ratePerSecond: 5 });
  t.not(patched.version, before);
  t.match(one.sender.targets.get(id), { ratePerSecond: 5, headers: { authorization: VALUE } });
  const condition = (version: string) => {
    if (version !== before) throw new Error('another version');
  };
  await t.rejects(
    one.registry.change({ name: 'Late' }, { id, owner: null, stamp: STAMP, condition }),
    /another version/,
  );
  two.registry.reloader.applyLogRows(null);
  await until(() => two.sender.targets.get(id)?.ratePerSecond === 5, 'lost rows are compensated');

  await one.registry.remove({ id, owner: null, stamp: STAMP });
  t.strictSame(one.sender.calls.at(-1), `remove ${id}`);
  two.registry.reloader.applyLogRows([{ collection: '_endpoints' }]);
  await until(() => !two.sender.targets.has(id), 'it is deleted there');
  t.equal(await mongo.log.collection('webhook_secrets').countDocuments(), 0);
});

t.test('only changed endpoints are passed to the sender again', async (t) => {
  const { registry, sender } = await openRegistry(t);
  const first = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint.id;
  const second = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint.id;
  await registry.change({ name: 'B' }, { id: second, owner: null, stamp: STAMP });
  t.strictSame(sender.calls, [`ensure ${first}`, `ensure ${second}`, `ensure ${second}`]);
});

t.test('an endpoint that the sender did not accept is passed to it again', async (t) => {
  const { registry, sender, errors } = await openRegistry(t);
  sender.issue = new Error('the database is away');
  const { id } = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint;
  await until(() => sender.targets.has(id), 'it is passed again');
  t.match(errors, [{ message: 'the database is away' }]);
});

t.test('disabling keeps its reason, is recorded once, and enabling clears it', async (t) => {
  const { registry, sender } = await openRegistry(t);
  const { id } = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint;
  t.equal(await registry.disable(id, 'gone'), true);
  t.equal(await registry.disable(id, 'failing'), false, 'one that is disabled keeps its reason');
  t.equal(await registry.disable('none', 'failing'), false);
  t.equal(sender.targets.get(id)?.enabled, false);
  t.match((await registry.show(id, null)).endpoint, { enabled: false, disabledReason: 'gone' });
  t.match(await occurrences('system.endpoint.disabled'), [{ details: { endpoint: id, reason: 'gone' } }]);

  const change = { id, owner: null, stamp: STAMP };
  t.match((await registry.change({ name: 'Still' }, change)).endpoint, { disabledReason: 'gone' });
  t.match((await registry.change({ enabled: true }, change)).endpoint, { enabled: true, disabledReason: null });
  t.match((await registry.change({ enabled: false }, change)).endpoint, { enabled: false, disabledReason: 'manual' });
  t.match(await occurrences('system.endpoint.disabled'), [
    { details: { reason: 'gone' }, _meta: { by: null } },
    { details: { reason: 'manual' }, _meta: { by: 'admin:o1' } },
  ]);
  const created = await registry.create({ ...BODY, enabled: false }, ADMIN, STAMP);
  t.match(created.shown.endpoint, { enabled: false, disabledReason: 'manual' });
});

t.test('a rotation keeps the older secrets for the grace period, and three at most', async (t) => {
  const { registry, sender } = await openRegistry(t);
  const { shown, secret: first } = await registry.create(BODY, ADMIN, STAMP);
  const { id } = shown.endpoint;
  const change = { id, owner: null, stamp: STAMP };
  const live = () => sender.targets.get(id)?.secrets;
  const start = clock.now;
  const { secret: second, expires } = await registry.rotate(24 * HOUR, change);
  t.strictSame(expires, [new Date(start + 24 * HOUR)]);
  t.strictSame(live(), [
    { secret: second, until: null },
    { secret: first, until: start + 24 * HOUR },
  ]);

  clock.now += HOUR;
  const { secret: third } = await registry.rotate(HOUR, change);
  t.strictSame(
    live(),
    [
      { secret: third, until: null },
      { secret: second, until: start + 2 * HOUR },
      { secret: first, until: start + 2 * HOUR },
    ],
    'a later rotation can shorten the time of a secret, and never lengthens it',
  );
  const { secret: fourth } = await registry.rotate(HOUR, change);
  t.strictSame(
    live()?.map(({ secret }) => secret),
    [fourth, third, second],
    'the oldest goes',
  );

  clock.now += 3 * HOUR;
  const { secret: fifth } = await registry.rotate(0, change);
  t.strictSame(live(), [{ secret: fifth, until: null }], 'no grace time, and what has ended goes');
  t.match(sender.targets.get(id)?.headers, { authorization: VALUE }, 'header values stay');
});

t.test('one endpoint more than the limit is rejected', async (t) => {
  const { registry } = await openRegistry(t);
  const { id } = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint;
  const row = await stored().findOne({ _id: id });
  await stored().insertMany(Array.from({ length: 495 }, (_, i) => ({ ...row, _id: `copy-${i}` })));
  const many = await Promise.allSettled(Array.from({ length: 10 }, () => registry.create(BODY, ADMIN, STAMP)));
  t.equal(many.filter(({ status }) => status === 'fulfilled').length, 4, 'also if many are created concurrently');
  await t.rejects(registry.create(BODY, ADMIN, STAMP), { code: 'too-many-endpoints' });
  t.equal(await stored().countDocuments(), 500);
});

t.test('changes by another program count, and an invalid endpoint stays as the sender knows it', async (t) => {
  const { registry, sender, errors } = await openRegistry(t, { looks: true });
  const { id } = (await registry.create(BODY, ADMIN, STAMP)).shown.endpoint;
  await stored().updateOne({ _id: id }, { $set: { ratePerSecond: 9 } });
  await until(() => sender.targets.get(id)?.ratePerSecond === 9, 'the change is active');
  await stored().updateOne({ _id: id }, { $set: { url: 'nonsense' } });
  await until(() => errors.length > 0, 'it is reported');
  t.match(errors, [{ message: `The endpoint '${id}' is invalid` }]);
  t.equal(sender.targets.get(id)?.url, BODY.url);
  t.notMatch(sender.calls, [`remove ${id}`]);
});

t.test('a start encrypts with the newest master key, and without a key nothing is reported or lost', async (t) => {
  const first = await openRegistry(t);
  const { shown, secret } = await first.registry.create(BODY, ADMIN, STAMP);
  const kept = async () => JSON.stringify(await mongo.log.collection('webhook_secrets').find().toArray());
  const before = await kept();
  const newest = randomBytes(32);
  const later = await openRegistry(t, { encryption: new Encryption([newest, masterKey]) });
  t.not(await kept(), before);
  t.strictSame(later.sender.targets.get(shown.endpoint.id)?.secrets, [{ secret, until: null }]);
  const alone = await openRegistry(t, { encryption: new Encryption([newest]) });
  t.match(alone.sender.targets.get(shown.endpoint.id)?.headers, { authorization: VALUE });
});
