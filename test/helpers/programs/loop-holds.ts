/**
 * Loaded into a measured program with `--import`: appends a line of JSON to the file in LOOP_HOLDS whenever the program
 * blocked its event loop for long. CPU time of the main thread is measured, so that a busy machine, other threads and
 * other processes change nothing.
 */
import { appendFileSync } from 'node:fs';

export interface Hold {
  /** When the block ended, in milliseconds since 1970. */
  readonly at: number;
  /** CPU time of the main thread, in milliseconds. */
  readonly cpuMs: number;
}

const LEAST_MS = 20;
const EVERY_MS = 5;

const file = process.env['LOOP_HOLDS'];
if (file !== undefined) watch(file);

function watch(path: string): void {
  let before = process.threadCpuUsage();
  const look = () => {
    const now = process.threadCpuUsage();
    const cpuMs = (now.user + now.system - before.user - before.system) / 1_000;
    before = now;
    const hold: Hold = { at: Date.now(), cpuMs };
    if (cpuMs > LEAST_MS) appendFileSync(path, `${JSON.stringify(hold)}\n`);
    setTimeout(look, EVERY_MS).unref();
  };
  look();
}
