/**
 * The judge of the live torture: reads every frame a subscriber was told, line by line, and holds it against the log.
 * On each line the numbers rise and nothing is left out; all lines together were told every change; the answer is right
 * wherever the client is told where it stands, and in the end it is what the database holds. Pure.
 */
import { AnswerCase } from './answer-case.ts';
import { type Case, numberOf } from './case.ts';
import { EventCase } from './event-case.ts';
import type { Oracle } from './oracle.ts';
import type { Shown } from './questions.ts';
import { changesOf, type Frame, type Journal, type Line, readBlock } from './subscriber.ts';

export interface LiveVerdict {
  /** Nothing in it: all held. */
  readonly faults: string[];
  readonly subscriptions: number;
  readonly lines: number;
  readonly frames: number;
  /** Changes and events that were told, and that the log says had to be. */
  readonly told: number;
  readonly due: number;
  /** How often an answer was compared with the log. */
  readonly compared: number;
  /** How often subscriptions went on from where they were, began as newcomers, and had to begin anew, by reason. */
  readonly resumed: number;
  readonly begun: number;
  readonly resets: Record<string, number>;
  /** Subscriptions with a window; of the others, those that never began anew. */
  readonly windows: number;
  readonly unbroken: number;
}

export interface Evidence {
  readonly journals: readonly Journal[];
  readonly oracle: Oracle;
  /** What is stored in the end, by collection. */
  readonly stored: ReadonlyMap<string, readonly Shown[]>;
}

export function judge({ journals, oracle, stored }: Evidence): LiveVerdict {
  const faults: string[] = [];
  const resets: Record<string, number> = {};
  const sums = {
    subscriptions: 0,
    lines: 0,
    frames: 0,
    told: 0,
    due: 0,
    compared: 0,
    resumed: 0,
    begun: 0,
    windows: 0,
    unbroken: 0,
  };
  for (const journal of journals) {
    const cases = journal.questions.map((question): Case => {
      const track = oracle.track(question);
      return question.kind === 'events' ? new EventCase(track, oracle) : new AnswerCase(question, track, oracle);
    });
    const fault = (text: string) => faults.push(`${journal.name}: ${text}`);
    for (const refusal of journal.refusals) fault(refusal);
    for (const line of journal.lines) follow(journal, line, cases, fault);
    for (const [index, one] of cases.entries()) {
      const question = journal.questions[index];
      one.close(question?.kind === 'documents' ? (stored.get(question.collection) ?? []) : []);
      for (const text of one.faults) fault(`${question?.name}: ${text}`);
      for (const reason of one.figures.resets) resets[reason] = (resets[reason] ?? 0) + 1;
      for (const name of ['told', 'due', 'compared', 'resumed', 'begun'] as const) sums[name] += one.figures[name];
      const isWindow = question?.kind === 'documents' && question.query.limit !== undefined;
      sums.windows += isWindow ? 1 : 0;
      sums.unbroken += !isWindow && one.figures.resets.length === 0 ? 1 : 0;
    }
    sums.subscriptions += cases.length;
    sums.lines += journal.lines.length;
    sums.frames += journal.lines.reduce((sum, { frames }) => sum + frames.length, 0);
  }
  return { faults: faults.slice(0, 40), resets, ...sums };
}

function follow({ wire }: Journal, line: Line, cases: readonly Case[], fault: (text: string) => void): void {
  for (const [index, one] of cases.entries()) one.begin(numberOf(line.since[index] ?? null));
  let place = -1;
  for (const text of line.frames) {
    const frame: Frame = wire === 'socket' ? JSON.parse(text) : readBlock(text);
    if (frame.type === 'error') fault(text);
    if (wire === 'stream' && frame.place !== undefined) {
      const next = numberOf(frame.place) ?? -1;
      if (next < place && frame.type !== 'reset') fault(`the stream's place falls from ${place} to ${frame.place}`);
      place = next;
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
