/**
 * Many clients lose their connection at once and come back to a few long lists during steady writes, as after a deploy:
 * first without their positions, then with them. Measured are the server's memory over rest and its CPU time, the time
 * until everybody is live, the reads of another client before and during the storm, and that every client's state is exact.
 * `--clients 200 --lists 10 --documents 1500 --bytes 1000 --rate 50`; `--heap` and `--budget` limit the server's memory,
 * in MB. The recorded figures are of 1,000 clients and 100 writes a second.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { Connection } from './load.ts';
import { startOurs } from './programs.ts';
import { machine, median } from './rounds.ts';
import { quantile } from './steady.ts';
import type { StormCommand, StormReport } from './storm-clients.ts';
import { cpuSeconds, residentBytes } from './usage.ts';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '200' },
    lists: { type: 'string', default: '10' },
    documents: { type: 'string', default: '1500' },
    bytes: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '50' },
    heap: { type: 'string' },
    budget: { type: 'string' },
  },
});
const [clients, lists, documents, rate] = [values.clients, values.lists, values.documents, values.rate].map(Number) as [
  number,
  number,
  number,
  number,
];
const text = 'x'.repeat(Number(values.bytes));
const MIB = 2 ** 20;
const WRITERS = 16;
const READS_PER_SECOND = 50;
/** How long reads are measured before and after a storm. */
const CALM_MS = 2_000;
const STORM_MS = 30_000;
const EXACT_MS = 20_000;

/** Runs `step` this often per second until it is ended; a step that is late is not made up for. */
function repeat(perSecond: number, step: () => Promise<void>): { end: () => Promise<void> } {
  let going = true;
  const running = (async () => {
    while (going) {
      const due = performance.now() + 1_000 / perSecond;
      await step();
      const wait = due - performance.now();
      if (wait > 0) await pause(wait);
    }
  })();
  return {
    end: () => {
      going = false;
      return running;
    },
  };
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const client = new MongoClient(database.url);
const server = await startOurs(database.url, 'ours', {
  MILLRACE_MAX_CONNECTIONS_PER_IP: '100000',
  ...(values.heap === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${values.heap}` }),
  ...(values.budget === undefined
    ? {}
    : { MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS: String(Number(values.budget) * MIB) }),
});
const crowd = fork(fileURLToPath(new URL('./storm-clients.ts', import.meta.url)), { serialization: 'advanced' });
const order = async <T>(command: StormCommand): Promise<T> => {
  const response = once(crowd, 'message');
  crowd.send(command);
  return (await response)[0];
};
try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]}`);
  const { hostname, port } = new URL(server.base);
  const connect = () => Connection.to(hostname, Number(port));
  const pid = server.child.pid ?? 0;
  const expected = Array.from({ length: lists }, () => new Map<string, number>());
  const [first] = [await connect()];
  for (const [list, held] of expected.entries()) {
    // The first write creates the collection with the options that Millrace needs.
    await first.send({ method: 'POST', path: `/api/list${list}`, body: JSON.stringify({ id: 'd0', n: 0, text }) });
    const others = Array.from({ length: documents - 1 }, (_, n) => ({ _id: `d${n + 1}`, n: 0, text }));
    await client.db('ours').collection<{ _id: string }>(`list${list}`).insertMany(others);
    for (let n = 0; n < documents; n++) held.set(`d${n}`, 0);
  }
  await first.send({ method: 'POST', path: '/api/other', body: JSON.stringify({ n: 0 }) });

  let written = 0;
  const writers = await Promise.all(
    Array.from({ length: Math.min(WRITERS, rate) }, async () => {
      const connection = await connect();
      return repeat(rate / Math.min(WRITERS, rate), async () => {
        const n = ++written;
        const [list, id] = [n % lists, `d${Math.floor(n / lists) % documents}`];
        expected[list]?.set(id, n);
        const body = JSON.stringify({ n, text });
        await connection.send({ method: 'PUT', path: `/api/list${list}/${id}`, body });
      });
    }),
  );
  const reads: number[] = [];
  const reader = repeat(READS_PER_SECOND, async () => {
    const begun = performance.now();
    await first.send({ method: 'GET', path: '/api/other?limit=20' });
    reads.push(performance.now() - begun);
  });
  /** Quantiles of the reads since the last call, in milliseconds. */
  const readTimes = () => {
    const times = reads.splice(0);
    return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
  };

  const measure = async (name: string, command: StormCommand): Promise<void> => {
    await pause(CALM_MS);
    readTimes();
    const resting: number[] = [];
    for (const end = performance.now() + CALM_MS; performance.now() < end; await pause(20))
      resting.push(residentBytes(pid));
    const rest = median(resting);
    const before = readTimes();
    let peak = 0;
    const sampler = repeat(100, async () => {
      peak = Math.max(peak, residentBytes(pid));
    });
    const [begun, cpu] = [performance.now(), cpuSeconds(pid)];
    const { live, ms, closes, resets, issues } = await order<StormReport>(command);
    const used = cpuSeconds(pid) - cpu;
    const during = readTimes();
    await sampler.end();
    const rates = (written / ((performance.now() - start) / 1_000)).toFixed(0);
    console.log(`${name}: ${live} of ${clients} live after ${ms.toFixed(0)} ms, ${rates} writes/s on average`);
    console.log(
      `  memory ${(rest / MIB).toFixed(0)} MiB at rest, +${((peak - rest) / MIB).toFixed(0)} MiB at most; CPU ${used.toFixed(2)} s`,
    );
    console.log(
      `  reads of another client: p50 ${before.p50.toFixed(1)} → ${during.p50.toFixed(1)} ms, ` +
        `p99 ${before.p99.toFixed(1)} → ${during.p99.toFixed(1)} ms in ${(performance.now() - begun).toFixed(0)} ms`,
    );
    if (Object.keys({ ...closes, ...resets }).length > 0 || issues.length > 0) console.log({ closes, resets, issues });
  };
  const start = performance.now();
  const open = { do: 'open', base: server.base, lists, count: clients } as const;
  await measure(`${clients} clients subscribe to ${lists} lists of ${documents}`, open);
  await measure('they come back without positions', { do: 'storm', isResuming: false, limitMs: STORM_MS });
  await measure('they come back with positions', { do: 'storm', isResuming: true, limitMs: STORM_MS });

  await Promise.all(writers.map(({ end }) => end()));
  const documentsOf = expected.map((held) => [...held]);
  const end = performance.now() + EXACT_MS;
  let wrong = clients;
  while (wrong > 0 && performance.now() < end) wrong = await order<number>({ do: 'check', expected: documentsOf });
  console.log(`${wrong} of ${clients} clients have a wrong state at the end, after ${written} writes`);
  await reader.end();
} finally {
  crowd.kill();
  await client.close();
  await server.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
