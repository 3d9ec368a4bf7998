/**
 * Many subscribers of one collection during steady writes over HTTP: whether each receives every write, how late, and
 * what that costs the server. `--subscribers 1000 --rate 20 --seconds 5`; the recorded figures are of 60 seconds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { Crowd, shownDelays } from './crowd.ts';
import { startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { writeSteadily } from './steady.ts';
import { cpuSeconds } from './usage.ts';

const { values } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '5' },
  },
});
const subscribers = Number(values.subscribers);
const rate = Number(values.rate);
/** Seconds of the warm-up. */
const WARM_S = 3;
const ARRIVED_MS = 30_000;

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const program = await startOurs(database.url, 'ours', { MILLRACE_MAX_CONNECTIONS_PER_IP: '100000' });
try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]}`);
  const pid = program.child.pid ?? 0;
  // All subscribers share this result. It only grows, and is never read from the database again.
  const query = { filter: { n: { $gte: 0 } } };
  const crowd = await Crowd.open({ base: program.base, collection: 'items', query }, subscribers);
  const run = async (seconds: number) => {
    const before = cpuSeconds(pid);
    const count = rate * seconds;
    await writeSteadily(program, rate, count, () => undefined);
    await crowd.changes(count * subscribers, ARRIVED_MS);
    const used = cpuSeconds(pid) - before;
    return { ...(await crowd.report(count)), used };
  };
  await run(WARM_S);
  const { changes, lacking, repeated, delays, used, live, resets, closes, issues } = await run(Number(values.seconds));
  console.log(`${subscribers} subscribers, ${rate} writes/s for ${values.seconds} s: ${changes} frames arrived`);
  console.log(`  ${lacking} missing, ${repeated} repeated or out of order, ${live} live at the end`);
  console.log(`  from when a write was due to its frame: ${shownDelays(delays)}`);
  console.log(`  CPU of the server ${((used * 1e6) / changes).toFixed(2)} µs a frame, writes and log included`);
  console.log(`  that is ${((100 * used) / Number(values.seconds)).toFixed(0)} % of a core`);
  if (issues.length > 0 || Object.keys({ ...resets, ...closes }).length > 0) console.log({ resets, closes, issues });
  await crowd.close();
} finally {
  await program.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
