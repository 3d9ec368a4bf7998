/**
 * Many subscribers in programs of their own, so that what they cost is not the server's: opened, asked what they were told,
 * and closed. One program holds as many as may share a core's attention (crowd-program.ts).
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Wish } from './watcher.ts';

export type Question =
  | { readonly ask: 'open'; readonly wish: Wish; readonly count: number }
  | { readonly ask: 'resume' }
  | { readonly ask: 'changes' }
  | { readonly ask: 'report'; readonly wanted: number }
  | { readonly ask: 'behind'; readonly held: readonly (readonly [id: string, n: number])[] };

/** What subscribers were told since the last report; resets, closes and what was wrong, since ever. */
export interface Report {
  readonly live: number;
  readonly changes: number;
  /** Numbered writes that somebody was not told of, each for each. */
  readonly lacking: number;
  readonly repeated: number;
  /** How many there were of each length, in tenths of milliseconds: a million of them would be too many to send. */
  readonly delays: Readonly<Record<string, number>>;
  readonly resets: Readonly<Record<string, number>>;
  readonly closes: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

export class Crowd {
  readonly #programs: readonly ChildProcess[];

  private constructor(programs: readonly ChildProcess[]) {
    this.#programs = programs;
  }

  /** Opens subscribers and waits until all are live. @param programs over how many programs they are spread */
  static async open(wish: Wish, count: number, programs = 1): Promise<Crowd> {
    const path = fileURLToPath(new URL('./crowd-program.ts', import.meta.url));
    const crowd = new Crowd(Array.from({ length: programs }, () => fork(path, { serialization: 'advanced' })));
    for (const program of crowd.#programs) {
      await ask(program, { ask: 'open', wish, count: Math.ceil(count / programs) });
    }
    return crowd;
  }

  /** Those who did not read do so from now on. */
  async resume(): Promise<void> {
    await this.#all({ ask: 'resume' });
  }

  /** Waits until so many changes have come since the last report, or as long as may be. */
  async changes(count: number, forMs: number): Promise<void> {
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      const answers = (await this.#all({ ask: 'changes' })) as number[];
      if (answers.reduce((sum, one) => sum + one, 0) >= count) return;
      await pause(100);
    }
  }

  /** @param wanted how many numbered writes each should have been told of */
  async report(wanted: number): Promise<Report> {
    const reports = (await this.#all({ ask: 'report', wanted })) as Report[];
    const sum = (of: (report: Report) => number) => reports.reduce((total, report) => total + of(report), 0);
    return {
      live: sum(({ live }) => live),
      changes: sum(({ changes }) => changes),
      lacking: sum(({ lacking }) => lacking),
      repeated: sum(({ repeated }) => repeated),
      delays: added(reports.map(({ delays }) => delays)),
      resets: added(reports.map(({ resets }) => resets)),
      closes: added(reports.map(({ closes }) => closes)),
      faults: reports.flatMap(({ faults }) => faults),
    };
  }

  /** How many hold something else than these documents. */
  async behind(held: ReadonlyMap<string, number>): Promise<number> {
    const answers = (await this.#all({ ask: 'behind', held: [...held] })) as number[];
    return answers.reduce((sum, one) => sum + one, 0);
  }

  async close(): Promise<void> {
    for (const program of this.#programs) {
      if (program.exitCode !== null) continue;
      program.kill();
      await once(program, 'exit');
    }
  }

  #all(question: Question): Promise<unknown[]> {
    return Promise.all(this.#programs.map((program) => ask(program, question)));
  }
}

/** Numbers under names, each name's added up. */
export function added(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of all) for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** The words for delays. */
export function shownDelays(delays: Report['delays']): string {
  const at = (share: number) => delayAt(delays, share).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms`;
}

/** Milliseconds below which a share of all delays lie. */
export function delayAt(delays: Report['delays'], share: number): number {
  const all = Object.entries(delays).sort(([a], [b]) => Number(a) - Number(b));
  let left = all.reduce((sum, [, count]) => sum + count, 0) * share;
  const found = all.find(([, count]) => {
    left -= count;
    return left <= 0;
  });
  return Number(found?.[0] ?? Number.NaN) / 10;
}

async function ask(program: ChildProcess, question: Question): Promise<unknown> {
  const other = new AbortController();
  const ended = once(program, 'exit', other).then(([code]) => {
    throw new Error(`A program of subscribers ended with ${code}`);
  });
  const answer = once(program, 'message', other);
  program.send(question);
  const [said] = await Promise.race([answer, ended]).finally(() => {
    for (const waiting of [answer, ended]) waiting.catch(() => {});
    other.abort();
  });
  return said;
}
