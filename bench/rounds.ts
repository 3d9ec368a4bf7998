/**
 * How benchmarks here compare: both ways run in turns in the same run, and the medians of the rounds are set against
 * each other. Absolute times belong to the machine whose line is printed; only ratios travel.
 */
import { cpus, totalmem } from 'node:os';

/** One way to do the job once; what it returns is used, so that no compiler removes the work. */
export interface Way {
  readonly name: string;
  readonly once: () => unknown;
}

export interface Comparison {
  /** Median microseconds of one call. */
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

/** Compares two ways by the medians of so many A-B rounds of about `roundMs` each, after one round to warm up. */
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
  const start = performance.now();
  let now = start;
  while (now - start < forMs) {
    if (way.once() === undefined) throw new Error(`${way.name} did nothing`);
    calls++;
    now = performance.now();
  }
  return ((now - start) * 1000) / calls;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
