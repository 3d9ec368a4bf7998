/**
 * Which events one action makes, and that it makes no others: what the database did comes in its order, so a document
 * written behind the action, a fence, comes after all that the action did. Not for actions that others share a
 * database with.
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
  /** The events of everything that was done since the last time. */
  made(): Promise<readonly Event[]>;
}

/** Begins to watch; events of what was done before are not told. */
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
