/** Several processes share the deliveries: each is leased once, whatever crashes or sleeps in between. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { EndpointDeliverySettings } from '../../../../src/webhooks/endpoint/endpoint.ts';
import { type TestMongo, testMongo } from '../../../helpers/mongo.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { type Receiver, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { openDirect } from '../../../helpers/webhooks/sender-fixture.ts';

const PROGRAM = fileURLToPath(new URL('../../../helpers/webhooks/sender-program.ts', import.meta.url));
const LIMITS = { timeoutMs: 1_000, leaseMs: 4_000 };
/** How many a new endpoint may have in the memory of a process: two requests, and the deliveries queued for them. */
const TAKEN = 16;

interface Child {
  readonly process: ChildProcess;
  /** Submits deliveries of events with these numbers, and waits until they are stored. */
  submit(numbers: readonly number[]): Promise<void>;
}

async function startChild(t: Test, { url, database }: TestMongo, endpoint: EndpointDeliverySettings): Promise<Child> {
  const words = [PROGRAM, url, database, JSON.stringify(endpoint), JSON.stringify(LIMITS)];
  const process = spawn(globalThis.process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => process.kill('SIGKILL'));
  await once(process.stdout, 'data');
  const submit = async (numbers: readonly number[]) => {
    process.stdin.write(`${numbers.join(' ')}\n`);
    await once(process.stdout, 'data');
  };
  return { process, submit };
}

function numbers(count: number, from = 1): readonly number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

function countsOf({ received }: Receiver): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(received, ({ id }) => id)].map(([id, { length }]) => [id, length]));
}

t.test('two processes lease each delivery once', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  // A lease that expires only if a process is delayed for most of a minute.
  const limits = { timeoutMs: 15_000, leaseMs: 60_000 };
  const senders = [await openDirect(t, { ...position, limits }), await openDirect(t, { ...position, limits })];
  const endpoints = numbers(5).map(() => newEndpoint(receiver.url));
  for (const { sender } of senders) for (const endpoint of endpoints) await sender.ensureEndpoint(endpoint);
  const all = endpoints.flatMap(({ id }) => newDeliveries(id, 100));
  // More than the first one has slots for; both lease the rest.
  await senders[0]?.sender.submit(all);
  for (const { sender } of senders) sender.wake();
  await until(() => receiver.received.length >= all.length, 'all have arrived');
  const health = async () => [...((await senders[0]?.sender.health(endpoints.map(({ id }) => id))) ?? []).values()];
  await until(async () => (await health()).every(({ pending }) => pending === 0), 'all are recorded');
  t.equal(receiver.received.length, all.length, 'none twice');
});

t.test('deliveries that a killed process had leased are delivered after the lease, with the same ids', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  const endpoint = newEndpoint(receiver.url);
  const child = await startChild(t, position, endpoint);
  receiver.response = () => undefined;
  await child.submit(numbers(40));
  await until(() => receiver.received.length === 2, 'two calls are under way');
  child.process.kill('SIGKILL');
  await once(child.process, 'exit');
  const begun = new Set(receiver.received.map(({ id }) => id));
  receiver.response = () => 204;
  const { sender, reaches } = await openDirect(t, position);
  await sender.ensureEndpoint(endpoint);
  for (const number of numbers(40)) await reaches(`${endpoint.id}:1-${number}`, 'succeeded');
  for (const [id, count] of countsOf(receiver)) t.equal(count, begun.has(id) ? 2 : 1, id);
  t.equal(countsOf(receiver).size, 40);
});

t.test('a process that was frozen does not send leased deliveries after its lease has expired', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  const endpoint = newEndpoint(receiver.url);
  const child = await startChild(t, position, endpoint);
  receiver.response = () => undefined;
  await child.submit(numbers(TAKEN));
  await until(() => receiver.received.length === 2, 'two calls are under way, the others wait in its memory');
  child.process.kill('SIGSTOP');
  const begun = new Set(receiver.received.map(({ id }) => id));
  receiver.response = () => 204;
  const { sender, reaches } = await openDirect(t, position);
  await sender.ensureEndpoint(endpoint);
  for (const number of numbers(TAKEN)) await reaches(`${endpoint.id}:1-${number}`, 'succeeded');
  child.process.kill('SIGCONT');
  // This one comes after the others in the queue of the process.
  await child.submit([99]);
  await reaches(`${endpoint.id}:1-99`, 'succeeded');
  for (const [id, count] of countsOf(receiver)) t.equal(count, begun.has(id) ? 2 : 1, id);
  t.equal(countsOf(receiver).size, TAKEN + 1);
});

t.test('a result that comes after the lease does not overwrite that of another process', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  const endpoint = newEndpoint(receiver.url);
  const first = await openDirect(t, { ...position, limits: { timeoutMs: 8_000, leaseMs: 9_000 } });
  await first.sender.ensureEndpoint(endpoint);
  // Two concurrent requests are allowed after a success.
  await first.sender.submit(newDeliveries(endpoint.id, 1, 9));
  await first.reaches(`${endpoint.id}:1-9`, 'succeeded');
  const late = Promise.withResolvers<void>();
  receiver.response = ({ id }, response) => {
    void late.promise.then(() => response.writeHead(id === '1-1' ? 500 : 204).end());
    return undefined;
  };
  await first.sender.submit(newDeliveries(endpoint.id, 2));
  await until(() => receiver.received.length === 3, 'the first process has sent both');
  receiver.response = () => 204;
  const second = await openDirect(t, position);
  await second.sender.ensureEndpoint(endpoint);
  second.advance(10_000);
  const ids = [1, 2].map((number) => `${endpoint.id}:1-${number}`);
  for (const id of ids) await second.reaches(id, 'succeeded');
  late.resolve();
  await first.sender.submit(newDeliveries(endpoint.id, 1, 3));
  await first.reaches(`${endpoint.id}:1-3`, 'succeeded');
  for (const id of ids) t.match((await second.sender.delivery(id))?.delivery, { state: 'succeeded', attempts: 1 });
});

t.test('a rate limit applies to all processes together', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  const endpoint = newEndpoint(receiver.url, { ratePerSecond: 20 });
  const senders = [await openDirect(t, position), await openDirect(t, position)];
  for (const { sender } of senders) await sender.ensureEndpoint(endpoint);
  await senders[0]?.sender.submit(newDeliveries(endpoint.id, 40));
  for (const { sender } of senders) sender.wake();
  await until(() => receiver.received.length === 40, 'all have arrived');
  const times = receiver.received.map(({ at }) => at).sort((a, b) => a - b);
  const took = (times.at(-1) ?? 0) - (times[0] ?? 0);
  // The first one may come late. Each process by itself would take half of the time.
  t.ok(took >= 1_500, `39 steps of 50 ms took ${took.toFixed(0)} ms`);
});

t.test('two processes keep the order of a document', async (t) => {
  const position = await testMongo(t);
  const receiver = await startReceiver(t);
  const endpoint = newEndpoint(receiver.url, { ordering: 'document' });
  const limits = { timeoutMs: 15_000, leaseMs: 60_000 };
  const senders = [await openDirect(t, { ...position, limits }), await openDirect(t, { ...position, limits })];
  for (const { sender } of senders) await sender.ensureEndpoint(endpoint);
  const all = newDeliveries(endpoint.id, 60).map((one, index) => ({ ...one, document: `todos/${index % 4}` }));
  await senders[0]?.sender.submit(all);
  for (const { sender } of senders) sender.wake();
  const timer = setInterval(() => senders[1]?.sender.wake(), 20);
  t.teardown(() => clearInterval(timer));
  await until(() => receiver.received.length >= 60, 'all have arrived', 60_000);
  const inversions = receiver.received.filter(({ id }, at) => {
    const number = Number(id.slice(2));
    return receiver.received
      .slice(at + 1)
      .some((other) => Number(other.id.slice(2)) % 4 === number % 4 && Number(other.id.slice(2)) < number);
  });
  t.strictSame(
    inversions.map(({ id }) => id),
    [],
  );
  t.equal(receiver.received.length, 60, 'none twice');
});
