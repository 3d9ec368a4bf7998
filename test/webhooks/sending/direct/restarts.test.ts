/** What outlives a process and a database outage, and how many queries an idle sender sends. */
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { connectMongo } from '../../../../src/database/mongo.ts';
import { Egress } from '../../../../src/egress/egress.ts';
import { DirectSender } from '../../../../src/webhooks/sending/direct/direct-sender.ts';
import { startReplicaSet } from '../../../helpers/database/replica-set.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { openDirect } from '../../../helpers/webhooks/sender-fixture.ts';

t.test('an open breaker stays open across a restart, and other processes know of it', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  receiver.response = () => 500;
  const endpoint = newEndpoint(receiver.url);
  const first = await openDirect(t, position);
  const other = await openDirect(t, position);
  for (const { sender } of [first, other]) await sender.ensureEndpoint(endpoint);
  for (let n = 1; n <= 10; n++) {
    await first.sender.submit([newDelivery(endpoint.id, n)]);
    await first.tried(`${endpoint.id}:1-${n}`, 1);
  }
  const breaker = async () => (await other.sender.health([endpoint.id])).get(endpoint.id)?.breaker;
  await until(async () => (await breaker()) === 'open', 'it is open');
  await first.sender.stop();
  const next = await openDirect(t, position);
  await next.sender.ensureEndpoint(endpoint);
  await next.sender.submit([newDelivery(endpoint.id, 11)]);
  // Retries are due after some seconds; the one that is sent to another endpoint shows that a poll has passed.
  const healthy = await startReceiver(t);
  const good = newEndpoint(healthy.url);
  for (const fixture of [next, other]) {
    await fixture.sender.ensureEndpoint(good);
    fixture.advance(7_000);
    const event = fixture === next ? 1 : 2;
    await fixture.sender.submit([newDelivery(good.id, event)]);
    await fixture.reaches(`${good.id}:1-${event}`, 'succeeded');
  }
  t.equal(receiver.received.length, 10);
  receiver.response = () => 204;
  other.advance(30_000);
  await other.reaches(`${endpoint.id}:1-11`, 'succeeded');
});

t.test(
  'while the database is unavailable no acknowledged delivery is lost, and the sender continues afterwards',
  async (t) => {
    const set = await startReplicaSet({ members: 1 });
    t.teardown(() => set.stop());
    const receiver = await startReceiver(t);
    const endpoint = newEndpoint(receiver.url);
    const fixture = await openDirect(t, { url: set.url, database: 'away' });
    await fixture.sender.ensureEndpoint(endpoint);
    const responses: (() => void)[] = [];
    receiver.response = (_, response) => {
      responses.push(() => response.writeHead(204).end());
      return undefined;
    };
    await fixture.sender.submit(newDeliveries(endpoint.id, 30));
    await until(() => responses.length === 2, 'two calls are under way');
    const [member] = set.members;
    await member?.kill('SIGKILL');
    receiver.response = () => 204;
    for (const response of responses) response();
    await until(() => receiver.received.length > 2, 'others are sent from memory');
    await t.rejects(fixture.sender.submit([newDelivery(endpoint.id, 99)]), 'what cannot be stored is not taken');
    await member?.start();
    await set.primary();
    await fixture.sender.submit([newDelivery(endpoint.id, 99)]);
    for (let n = 1; n <= 30; n++) await fixture.reaches(`${endpoint.id}:1-${n}`, 'succeeded');
    await fixture.reaches(`${endpoint.id}:1-99`, 'succeeded');
    t.equal(new Set(receiver.received.map(({ id }) => id)).size, 31);
  },
);

t.test('with a hundred idle endpoints the sender sends the database no queries', async (t) => {
  const { url, database } = await testMongo(t);
  const receiver = await startReceiver(t);
  const monitored = new URL(url);
  monitored.searchParams.set('monitorCommands', 'true');
  const mongo = await connectMongo({ url: monitored.href, database });
  t.teardown(() => mongo.close());
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(() => egress.close());
  const events = { onDisable: async () => undefined, onFailed: async () => undefined };
  const sender = new DirectSender({ mongo, egress, events, version: 'test' });
  t.teardown(() => sender.stop());
  await sender.start();
  const endpoints = Array.from({ length: 100 }, () => newEndpoint(receiver.url));
  for (const endpoint of endpoints) await sender.ensureEndpoint(endpoint);
  await sender.submit(endpoints.map(({ id }) => newDelivery(id, 1)));
  const commands: string[] = [];
  mongo.client.on('commandStarted', ({ commandName }) => commands.push(commandName));
  // Measured by another client, so that it does not count.
  const other = await new MongoClient(url).connect();
  t.teardown(() => other.close());
  const rows = other.db(`${database}_log`).collection('webhook_deliveries');
  await until(async () => (await rows.countDocuments({ state: 'succeeded' })) === 100, 'all is delivered');
  await sender.health([]);
  t.ok(commands.length > 0, 'commands are counted');
  await until(async () => {
    const before = commands.length;
    await pause(200);
    return commands.length === before;
  }, 'nothing is under way');
  const before = commands.length;
  await pause(process.env['MILLRACE_LONG'] === '1' ? 60_000 : 3_000);
  t.strictSame(commands.slice(before), []);
});
