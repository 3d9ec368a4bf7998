/**
 * Loaded into a measured program with `--import`: at SIGUSR2 it prints, as a line of JSON, how long the event loop was
 * blocked since the last time. The program itself is not changed.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The sampling interval, which is included in every figure. */
const RESOLUTION_MS = 1;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('SIGUSR2', () => {
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;
  const figures = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
  delay.reset();
  process.stdout.write(`loop-delay ${JSON.stringify(figures)}\n`);
});
