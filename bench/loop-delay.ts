/**
 * Loaded into a measured program with `--import`: at SIGUSR2 it prints how long the event loop was held since the last
 * time, in a line of JSON. The program itself knows nothing of it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The sampling interval; it is part of every figure. */
const RESOLUTION_MS = 1;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('SIGUSR2', () => {
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;
  const figures = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
  delay.reset();
  process.stdout.write(`loop-delay ${JSON.stringify(figures)}\n`);
});
