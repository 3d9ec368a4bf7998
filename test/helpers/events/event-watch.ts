/**
 * The events of one action, and proof that there are no others. Events arrive in the order of their writes, so a
 * document that is written after the action, a fence, shows that all events of the action have arrived. Not for a
 * database with other concurrent writers.
 */
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { type Event, toEvent } from '../../../src/events/log/event.ts';
import type { Services } from '../../../src/services.ts';
import { until } from '../until.ts';

const FENCES = 'zz-fences';

/** What an event must match: its type, or fields of its envelope. */
export type Expected = string | Readonly<Record<string, unknown>>;

export interface EventWatch {
  /** The events since the last call. */
  created(): Promise<readonly Event[]>;
}

/** Starts watching. Events of earlier actions are left out. */
export async function watchEvents(t: Pick<Test, 'teardown'>, services: Services): Promise<EventWatch> {
  const seen: Event[] = [];
  const fences = services.mongo.data.collection<{ _id: string }>(FENCES);
  const detach = services.events.tail.attach({
    rows: (rows) => seen.push(...rows.flatMap((row) => toEvent(row) ?? [])),
  });
  t.teardown(detach);
  const created = async () => {
    const fence = randomBytes(6).toString('hex');
    await fences.insertOne({ _id: fence });
    const at = () => seen.findIndex(({ documentId }) => documentId === fence);
    await until(() => at() >= 0, 'the fence arrives');
    return seen.splice(0, at() + 1).filter(({ collection }) => collection !== FENCES);
  };
  await created();
  return { created };
}

/** Fails unless the events are the expected ones, in their order and no others. */
export function sameEvents(t: Test, events: readonly Event[], expected: readonly Expected[]): void {
  const shown = events.map(({ type, documentId }) => `${type} ${documentId}`);
  t.equal(events.length, expected.length, `events: ${shown.slice(0, 20).join(', ') || 'none'}`);
  for (const [index, one] of expected.entries()) {
    t.match(events[index], typeof one === 'string' ? { type: one } : one, `event ${index}`);
  }
}
