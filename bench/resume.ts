/**
 * How long resuming takes: after many changes of other collections, and after a thousand missed changes, consecutive or
 * spread among others. `--foreign 20000 --tries 40`; the recorded figures are of 1,000,000.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Collection, MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { LiveSocket } from './live-socket.ts';
import { Connection } from './load.ts';
import { startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { quantile } from './steady.ts';

const { values } = parseArgs({
  options: { foreign: { type: 'string', default: '20000' }, attempts: { type: 'string', default: '40' } },
});
const foreign = Number(values.foreign);
const MISSED = 1_000;
const BATCH = 2_000;

interface Item {
  readonly _id: string;
  readonly text: string;
}

interface Frame {
  readonly type: string;
  readonly from?: string;
  readonly position?: string;
  readonly event?: string;
  readonly documentId?: string;
}

const numberOf = (position = ''): number => Number(position.split('-')[1]);

/** Subscribes and collects frames up to the last one. The time is measured from the request to that frame. */
async function request(base: string, since: string | null, isEnd: (frame: Frame) => boolean) {
  const socket = await LiveSocket.open(base);
  const frames: Frame[] = [];
  socket.send({ type: 'hello' });
  const position = await new Promise<string>((resolve) => {
    socket.onMessage = (json) => resolve(JSON.parse(json.toString()).position);
  });
  const begun = performance.now();
  const ms = await new Promise<number>((resolve, reject) => {
    socket.onClose = (code) => reject(new Error(`Closed with ${code}`));
    socket.onMessage = (json) => {
      const frame: Frame = JSON.parse(json.toString());
      if (frame.type === 'ping') socket.send({ type: 'pong' });
      frames.push(frame);
      if (isEnd(frame)) resolve(performance.now() - begun);
    };
    socket.send({ type: 'subscribe', id: 's', collection: 'todos', ...(since === null ? {} : { since }) });
  });
  socket.close();
  return { ms, frames, position };
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const program = await startOurs(database.url, 'ours');
const client = new MongoClient(database.url);
try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]}`);
  const { base } = program;
  const { hostname, port } = new URL(base);
  const connection = await Connection.to(hostname, Number(port));
  // The first writes create the collections with the options that Millrace needs.
  for (const name of ['todos', 'others']) {
    await connection.send({ method: 'POST', path: `/api/${name}`, body: JSON.stringify({ id: 'first' }) });
  }
  connection.close();
  const [todos, others] = ['todos', 'others'].map((name) => client.db('ours').collection<Item>(name));
  let next = 0;
  const insert = async (into: Collection<Item> | undefined, count: number) => {
    for (let done = 0; done < count; done += BATCH) {
      const size = Math.min(BATCH, count - done);
      const batch = Array.from({ length: size }, () => ({ _id: `d${next++}`, text: 'x'.repeat(100) }));
      await into?.insertMany(batch, { ordered: false, writeConcern: { w: 1 } });
    }
  };
  /** Writes one more document to the watched collection. Returns the position when its change has arrived here. */
  const mark = async (): Promise<string> => {
    const id = `d${next}`;
    let written = false;
    const reported = request(base, null, (frame) => {
      if (frame.type === 'live' && !written) {
        written = true;
        insert(todos, 1).catch(console.error);
      }
      return frame.documentId === id;
    });
    return (await reported).frames.at(-1)?.event ?? '';
  };
  const attempts = async (name: string, since: string, missed: number, count: number) => {
    const times: number[] = [];
    let wrong = 0;
    for (let run = 0; run < count; run++) {
      const { ms, frames } = await request(base, since, ({ type }) => type === 'live');
      const changes = frames.filter(({ type }) => type === 'change').map(({ event }) => numberOf(event));
      const rises = changes.every((number, index) => index === 0 || number > (changes[index - 1] ?? 0));
      if (frames[0]?.from !== 'resume' || changes.length !== missed || !rises) wrong += 1;
      times.push(ms);
    }
    const at = (share: number) => quantile(times, share).toFixed(0);
    console.log(`${name}: p50 ${at(0.5)}, p95 ${at(0.95)} ms in ${count} tries, ${wrong} of them wrong`);
  };

  const start = await mark();
  await insert(todos, MISSED - 1);
  const near = await mark();
  await attempts(`${MISSED} missed`, start, MISSED, Number(values.attempts));
  const begun = performance.now();
  await insert(others, foreign);
  const far = await mark();
  const seconds = (performance.now() - begun) / 1_000;
  const passed = numberOf(far) - numberOf(near) - 1;
  console.log(
    `${passed} changes of others recorded in ${seconds.toFixed(0)} s, ${(passed / seconds).toFixed(0)} per second`,
  );
  await attempts(`1 missed behind ${passed} of others`, near, 1, Math.min(10, Number(values.attempts)));
  for (let n = 1; n < MISSED; n++) {
    await insert(others, foreign / MISSED / 10);
    await insert(todos, 1);
  }
  await mark();
  await attempts(`${MISSED} missed among ${foreign / 10} of others`, far, MISSED, Number(values.attempts));
} finally {
  await client.close();
  await program.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
