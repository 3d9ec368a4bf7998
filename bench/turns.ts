/**
 * Puts servers under the same load, alternating, so that other work of the machine disturbs them equally, and compares
 * their figures.
 */
import { type Call, type Figures, load } from './load.ts';
import type { Program } from './programs.ts';
import { median } from './rounds.ts';

/** A server, and the requests it gets. */
export interface Side {
  readonly program: Program;
  readonly next: () => Call;
}

export interface TurnOptions {
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
}

/**
 * The warm-up load of each server. Without it, a server that handles some hundred calls per second takes minutes until
 * all of its code is compiled, and the compiler uses the same cores.
 */
const WARMING = { connections: 32, ms: 4_000 };

/** The medians of each server's rounds, after the warm-up and one round that does not count. */
export async function inTurns(
  sides: readonly Side[],
  { connections, rounds, seconds }: TurnOptions,
): Promise<readonly Figures[]> {
  const found = sides.map((): Figures[] => []);
  for (const { program, next } of sides) {
    await load(program.base, program.child.pid ?? 0, WARMING.connections, WARMING.ms, next);
  }
  for (let round = 0; round <= rounds; round++) {
    for (const [side, { program, next }] of sides.entries()) {
      const figures = await load(program.base, program.child.pid ?? 0, connections, 1000 * seconds, next);
      if (round > 0) found[side]?.push(figures);
    }
  }
  return found.map((figures) => ({
    perSecond: median(figures.map(({ perSecond }) => perSecond)),
    cpu: median(figures.map(({ cpu }) => cpu)),
    p50: median(figures.map(({ p50 }) => p50)),
    p99: median(figures.map(({ p99 }) => p99)),
  }));
}

const HEADS = ['req/s', 'reference', 'ratio', 'CPU µs', 'reference', 'ratio', 'p99 ms', 'reference'];

/** The head of a table of comparisons. */
export function head(connections: number): string {
  return row([`${connections} connection${connections > 1 ? 's' : ''}`, ...HEADS]);
}

/** One line: ours against the reference. */
export function comparison(name: string, ours: Figures, reference: Figures): string {
  const rates = [ours.perSecond, reference.perSecond].map((n) => n.toFixed(0));
  const costs = [ours.cpu, reference.cpu].map((n) => n.toFixed(0));
  return row([
    name,
    ...rates,
    (ours.perSecond / reference.perSecond).toFixed(2),
    ...costs,
    (ours.cpu / reference.cpu).toFixed(2),
    ours.p99.toFixed(1),
    reference.p99.toFixed(1),
  ]);
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(11))).join('');
}
