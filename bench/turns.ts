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

/** The figures of each server's rounds, after the warm-up and one round that does not count. */
export async function inTurns(
  sides: readonly Side[],
  { connections, rounds, seconds }: TurnOptions,
): Promise<readonly (readonly Figures[])[]> {
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
  return found;
}

/** The median of each figure. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    cpu: median(rounds.map(({ cpu }) => cpu)),
    p50: median(rounds.map(({ p50 }) => p50)),
    p99: median(rounds.map(({ p99 }) => p99)),
  };
}

const HEADS = ['req/s', 'reference', 'ratio', 'lowest–highest', 'CPU µs', 'reference', 'ratio', 'lowest–highest'];

/** The head of a table of comparisons. */
export function head(connections: number): string {
  return row([`${connections} connection${connections > 1 ? 's' : ''}`, ...HEADS, 'p99 ms', 'reference']);
}

/** One line: the medians of ours and of the reference, and the ratios of their rounds. */
export function comparison(name: string, ours: readonly Figures[], reference: readonly Figures[]): string {
  const compared = (figure: 'perSecond' | 'cpu'): string[] => {
    const ratios = ours
      .map((round, index) => round[figure] / (reference[index]?.[figure] ?? Number.NaN))
      .sort((a, b) => a - b);
    const [lowest = Number.NaN, highest = Number.NaN] = [ratios.at(0), ratios.at(-1)];
    return [
      ...[ours, reference].map((rounds) => medianFigures(rounds)[figure].toFixed(0)),
      median(ratios).toFixed(2),
      `${lowest.toFixed(2)}–${highest.toFixed(2)}`,
    ];
  };
  const p99 = [ours, reference].map((rounds) => medianFigures(rounds).p99.toFixed(1));
  return row([name, ...compared('perSecond'), ...compared('cpu'), ...p99]);
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => {
      if (index === 0) return cell.padEnd(20);
      return cell.padStart(index === 4 || index === 8 ? 16 : 10);
    })
    .join('');
}
