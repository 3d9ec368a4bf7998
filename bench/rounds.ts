/**
 * Compares two ways of a pure computation: both alternate in the same run, and the medians of the rounds are compared.
 * Time is CPU time of this process, so a busy machine disturbs less. Absolute times are only valid for the printed
 * machine; the ratios can be compared between machines.
 */
import { cpus, totalmem } from 'node:os';
import { cpuUsage } from 'node:process';

/** One way to do the job once; its return value is used, so that no compiler removes the work. */
export interface Way {
  readonly name: string;
  readonly once: () => unknown;
}

export interface Comparison {
  /** Median microseconds of CPU time of one call. */
  readonly ours: number;
  readonly reference: number;
  /** How many times faster ours is. */
  readonly ratio: number;
}

/** The machine and the versions, for the head of a result. */
export function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${memory} GiB, Node ${process.version}, ${new Date().toISOString()}`;
}

/** Compares two ways by the medians of this many rounds of about `roundMs` each, after one warm-up round. */
export function compare(ours: Way, reference: Way, rounds = 5, roundMs = 400): Comparison {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const [side, way] of [ours, reference].entries()) {
      const time = microseconds(way, roundMs);
      if (round > 0) times[side]?.push(time);
    }
  }
  const [a, b] = [median(times[0]), median(times[1])];
  return { ours: a, reference: b, ratio: b / a };
}

function microseconds(way: Way, forMs: number): number {
  let calls = 0;
  const before = cpuUsage();
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    if (way.once() === undefined) throw new Error(`${way.name} did nothing`);
    calls++;
  }
  const used = cpuUsage(before);
  return (used.user + used.system) / calls;
}

/** The median. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
