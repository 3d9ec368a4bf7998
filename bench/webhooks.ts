/**
 * Deliveries per second to receivers on this machine, and the CPU time of this process for each, against a bare loop of
 * undici's POSTs of the same bodies; both alternate in one run. Options: `--rounds 5 --count 5000 --endpoints 10
 * --profile`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuUsage } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { connectMongo } from '../src/database/mongo.ts';
import { Egress } from '../src/egress/egress.ts';
import { DirectSender } from '../src/webhooks/sending/direct/direct-sender.ts';
import type { NewDelivery } from '../src/webhooks/sending/sender.ts';
import { newDelivery, newEndpoint } from '../test/helpers/webhooks/endpoints.ts';
import { startWebhookReceiver } from './programs.ts';
import { machine, median } from './rounds.ts';

/** Deliveries that the planner submits together. */
const BATCH = 200;
const PER_ENDPOINT = 10;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '5000' },
    endpoints: { type: 'string', default: '10' },
    profile: { type: 'boolean', default: false },
  },
});
const [rounds, count, width] = [Number(values.rounds), Number(values.count), Number(values.endpoints)];

interface Figures {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

async function measured(work: () => Promise<void>): Promise<Figures> {
  const [before, from] = [cpuUsage(), performance.now()];
  await work();
  const [used, tookMs] = [cpuUsage(before), performance.now() - from];
  return { perSecond: (count / tookMs) * 1_000, cpuMicros: (used.user + used.system) / count };
}

const folder = await mkdtemp(join(tmpdir(), 'webhooks-bench-'));
const embedded = await startEmbeddedDatabase({ folder, binary: process.env['MONGOD_BINARY'] });
const receiver = await startWebhookReceiver();
const mongo = await connectMongo({ url: embedded.url, database: 'bench' });
const egress = new Egress({ mode: 'development', allow: [] });
const events = { onDisable: async () => undefined, onFailed: async () => undefined };
const sender = new DirectSender({ mongo, egress, events, version: 'bench' });
await sender.start();
const endpoints = Array.from({ length: width }, () => newEndpoint(`${receiver.base}/hook`));
for (const endpoint of endpoints) await sender.ensureEndpoint(endpoint);

/** About 1 KB, like an event of a small document. */
const data = { title: 'x'.repeat(600), done: false, tags: ['a', 'b', 'c'] };
const bodyOf = (number: number) => JSON.stringify({ id: `1-${number}`, type: 'todos.created', time: new Date(), data });
const agent = new Agent({ connections: width * PER_ENDPOINT });
let number = 0;

async function bare(): Promise<void> {
  let left = count;
  const headers = { 'content-type': 'application/json', 'user-agent': 'bench' };
  const one = async () => {
    while (left > 0) {
      left -= 1;
      const body = bodyOf(left);
      const response = await agent.request({ origin: receiver.base, path: '/hook', method: 'POST', headers, body });
      await response.body.dump();
    }
  };
  await Promise.all(Array.from({ length: Math.min(width * PER_ENDPOINT, 128) }, one));
}

async function ours(): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - done) }, (): NewDelivery => {
      number += 1;
      return newDelivery(endpoints[number % width]?.id ?? '', number, { body: bodyOf(number) });
    });
    await sender.submit(batch);
  }
  const pending = mongo.log.collection('webhook_deliveries');
  const isLeft = () => pending.findOne({ dueAt: { $exists: true } }, { projection: { _id: 1 } });
  // Seldom, because the query costs this process time, too.
  while ((await isLeft()) !== null) await pause(100);
}

console.log(machine());
console.log(`${count} deliveries of ${bodyOf(0).length} bytes to ${width} endpoints, in batches of ${BATCH}`);
console.log('round   deliveries/s   CPU µs   bare/s   CPU µs   CPU ratio   load');
await bare();
await ours();
const session = new Session();
session.connect();
if (values.profile) {
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
}
const ratios: number[] = [];
const speeds: number[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const reference = values.profile ? { perSecond: 1, cpuMicros: 1 } : await measured(bare);
  const sent = await measured(ours);
  ratios.push(sent.cpuMicros / reference.cpuMicros);
  speeds.push(sent.perSecond);
  const cells = [sent.perSecond.toFixed(0), sent.cpuMicros.toFixed(0), reference.perSecond.toFixed(0)];
  cells.push(reference.cpuMicros.toFixed(0), (ratios.at(-1) ?? 0).toFixed(2), (loadavg()[0] ?? 0).toFixed(1));
  const widths = [14, 8, 8, 8, 11, 6];
  console.log([String(round).padEnd(5), ...cells.map((cell, at) => cell.padStart(widths[at] ?? 8))].join(' '));
}
console.log(
  `median: ${median(speeds).toFixed(0)} deliveries/s, ${median(ratios).toFixed(2)} times the CPU of a bare POST`,
);
if (values.profile) {
  const { profile } = await session.post('Profiler.stop');
  const self = new Map<string, number>();
  const times = new Map<number, number>();
  for (const [at, id] of (profile.samples ?? []).entries())
    times.set(id, (times.get(id) ?? 0) + (profile.timeDeltas?.[at] ?? 0));
  for (const { id, callFrame } of profile.nodes) {
    const name = `${callFrame.functionName} ${callFrame.url.split('/').slice(-3).join('/')}:${callFrame.lineNumber}`;
    self.set(name, (self.get(name) ?? 0) + (times.get(id) ?? 0));
  }
  for (const [name, micros] of [...self].toSorted((a, b) => b[1] - a[1]).slice(0, 40)) {
    console.log(`${(micros / 1_000).toFixed(0).padStart(7)} ms  ${name}`);
  }
}
await sender.stop();
await egress.close();
await agent.close();
await mongo.close();
await receiver.stop();
await embedded.stop();
await rm(folder, { recursive: true, force: true });
