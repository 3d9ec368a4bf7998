/**
 * What waiting subscribers cost, and how fast messages reach them: the memory of an idle socket with a subscription,
 * and the time from a write over HTTP to the frame at the last subscriber. `--sockets 2000 --writes 50`; the recorded
 * figures are of 10,000, which need 20,000 open files (`ulimit -n`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { Crowd, delayAt } from './crowd.ts';
import { Connection } from './load.ts';
import { startOurs } from './programs.ts';
import { machine, median } from './rounds.ts';
import { quantile } from './steady.ts';
import { cpuSeconds, residentBytes } from './usage.ts';
import { now } from './watcher.ts';

const { values } = parseArgs({
  options: { sockets: { type: 'string', default: '2000' }, writes: { type: 'string', default: '50' } },
});
const [sockets, writes] = [Number(values.sockets), Number(values.writes)];
const SOCKETS_A_PROGRAM = 2_500;
/** Long enough to collect the garbage of opening the sockets. */
const SETTLE_MS = 5_000;
const ARRIVED_MS = 30_000;

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const program = await startOurs(database.url, 'ours', {
  MILLRACE_MAX_CONNECTIONS_PER_IP: '100000',
  MILLRACE_MAX_LIVE_CLIENTS: '100000',
});
try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]}`);
  const pid = program.child.pid ?? 0;
  const { hostname, port } = new URL(program.base);
  const connection = await Connection.to(hostname, Number(port));
  const put = (n: number) =>
    connection.send({ method: 'PUT', path: '/api/todos/first', body: JSON.stringify({ n, at: now() }) });
  await connection.send({ method: 'POST', path: '/api/todos', body: JSON.stringify({ id: 'first', n: 0, at: 0 }) });
  await pause(SETTLE_MS);
  const before = residentBytes(pid);
  const wish = { base: program.base, collection: 'todos', query: {} };
  const crowd = await Crowd.open(wish, sockets, Math.ceil(sockets / SOCKETS_A_PROGRAM));
  const opened = residentBytes(pid) - before;
  await pause(SETTLE_MS);
  const grown = residentBytes(pid) - before;
  const kib = (bytes: number) => (bytes / sockets / 1024).toFixed(1);
  console.log(`${sockets} idle sockets: ${kib(grown)} KiB each (target < 60), ${kib(opened)} right after opening`);
  const idle = cpuSeconds(pid);
  await pause(SETTLE_MS);
  console.log(`  CPU ${((1e5 * (cpuSeconds(pid) - idle)) / SETTLE_MS).toFixed(1)} % of a core while nothing happens`);
  const delays: number[] = [];
  let lacking = 0;
  const used = cpuSeconds(pid);
  for (let n = 1; n <= writes; n++) {
    await put(n);
    await crowd.changes(sockets, ARRIVED_MS);
    const reported = await crowd.report(1);
    lacking += reported.lacking;
    delays.push(delayAt(reported.delays, 1));
  }
  const cpu = ((cpuSeconds(pid) - used) * 1e6) / (writes * sockets);
  console.log(
    `write → the last of ${sockets} subscribers: p50 ${median(delays).toFixed(1)} ms, p99 ${quantile(delays, 0.99).toFixed(1)} ms`,
  );
  console.log(`  ${lacking} frames missing, CPU ${cpu.toFixed(1)} µs a delivery, the write included`);
  const { live, resets, closes, issues } = await crowd.report(0);
  console.log(`  ${live} live at the end`, { resets, closes, issues });
  connection.close();
  await crowd.close();
} finally {
  await program.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
