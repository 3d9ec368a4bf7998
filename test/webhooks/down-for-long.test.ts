/**
 * A receiver that is down for longer than a whole retry schedule: its deliveries fail, then its endpoint is disabled
 * and receives nothing. Afterwards recover and replay deliver every event, under the original ids.
 */
import t from 'tap';
import { createAuthServices } from '../../src/auth/services.ts';
import { loadConfig } from '../../src/config/config.ts';
import { connectMongo } from '../../src/database/mongo.ts';
import { Transactions } from '../../src/database/transactions.ts';
import { Egress } from '../../src/egress/egress.ts';
import { formatPosition, parsePosition } from '../../src/events/log/position.ts';
import { createEventServices } from '../../src/events/services.ts';
import { Policies } from '../../src/policies/policies.ts';
import type { Creator } from '../../src/webhooks/endpoint/endpoint.ts';
import { DirectSender } from '../../src/webhooks/sending/direct/direct-sender.ts';
import { createWebhookServices } from '../../src/webhooks/services.ts';
import { testCleanup } from '../helpers/cleanup.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';
import { openEventReceiver, type ReceivedEvent } from '../helpers/webhooks/event-receiver.ts';

const NOBODY = { by: null, request: null };
const TRIED = 6;
const MISSED = 4;
const HOUR = 3_600_000;

t.test('after a whole schedule without a response, recover and replay deliver every event under its id', async (t) => {
  const testDatabase = await testMongo(t);
  const cleanup = testCleanup(t);
  const mongo = cleanup.adopt(await connectMongo(testDatabase), (it) => it.close());
  const transactions = cleanup.adopt(new Transactions(mongo), (it) => it.stop());
  await transactions.start();
  const onError = (error: unknown) => t.comment(String(error));
  const config = loadConfig({ MILLRACE_DB: testDatabase.database });
  const { mode } = config;
  const auth = await createAuthServices({ mongo, mode, config: config.auth, onError, cleanup });
  const events = await createEventServices({ mongo, config: config.events, onLog: () => undefined, cleanup });
  const egress = cleanup.adopt(new Egress({ mode, allow: config.egress.allow }), (it) => it.close());
  /** The clock of the sender can be moved. */
  let offset = 0;
  const webhooks = await createWebhookServices({
    mongo,
    transactions,
    authenticator: auth.authenticator,
    users: auth.users,
    activity: auth.activity,
    encryption: auth.encryption,
    policies: new Policies(mode),
    events,
    egress,
    publicUrl: undefined,
    createSender: (reported) =>
      new DirectSender({ mongo, egress, events: reported, version: '0.0.0', clockOffsetMs: () => offset }),
    onError,
    cleanup,
  });
  const { endpoints, sender, replays } = webhooks;
  const boss = await auth.users.create({ kind: 'admin', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  const owner: Creator = { kind: 'admin', id: boss._id };
  const receiver = await openEventReceiver(t);
  const attempts: ReceivedEvent[] = [];
  receiver.response = (one) => {
    attempts.push(one);
    return 503;
  };
  const write = async (count: number) => {
    for (let n = 0; n < count; n += 1) await mongo.data.collection('todos').insertOne({ n });
  };
  const since = parsePosition(events.feed.position) ?? { epoch: 0, number: 0 };
  const body = { url: receiver.url, types: ['todos.created'] };
  const { id } = (await endpoints.create(body, owner, NOBODY)).shown.endpoint;
  const inState = async (state: 'pending' | 'failed' | 'succeeded') =>
    (await sender.deliveries({ endpoint: id, state, limit: 100 })).deliveries;

  await write(TRIED);
  await until(async () => (await inState('pending')).length === TRIED, 'all are planned');
  // The breaker lets one attempt through at a time.
  const died = async () => {
    offset += 0.6 * HOUR;
    sender.wake();
    return (await inState('failed')).length === TRIED;
  };
  await until(died, 'all are dead');
  const dead = await inState('failed');
  // More often if the clock moved during an attempt: it then counts as lost, and is repeated.
  const tooFew = dead.map(({ attempts }) => attempts).filter((attempts) => attempts < 8);
  t.same(tooFew, [], 'each was tried by the whole schedule');

  const change = { id, owner: null, stamp: NOBODY };
  await endpoints.change({ enabled: false }, change);
  await write(MISSED);
  const written = async () =>
    (await events.log.read(since.number, 10_000)).filter((row) => row.collection === 'todos' && row.key !== null);
  await until(async () => (await written()).length === TRIED + MISSED, 'all are recorded');
  const ids = (await written()).map((row) => formatPosition(row));

  receiver.response = () => 204;
  const before = receiver.received.length;
  await endpoints.change({ enabled: true }, change);
  t.equal(await sender.recover(id, new Date(0)), TRIED);
  await until(async () => (await inState('succeeded')).length === TRIED, 'what was tried arrives');
  const { id: replay } = await replays.begin({ endpoint: id, since, until: null, types: null }, NOBODY);
  await until(async () => (await replays.find(replay))?.state === 'succeeded', 'the replay is done');
  await until(async () => (await inState('succeeded')).length === TRIED + MISSED, 'the others arrive');
  await until(() => receiver.received.length - before === 2 * TRIED + MISSED, 'replayed events arrive again');

  const arrived = receiver.received.slice(before);
  const idOf = ({ headers }: ReceivedEvent) => headers['webhook-id'] ?? '';
  t.strictSame([...new Set(arrived.map(idOf))].sort(), [...ids].sort(), 'every event, and nothing else');
  const bodies = Map.groupBy([...attempts, ...arrived], idOf);
  t.ok(
    [...bodies.values()].every((same) => new Set(same.map(({ text }) => text)).size === 1),
    'a repeat has the id and the body of the first try',
  );
  t.equal(arrived.length - ids.length, TRIED, 'repeats are known by their ids');
});
