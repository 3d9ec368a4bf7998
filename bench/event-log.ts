/**
 * How many events per second the log can record, and how fast recording continues after a recorder was killed, after
 * one was ended, and after the server was restarted. The load average is printed too, because other programs change the
 * figures.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BSON } from 'mongodb';
import { connectMongo } from '../src/database/mongo.ts';
import { EventLog } from '../src/events/log/event-log.ts';
import { LogTail } from '../src/events/log/log-tail.ts';
import { startReplicaSet } from '../test/helpers/database/replica-set.ts';

const ROUNDS = Number(process.argv[2] ?? 3);
const folder = await mkdtemp(join(tmpdir(), 'event-log-bench-'));
const set = await startReplicaSet();
const mongo = await connectMongo({ url: set.url, database: 'bench' });
await mongo.data.createCollection('x', { changeStreamPreAndPostImages: { enabled: true } });
const things = mongo.data.collection<{ _id: number; at: number; text: string }>('x');
const log = new EventLog(mongo.log, 'bench');
await log.open();
const NODE = fileURLToPath(new URL('../test/torture/log/node.ts', import.meta.url));
const start = async (name: string): Promise<ChildProcess> => {
  const words = [NODE, set.url, 'bench', folder, name, 'none', '0.001', 'yes', '0'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout ?? child, 'data');
  return child;
};
const nodes = new Map([['a', await start('a')]]);
while ((await log.newest()) === null) await pause(20);
nodes.set('b', await start('b'));
const tail = new LogTail({ log });
const reported = new Map<number, number>();
tail.attach({
  rows: (rows) => {
    const now = performance.now();
    for (const row of rows)
      if (row.key && row.operation === 'insert') reported.set(Number(BSON.deserialize(row.key)['_id']), now);
  },
});
await tail.start();
let next = 0;
const text = 'x'.repeat(300);
const until = async (fact: () => boolean) => {
  while (!fact()) await pause(2);
};
const say = (what: string, figures: object) =>
  console.log(JSON.stringify({ what, ...figures, load: loadavg()[0]?.toFixed(1) }));

for (let round = 0; round < ROUNDS; round += 1) {
  const from = performance.now();
  const count = 20_000;
  const first = next;
  for (let n = 0; n < count; n += 1000) {
    await things.insertMany(Array.from({ length: 1000 }, () => ({ _id: next++, at: 0, text })));
  }
  const written = performance.now() - from;
  await until(() => reported.has(first + count - 1));
  say('events per second, written in bulk', {
    written: Math.round((count / written) * 1000),
    reported: Math.round((count / (performance.now() - from)) * 1000),
  });
}

for (const [what, deed] of [
  ['recorder killed (-9): next event after ms', async (child: ChildProcess) => void child.kill('SIGKILL')],
  ['recorder ended (SIGTERM): next event after ms', async (child: ChildProcess) => void child.kill('SIGTERM')],
  [
    'server restarted: next event after it responds, ms',
    async () => {
      await set.members[0]?.kill('SIGTERM');
      await set.members[0]?.start();
      await set.primary();
    },
  ],
] as const) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const lease = await mongo.log.collection<{ _id: string; owner: string }>('lease').findOne({ _id: 'log' });
    const name = lease?.owner.split('/')[0] ?? 'a';
    const child = nodes.get(name);
    if (child === undefined) continue;
    await deed(child);
    const since = performance.now();
    let id = next++;
    const insert = async () => things.insertOne({ _id: id, at: 0, text });
    while (
      !(await insert().then(
        () => true,
        () => false,
      ))
    )
      id = next++;
    await until(() => reported.has(id));
    say(what, { ms: Math.round((reported.get(id) ?? 0) - since) });
    if (child.exitCode !== null || child.signalCode !== null || what.startsWith('recorder'))
      nodes.set(name, await start(name));
    await pause(2000);
  }
}
await tail.stop();
for (const child of nodes.values()) child.kill('SIGKILL');
await mongo.close();
await set.stop();
await rm(folder, { recursive: true, force: true });
process.exit(0);
