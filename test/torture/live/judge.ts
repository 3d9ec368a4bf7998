/**
 * The judge of the torture test of realtime: compares every frame of a subscriber with the log. On each connection the
 * numbers rise and nothing is missing; all connections together received every change; the result is correct at every
 * received position, and in the end it equals the database.
 */

import { type Case, numberOf } from './case.ts';
import { EventCase } from './event-case.ts';
import type { Oracle } from './oracle.ts';
import type { Shown } from './questions.ts';
import { ResponseCase } from './result-case.ts';
import { changesOf, type Frame, type Journal, type Line, readBlock } from './subscriber.ts';

export interface LiveVerdict {
  /** Empty: everything is correct. */
  readonly issues: string[];
  readonly subscriptions: number;
  readonly lines: number;
  readonly frames: number;
  /** Changes and events that were sent and that the log requires. */
  readonly reported: number;
  readonly due: number;
  /** How often a result was compared with the log. */
  readonly compared: number;
  /** How often subscriptions resumed, started without state, and had to restart, by reason. */
  readonly resumed: number;
  readonly begun: number;
  readonly resets: Record<string, number>;
  /** Subscriptions with a window; of the others, those that never restarted. */
  readonly windows: number;
  readonly unbroken: number;
}

export interface Evidence {
  readonly journals: readonly Journal[];
  readonly oracle: Oracle;
  /** The final content of the database, by collection. */
  readonly stored: ReadonlyMap<string, readonly Shown[]>;
}

export function judge({ journals, oracle, stored }: Evidence): LiveVerdict {
  const issues: string[] = [];
  const resets: Record<string, number> = {};
  const sums = {
    subscriptions: 0,
    lines: 0,
    frames: 0,
    reported: 0,
    due: 0,
    compared: 0,
    resumed: 0,
    begun: 0,
    windows: 0,
    unbroken: 0,
  };
  for (const journal of journals) {
    const cases = journal.queries.map((query): Case => {
      const track = oracle.track(query);
      return query.kind === 'events' ? new EventCase(track, oracle) : new ResponseCase(query, track, oracle);
    });
    const issue = (text: string) => issues.push(`${journal.name}: ${text}`);
    for (const refusal of journal.refusals) issue(refusal);
    for (const line of journal.lines) follow(journal, line, cases, issue);
    for (const [index, one] of cases.entries()) {
      const query = journal.queries[index];
      one.close(query?.kind === 'documents' ? (stored.get(query.collection) ?? []) : []);
      for (const text of one.issues) issue(`${query?.name}: ${text}`);
      for (const reason of one.figures.resets) resets[reason] = (resets[reason] ?? 0) + 1;
      for (const name of ['reported', 'due', 'compared', 'resumed', 'begun'] as const) sums[name] += one.figures[name];
      const isWindow = query?.kind === 'documents' && query.query.limit !== undefined;
      sums.windows += isWindow ? 1 : 0;
      sums.unbroken += !isWindow && one.figures.resets.length === 0 ? 1 : 0;
    }
    sums.subscriptions += cases.length;
    sums.lines += journal.lines.length;
    sums.frames += journal.lines.reduce((sum, { frames }) => sum + frames.length, 0);
  }
  return { issues: issues.slice(0, 40), resets, ...sums };
}

function follow({ wire }: Journal, line: Line, cases: readonly Case[], issue: (text: string) => void): void {
  for (const [index, one] of cases.entries()) one.begin(numberOf(line.since[index] ?? null));
  let last = -1;
  for (const text of line.frames) {
    const frame: Frame = wire === 'socket' ? JSON.parse(text) : readBlock(text);
    if (frame.type === 'error') issue(text);
    if (wire === 'stream' && frame.eventId !== undefined) {
      const next = numberOf(frame.eventId) ?? -1;
      if (next < last && frame.type !== 'reset') issue(`the stream's position falls from ${last} to ${frame.eventId}`);
      last = next;
    }
    for (const [index, one] of cases.entries()) {
      const mine = (id: string | undefined) => id === `s${index}` || (wire === 'stream' && id === undefined);
      if (frame.type === 'transaction') {
        const changes = changesOf(frame).filter(({ id }) => mine(id));
        if (changes.length > 0) one.take({ ...frame, changes });
      } else if (frame.type === 'ping' || mine(frame.id)) one.take(frame);
    }
  }
  for (const one of cases) one.end();
}
