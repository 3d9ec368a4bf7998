/**
 * The events that one action makes, and proof that it makes no others. Events come in the order of their writes. So a
 * document that is written after the action, a fence, shows that all events of the action have come. Not for a database
 * in which others write at the same time.
 */
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { type Event, toEvent } from '../../../src/events/log/event.ts';
import type { Parts } from '../../../src/parts.ts';
import { until } from '../until.ts';

const FENCES = 'zz-fences';

/** What an event must match: its type, or members of its envelope. */
export type Expected = string | Readonly<Record<string, unknown>>;

export interface EventWatch {
  /** The events since the last call. */
  made(): Promise<readonly Event[]>;
}

/** Begins to watch. Events of earlier actions are left out. */
export async function watchEvents(t: Pick<Test, 'teardown'>, parts: Parts): Promise<EventWatch> {
  const seen: Event[] = [];
  const fences = parts.mongo.data.collection<{ _id: string }>(FENCES);
  const detach = parts.events.tail.attach({
    rows: (rows) => seen.push(...rows.flatMap((row) => toEvent(row) ?? [])),
  });
  t.teardown(detach);
  const made = async () => {
    const fence = randomBytes(6).toString('hex');
    await fences.insertOne({ _id: fence });
    const at = () => seen.findIndex(({ documentId }) => documentId === fence);
    await until(() => at() >= 0, 'the fence is told');
    return seen.splice(0, at() + 1).filter(({ collection }) => collection !== FENCES);
  };
  await made();
  return { made };
}

/** Fails unless the events are the expected ones, in their order and no others. */
export function sameEvents(t: Test, events: readonly Event[], expected: readonly Expected[]): void {
  const shown = events.map(({ type, documentId }) => `${type} ${documentId}`);
  t.equal(events.length, expected.length, `events: ${shown.slice(0, 20).join(', ') || 'none'}`);
  for (const [index, one] of expected.entries()) {
    t.match(events[index], typeof one === 'string' ? { type: one } : one, `event ${index}`);
  }
}
