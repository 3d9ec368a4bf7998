/** The book of endpoints: kept with sealed secrets, an event for each change, in force in every process, told to the sender. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { Activity } from '../../../src/database/activity.ts';
import { openMongo } from '../../../src/database/mongo.ts';
import { Transactions } from '../../../src/database/transactions.ts';
import { Sealer } from '../../../src/kernel/sealer.ts';
import type { Maker } from '../../../src/webhooks/endpoint/endpoint.ts';
import { EndpointStore } from '../../../src/webhooks/endpoint/endpoint-store.ts';
import { Endpoints } from '../../../src/webhooks/endpoint/endpoints.ts';
import { interestOf } from '../../../src/webhooks/endpoint/stored-endpoint.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { ToldSender } from '../../helpers/webhooks/told-sender.ts';

const VALUE = 'planted-header-value-4410';
const BODY = {
  url: 'https://example.org/hook',
  types: ['todos.*'],
  filter: { $or: [{ 'a.b': 1 }, { owner: '$user.id' }] },
  headers: { Authorization: VALUE, 'x.dotted': 'two' },
};
const STAMP = { by: 'owner:o1', request: 'req_1' };
const OWNER: Maker = { kind: 'owner', id: 'o1' };
const KEY: Maker = { kind: 'key', id: 'k1' };
const HOUR = 3_600_000;

const { url, database } = await testMongo(t);
const mongo = await openMongo({ url, database });
const transactions = new Transactions(mongo);
await transactions.start();
const activity = new Activity(mongo);
await activity.start();
t.teardown(async () => {
  await transactions.stop();
  await mongo.close();
});

const masterKey = randomBytes(32);
const clock = { now: Date.now() };

/** A book as one process has it. Without a log, nothing says when all is delivered: it looks for changes by itself. */
async function openBook(t: import('tap').Test, options: { sealer?: Sealer; looks?: boolean } = {}) {
  const store = new EndpointStore(mongo, options.sealer ?? new Sealer([masterKey]));
  const sender = new ToldSender();
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const checkUrl = (address: string) => (address.startsWith('https://') ? null : 'must begin with https://');
  const now = () => clock.now;
  const book = new Endpoints({ store, transactions, activity, sender, checkUrl, onError, now });
  await store.start();
  await book.reloader.start(() => options.looks !== true);
  t.teardown(() => book.reloader.stop());
  return { book, store, sender, errors };
}

const occurrences = async (type: string) => mongo.data.collection('_activity').find({ type }).toArray();
const stored = () => mongo.data.collection<{ _id: string }>('_endpoints');

t.beforeEach(async () => {
  await stored().deleteMany({});
  await mongo.log.collection('webhook_secrets').deleteMany({});
  await mongo.data.collection('_activity').deleteMany({});
});

t.test('an endpoint is made, told to the sender with its secrets, and shown without them', async (t) => {
  const { book, sender } = await openBook(t);
  const { shown, secret } = await book.create(BODY, KEY, STAMP);
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
    schedule: 'standard',
    enabled: true,
  });
  t.strictSame(book.inForce(), [sender.targets.get(id)]);
  t.strictSame(await book.list(null), [shown]);
  const row = await stored().findOne({ _id: id });
  t.notMatch(JSON.stringify(row), new RegExp(`${VALUE}|whsec`), 'what makes events holds no secret');
  t.strictSame(interestOf(row ?? {}), {
    id,
    types: BODY.types,
    filter: BODY.filter,
    principal: KEY,
    ordering: 'none',
    enabled: true,
  });
  const sealed = JSON.stringify(await mongo.log.collection('webhook_secrets').find().toArray());
  t.match(sealed, /sealed1\./);
  t.notMatch(sealed, new RegExp(`${VALUE}|whsec`));
});

t.test('a document that another program wrote wrongly has no interest', async (t) => {
  const good = { _id: 'e', types: ['a.*'], principal: KEY, enabled: true };
  t.match(interestOf(good), { filter: null, ordering: 'none' });
  const wrong = [
    { _id: 7 },
    { types: 'a.*' },
    { types: [7] },
    { principal: null },
    { principal: { kind: 'x', id: 'y' } },
  ];
  for (const part of [...wrong, { filter: 'x' }]) t.equal(interestOf({ ...good, ...part }), null, JSON.stringify(part));
});

t.test('a maker finds its own endpoints, and of others not even that they exist', async (t) => {
  const { book } = await openBook(t);
  const mine = (await book.create(BODY, KEY, STAMP)).shown.endpoint.id;
  const other = (await book.create(BODY, { kind: 'user', id: 'k1' }, STAMP)).shown.endpoint.id;
  t.strictSame(
    (await book.list(KEY)).map(({ endpoint }) => endpoint.id),
    [mine],
  );
  t.strictSame(
    (await book.list(null)).map(({ endpoint }) => endpoint.id),
    [mine, other],
  );
  t.equal((await book.show(mine, KEY)).endpoint.id, mine);
  const change = { id: other, of: KEY, stamp: STAMP };
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => book.show(other, KEY),
    () => book.show('none', null),
    () => book.change({ name: 'Mine' }, change),
    () => book.rotate(HOUR, change),
    () => book.remove(change),
  ];
  for (const attempt of attempts) {
    await t.rejects(attempt(), { code: 'endpoint-not-found' });
  }
  t.equal((await book.list(null)).length, 2);
});

t.test('a change is in force at once, also in another process', async (t) => {
  const [one, two] = [await openBook(t), await openBook(t)];
  const { id } = (await one.book.create(BODY, OWNER, STAMP)).shown.endpoint;
  two.book.reloader.follow([{ collection: 'todos' }]);
  two.book.reloader.follow([{ collection: '_endpoints' }]);
  await until(() => two.sender.targets.has(id), 'the other process tells its sender');
  t.strictSame(two.sender.targets.get(id), one.sender.targets.get(id));

  const before = (await one.book.show(id, null)).version;
  const patched = await one.book.change(
    { ratePerSecond: 5, headers: { authorization: '•••' } },
    { id, of: null, stamp: STAMP },
  );
  t.match(patched.endpoint, { ratePerSecond: 5 });
  t.not(patched.version, before);
  t.match(one.sender.targets.get(id), { ratePerSecond: 5, headers: { authorization: VALUE } });
  const condition = (version: string) => {
    if (version !== before) throw new Error('another version');
  };
  await t.rejects(one.book.change({ name: 'Late' }, { id, of: null, stamp: STAMP, condition }), /another version/);
  two.book.reloader.follow(null);
  await until(() => two.sender.targets.get(id)?.ratePerSecond === 5, 'rows that were lost are made up for');

  await one.book.remove({ id, of: null, stamp: STAMP });
  t.strictSame(one.sender.calls.at(-1), `remove ${id}`);
  two.book.reloader.follow([{ collection: '_endpoints' }]);
  await until(() => !two.sender.targets.has(id), 'it is gone there');
  t.equal(await mongo.log.collection('webhook_secrets').countDocuments(), 0);
});

t.test('only what has changed is told again', async (t) => {
  const { book, sender } = await openBook(t);
  const first = (await book.create(BODY, OWNER, STAMP)).shown.endpoint.id;
  const second = (await book.create(BODY, OWNER, STAMP)).shown.endpoint.id;
  await book.change({ name: 'B' }, { id: second, of: null, stamp: STAMP });
  t.strictSame(sender.calls, [`ensure ${first}`, `ensure ${second}`, `ensure ${second}`]);
});

t.test('what a sender did not take it is told again', async (t) => {
  const { book, sender, errors } = await openBook(t);
  sender.fault = new Error('the database is away');
  const { id } = (await book.create(BODY, OWNER, STAMP)).shown.endpoint;
  await until(() => sender.targets.has(id), 'it is told again');
  t.match(errors, [{ message: 'the database is away' }]);
});

t.test('disabling keeps its reason, is recorded once, and enabling clears it', async (t) => {
  const { book, sender } = await openBook(t);
  const { id } = (await book.create(BODY, OWNER, STAMP)).shown.endpoint;
  t.equal(await book.disable(id, 'gone'), true);
  t.equal(await book.disable(id, 'failing'), false, 'one that is disabled keeps its reason');
  t.equal(await book.disable('none', 'failing'), false);
  t.equal(sender.targets.get(id)?.enabled, false);
  t.match((await book.show(id, null)).endpoint, { enabled: false, disabledReason: 'gone' });
  t.match(await occurrences('system.endpoint.disabled'), [{ details: { endpoint: id, reason: 'gone' } }]);

  const change = { id, of: null, stamp: STAMP };
  t.match((await book.change({ name: 'Still' }, change)).endpoint, { disabledReason: 'gone' });
  t.match((await book.change({ enabled: true }, change)).endpoint, { enabled: true, disabledReason: null });
  t.match((await book.change({ enabled: false }, change)).endpoint, { enabled: false, disabledReason: 'owner' });
  t.match(await occurrences('system.endpoint.disabled'), [
    { details: { reason: 'gone' }, _meta: { by: null } },
    { details: { reason: 'owner' }, _meta: { by: 'owner:o1' } },
  ]);
  const made = await book.create({ ...BODY, enabled: false }, OWNER, STAMP);
  t.match(made.shown.endpoint, { enabled: false, disabledReason: 'owner' });
});

t.test('a rotation keeps the older secrets for the grace time, and three at most', async (t) => {
  const { book, sender } = await openBook(t);
  const { shown, secret: first } = await book.create(BODY, OWNER, STAMP);
  const { id } = shown.endpoint;
  const change = { id, of: null, stamp: STAMP };
  const live = () => sender.targets.get(id)?.secrets;
  const start = clock.now;
  const { secret: second, expires } = await book.rotate(24 * HOUR, change);
  t.strictSame(expires, [new Date(start + 24 * HOUR)]);
  t.strictSame(live(), [
    { secret: second, until: null },
    { secret: first, until: start + 24 * HOUR },
  ]);

  clock.now += HOUR;
  const { secret: third } = await book.rotate(HOUR, change);
  t.strictSame(
    live(),
    [
      { secret: third, until: null },
      { secret: second, until: start + 2 * HOUR },
      { secret: first, until: start + 2 * HOUR },
    ],
    'a later rotation can shorten the time of a secret, and never lengthens it',
  );
  const { secret: fourth } = await book.rotate(HOUR, change);
  t.strictSame(
    live()?.map(({ secret }) => secret),
    [fourth, third, second],
    'the oldest goes',
  );

  clock.now += 3 * HOUR;
  const { secret: fifth } = await book.rotate(0, change);
  t.strictSame(live(), [{ secret: fifth, until: null }], 'no grace time, and what has ended goes');
  t.match(sender.targets.get(id)?.headers, { authorization: VALUE }, 'header values stay');
});

t.test('one endpoint more than there may be is refused', async (t) => {
  const { book } = await openBook(t);
  const { id } = (await book.create(BODY, OWNER, STAMP)).shown.endpoint;
  const row = await stored().findOne({ _id: id });
  await stored().insertMany(Array.from({ length: 495 }, (_, i) => ({ ...row, _id: `copy-${i}` })));
  const many = await Promise.allSettled(Array.from({ length: 10 }, () => book.create(BODY, OWNER, STAMP)));
  t.equal(many.filter(({ status }) => status === 'fulfilled').length, 4, 'also when many are made at one time');
  await t.rejects(book.create(BODY, OWNER, STAMP), { code: 'too-many-endpoints' });
  t.equal(await stored().countDocuments(), 500);
});

t.test('what another program wrote counts, and what cannot be used stays as the sender knows it', async (t) => {
  const { book, sender, errors } = await openBook(t, { looks: true });
  const { id } = (await book.create(BODY, OWNER, STAMP)).shown.endpoint;
  await stored().updateOne({ _id: id }, { $set: { ratePerSecond: 9 } });
  await until(() => sender.targets.get(id)?.ratePerSecond === 9, 'the change is in force');
  await stored().updateOne({ _id: id }, { $set: { url: 'nonsense' } });
  await until(() => errors.length > 0, 'it is reported');
  t.match(errors, [{ message: `The endpoint '${id}' cannot be used` }]);
  t.equal(sender.targets.get(id)?.url, BODY.url);
  t.notMatch(sender.calls, [`remove ${id}`]);
});

t.test('a start seals with the newest master key, and without a key nothing is told or forgotten', async (t) => {
  const first = await openBook(t);
  const { shown, secret } = await first.book.create(BODY, OWNER, STAMP);
  const kept = async () => JSON.stringify(await mongo.log.collection('webhook_secrets').find().toArray());
  const before = await kept();
  const newest = randomBytes(32);
  const later = await openBook(t, { sealer: new Sealer([newest, masterKey]) });
  t.not(await kept(), before);
  t.strictSame(later.sender.targets.get(shown.endpoint.id)?.secrets, [{ secret, until: null }]);
  const alone = await openBook(t, { sealer: new Sealer([newest]) });
  t.match(alone.sender.targets.get(shown.endpoint.id)?.headers, { authorization: VALUE });
});
