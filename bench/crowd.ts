/**
 * Many subscribers in child programs, so that their cost is not measured as the server's. This file opens them,
 * collects reports of what they received, and closes them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Wish } from './watcher.ts';

export type Query =
  | { readonly request: 'open'; readonly wish: Wish; readonly count: number }
  | { readonly request: 'resume' }
  | { readonly request: 'changes' }
  | { readonly request: 'report'; readonly requested: number }
  | { readonly request: 'behind'; readonly held: readonly (readonly [id: string, n: number])[] };

/** What subscribers received since the last report; resets, closes and errors since the beginning. */
export interface Report {
  readonly live: number;
  readonly changes: number;
  /** Missing messages: numbered writes that a subscriber did not receive, added up over all subscribers. */
  readonly lacking: number;
  readonly repeated: number;
  /**
   * How many delays there were of each length, in tenths of milliseconds. Only the counts are sent, because there may
   * be a million delays.
   */
  readonly delays: Readonly<Record<string, number>>;
  readonly resets: Readonly<Record<string, number>>;
  readonly closes: Readonly<Record<string, number>>;
  readonly issues: readonly string[];
}

export class Crowd {
  readonly #programs: readonly ChildProcess[];

  private constructor(programs: readonly ChildProcess[]) {
    this.#programs = programs;
  }

  /** Opens subscribers and waits until all are live. @param programs how many child programs hold them */
  static async open(wish: Wish, count: number, programs = 1): Promise<Crowd> {
    const path = fileURLToPath(new URL('./crowd-program.ts', import.meta.url));
    const crowd = new Crowd(Array.from({ length: programs }, () => fork(path, { serialization: 'advanced' })));
    for (const program of crowd.#programs) {
      await request(program, { request: 'open', wish, count: Math.ceil(count / programs) });
    }
    return crowd;
  }

  /** Subscribers that did not read start to read. */
  async resume(): Promise<void> {
    await this.#all({ request: 'resume' });
  }

  /** Waits until this many changes have come since the last report, at most `forMs` milliseconds. */
  async changes(count: number, forMs: number): Promise<void> {
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      const responses = (await this.#all({ request: 'changes' })) as number[];
      if (responses.reduce((sum, one) => sum + one, 0) >= count) return;
      await pause(100);
    }
  }

  /** @param requested how many numbered writes each subscriber should have received */
  async report(requested: number): Promise<Report> {
    const reports = (await this.#all({ request: 'report', requested })) as Report[];
    const sum = (of: (report: Report) => number) => reports.reduce((total, report) => total + of(report), 0);
    return {
      live: sum(({ live }) => live),
      changes: sum(({ changes }) => changes),
      lacking: sum(({ lacking }) => lacking),
      repeated: sum(({ repeated }) => repeated),
      delays: added(reports.map(({ delays }) => delays)),
      resets: added(reports.map(({ resets }) => resets)),
      closes: added(reports.map(({ closes }) => closes)),
      issues: reports.flatMap(({ issues }) => issues),
    };
  }

  /** How many subscribers hold other documents than these. */
  async behind(held: ReadonlyMap<string, number>): Promise<number> {
    const responses = (await this.#all({ request: 'behind', held: [...held] })) as number[];
    return responses.reduce((sum, one) => sum + one, 0);
  }

  async close(): Promise<void> {
    for (const program of this.#programs) {
      if (program.exitCode !== null) continue;
      program.kill();
      await once(program, 'exit');
    }
  }

  #all(query: Query): Promise<unknown[]> {
    return Promise.all(this.#programs.map((program) => request(program, query)));
  }
}

/** Adds up the numbers of each name. */
export function added(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of all) for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** The delays as text. */
export function shownDelays(delays: Report['delays']): string {
  const at = (share: number) => delayAt(delays, share).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms`;
}

/** The quantile of the delays in milliseconds: a `share` of them is shorter. */
export function delayAt(delays: Report['delays'], share: number): number {
  const all = Object.entries(delays).sort(([a], [b]) => Number(a) - Number(b));
  let left = all.reduce((sum, [, count]) => sum + count, 0) * share;
  const found = all.find(([, count]) => {
    left -= count;
    return left <= 0;
  });
  return Number(found?.[0] ?? Number.NaN) / 10;
}

async function request(program: ChildProcess, query: Query): Promise<unknown> {
  const other = new AbortController();
  const ended = once(program, 'exit', other).then(([code]) => {
    throw new Error(`A program of subscribers ended with ${code}`);
  });
  const response = once(program, 'message', other);
  program.send(query);
  const [said] = await Promise.race([response, ended]).finally(() => {
    for (const waiting of [response, ended]) waiting.catch(() => {});
    other.abort();
  });
  return said;
}
