/**
 * What a new Scope changes in an answer that a client holds. The old and the new answer are read as of the client's own
 * position, and the differences become messages. When the database can no longer read that moment, there is no result.
 */
import type { Timestamp } from 'mongodb';
import { readInTurns } from '../../database/bson/stored.ts';
import type { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import type { LiveQuestion } from '../answer/live-question.ts';
import { keyText, renderedInTurns } from '../answer/rendering.ts';
import { type SnapshotStore, snapshotBatches } from '../answer/snapshot-store.ts';
import { capacityOf, type WindowMember } from '../answer/window.ts';
import { toMember } from '../answer/window-member.ts';
import { type Told, toMessage } from '../wire/shared-message.ts';

/** Above this a new snapshot is cheaper than a difference. */
const MOST_DOCUMENTS = 2_000;
const MOST_BYTES = 4 * 1024 * 1024;

interface Shown {
  readonly text: string;
  readonly json: Buffer;
  readonly sortKey: string | null;
}

interface Answer {
  readonly shown: ReadonlyMap<string, Shown>;
  readonly members: readonly WindowMember[];
}

export interface Difference {
  readonly told: readonly Told[];
  /** The first documents of the new answer, with which a window goes on. */
  readonly members: readonly WindowMember[];
}

/** Reads differences, each once when several clients need the same one at the same moment. */
export class Rescoping {
  readonly #store: SnapshotStore;
  readonly #slots: FairSemaphore;
  readonly #reading = new Map<string, Promise<Difference | null>>();

  constructor(store: SnapshotStore, slots: FairSemaphore) {
    this.#store = store;
    this.#slots = slots;
  }

  /**
   * @param whose key of the client that asks first; the other clients that need the same share its turn
   * @returns null when a new snapshot is needed instead
   */
  difference(old: LiveQuestion, next: LiveQuestion, stand: Stand, whose: string): Promise<Difference | null> {
    const key = `${old.key} ${next.key} ${stand.position} ${stand.moment}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const read = () => differenceOf(this.#store, [old, next], stand);
    const reading = this.#slots.run(whose, read).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}

/** Where the client is in the log. */
export interface Stand {
  readonly position: string;
  /** The cluster time of its answer; null when that is not known. */
  readonly moment: Timestamp | null;
  /** When the difference is sent. */
  readonly now: Date;
}

async function differenceOf(
  store: SnapshotStore,
  [old, next]: readonly [LiveQuestion, LiveQuestion],
  { position, moment, now }: Stand,
): Promise<Difference | null> {
  const capacity = next.limit === null ? null : capacityOf(next.limit);
  const was = await answerAt(store, old, capacity, moment);
  const is = was && (await answerAt(store, next, capacity, moment));
  if (was === null || is === null) return null;
  const at = now.toISOString();
  const told: Told[] = [];
  for (const [identity, { text }] of was.shown) {
    if (!is.shown.has(identity))
      told.push(toMessage(position, () => ({ op: 'leave', documentId: text, reason: 'gone', at })));
  }
  for (const [identity, { text, json, sortKey }] of is.shown) {
    const before = was.shown.get(identity);
    if (before?.json.equals(json)) continue;
    const op = before === undefined ? 'enter' : 'update';
    told.push(toMessage(position, () => ({ op, documentId: text, document: json, sortKey, at })));
  }
  return { told, members: is.members };
}

async function answerAt(
  store: SnapshotStore,
  question: LiveQuestion,
  capacity: number | null,
  time: Timestamp | null,
): Promise<Answer | null> {
  if (time === null) return null;
  const read = await store.open(question, time, capacity ?? MOST_DOCUMENTS + 1);
  try {
    if (read.time === null || !read.time.equals(time)) return null;
    const shown = new Map<string, Shown>();
    const members: WindowMember[] = [];
    let bytes = 0;
    const take = async (raw: Buffer) => {
      const document = await readInTurns(raw);
      const member = toMember(document, question);
      members.push(member);
      if (question.limit !== null && members.length > question.limit) return;
      const json = await renderedInTurns(question, raw);
      const sortKey = question.keyed ? keyText(question, document) : null;
      shown.set(member.identity, { text: member.text, json, sortKey });
    };
    for await (const batch of snapshotBatches(read)) {
      for (const raw of batch) bytes += raw.length;
      if (bytes > MOST_BYTES) return null;
      await mapInTurns(batch, take);
    }
    return capacity === null && members.length > MOST_DOCUMENTS ? null : { shown, members };
  } finally {
    await read.close();
  }
}
