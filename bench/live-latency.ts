/**
 * The time from a write to a subscriber: documents are created over HTTP at a steady rate, and a WebSocket in this
 * process records when the message of each arrives. `--rate 100 --rounds 5 --seconds 3`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { type Program, startOurs } from './programs.ts';
import { machine, median } from './rounds.ts';
import { quantile, writeSteadily } from './steady.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
});
const rate = Number(values.rate);
const count = rate * Number(values.seconds);

/** Subscribes to `items`; resolves when the subscription is live. */
function subscribe(program: Program, reported: Map<string, number>): Promise<WebSocket> {
  const socket = new WebSocket(`${program.base.replace(/^http/, 'ws')}/realtime`);
  const query = { filter: { n: { $gte: 0 } }, fields: ['n'] };
  return new Promise((resolve) => {
    socket.addEventListener('open', () => {
      socket.send(JSON.stringify({ type: 'hello' }));
      socket.send(JSON.stringify({ type: 'subscribe', id: 's', collection: 'items', query }));
    });
    socket.addEventListener('message', ({ data }) => {
      const now = performance.now();
      const frame = JSON.parse(String(data));
      if (frame.type === 'change') reported.set(frame.documentId, now);
      else if (frame.type === 'live') resolve(socket);
      else if (frame.type === 'ping') socket.send(JSON.stringify({ type: 'pong' }));
    });
  });
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const program = await startOurs(database.url, 'ours');
try {
  const reported = new Map<string, number>();
  const socket = await subscribe(program, reported);
  console.log(`${machine()}, MongoDB ${database.version}, ${rate} writes/s, load ${loadavg()[0]}`);
  const medians: number[] = [];
  for (let round = 0; round <= Number(values.rounds); round++) {
    const sent = new Map<string, number>();
    await writeSteadily(program, rate, count, (id, at) => sent.set(id, at));
    while ([...sent.keys()].some((id) => !reported.has(id))) await pause(5);
    // The first round is a warm-up.
    if (round === 0) continue;
    const delays = [...sent].map(([id, at]) => (reported.get(id) ?? Number.NaN) - at);
    medians.push(quantile(delays, 0.5));
    console.log(
      `to the subscriber p50 ${quantile(delays, 0.5).toFixed(1)} p99 ${quantile(delays, 0.99).toFixed(1)} ms`,
    );
  }
  console.log(`median of p50: ${median(medians).toFixed(1)} ms`);
  socket.close();
} finally {
  await program.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
