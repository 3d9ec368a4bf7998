/**
 * The memory of a process that sends to 200 endpoints, of which 20 refuse connections and 20 never respond, while
 * deliveries come steadily: the heap after each minute, after a collection, and the resident set. Option: `--minutes
 * 10`.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { connectMongo } from '../src/database/mongo.ts';
import { Egress } from '../src/egress/egress.ts';
import { DirectSender } from '../src/webhooks/sending/direct/direct-sender.ts';
import { newDelivery, newEndpoint } from '../test/helpers/webhooks/endpoints.ts';
import { startWebhookReceiver } from './programs.ts';
import { machine } from './rounds.ts';

const ENDPOINTS = 200;
/** Each endpoint gets one delivery in each round. */
const ROUND_MS = 1_000;
const MB = 1024 * 1024;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const folder = await mkdtemp(join(tmpdir(), 'webhooks-crowd-'));
const embedded = await startEmbeddedDatabase({ folder, binary: process.env['MONGOD_BINARY'] });
const receiver = await startWebhookReceiver();
const silent = createServer(() => undefined).listen(0, '127.0.0.1');
const closed = createServer().listen(0, '127.0.0.1');
await Promise.all([once(silent, 'listening'), once(closed, 'listening')]);
const portOf = (server: typeof silent) => (server.address() as AddressInfo).port;
const [hanging, refusing] = [portOf(silent), portOf(closed)].map((port) => `http://127.0.0.1:${port}/hook`);
closed.close();

const mongo = await connectMongo({ url: embedded.url, database: 'bench' });
const egress = new Egress({ mode: 'development', allow: [] });
let dead = 0;
const events = {
  onDisable: async () => undefined,
  onFailed: async (deliveries: readonly unknown[]) => {
    dead += deliveries.length;
  },
};
const sender = new DirectSender({ mongo, egress, events, version: 'bench' });
await sender.start();
const endpoints = Array.from({ length: ENDPOINTS }, (_, n) =>
  newEndpoint((n % 10 === 0 ? refusing : n % 10 === 5 ? hanging : undefined) ?? `${receiver.base}/hook`),
);
for (const endpoint of endpoints) await sender.ensureEndpoint(endpoint);

console.log(machine());
console.log('minute   submitted   delivered   pending   heap MB   resident MB');
const rows = mongo.log.collection('webhook_deliveries');
const body = JSON.stringify({ type: 'todos.created', data: { title: 'x'.repeat(600) } });
const started = performance.now();
let number = 0;
for (let minute = 1; minute <= Number(values.minutes); minute += 1) {
  for (; performance.now() < started + minute * 60_000; number += 1) {
    const due = started + number * ROUND_MS;
    await pause(Math.max(0, due - performance.now()));
    await sender.submit(endpoints.map(({ id }) => newDelivery(id, number + 1, { body })));
  }
  const [delivered, pending] = await Promise.all([
    rows.countDocuments({ state: 'succeeded' }),
    rows.countDocuments({ state: 'pending' }),
  ]);
  collect();
  const { heapUsed, rss } = process.memoryUsage();
  const cells = [number * ENDPOINTS, delivered, pending, (heapUsed / MB).toFixed(1), (rss / MB).toFixed(0)];
  console.log(`${String(minute).padStart(6)} ${cells.map((cell) => String(cell).padStart(11)).join('')}`);
}
const health = await sender.health(endpoints.map(({ id }) => id));
console.log(
  `breakers not closed: ${[...health.values()].filter(({ breaker }) => breaker !== 'closed').length}; dead: ${dead}`,
);
await sender.stop();
await egress.close();
silent.close();
await mongo.close();
await receiver.stop();
await embedded.stop();
await rm(folder, { recursive: true, force: true });
process.exit(0);
