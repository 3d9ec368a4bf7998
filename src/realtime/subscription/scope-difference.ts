/**
 * The effect of a new Scope on a result that a client has. The old and the new result are read as of the client's own
 * position, and the differences become messages. If the database can no longer read that time, there is no result.
 */
import type { Timestamp } from 'mongodb';
import { readInTurns } from '../../database/bson/stored.ts';
import { mapInTurns } from '../../lib/concurrency/cooperative-yield.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { LiveSpec } from '../result/live-query-spec.ts';
import { keyText, renderedInTurns } from '../result/rendering.ts';
import { type SnapshotStore, snapshotBatches } from '../result/snapshot-store.ts';
import { capacityOf, type WindowMember } from '../result/window.ts';
import { toWindowMember } from '../result/window-document.ts';
import { type Reported, toMessage } from '../wire/shared-message.ts';

/** Above this a new snapshot is cheaper than a difference. */
const MOST_DOCUMENTS = 2_000;
const MOST_BYTES = 4 * 1024 * 1024;

interface Shown {
  readonly text: string;
  readonly json: Buffer;
  readonly sortKey: string | null;
}

interface ApiResponse {
  readonly shown: ReadonlyMap<string, Shown>;
  readonly members: readonly WindowMember[];
}

export interface Difference {
  readonly reported: readonly Reported[];
  /** The first documents of the new result, with which a window continues. */
  readonly members: readonly WindowMember[];
}

/** Reads differences, each once if several clients need the same one at the same time. */
export class Rescoping {
  readonly #store: SnapshotStore;
  readonly #slots: FairSemaphore;
  readonly #reading = new Map<string, Promise<Difference | null>>();

  constructor(store: SnapshotStore, slots: FairSemaphore) {
    this.#store = store;
    this.#slots = slots;
  }

  /**
   * @param whose key of the first client; other clients that need the same share its turn
   * @returns null if a new snapshot is needed instead
   */
  difference(old: LiveSpec, next: LiveSpec, logCursor: LogCursor, whose: string): Promise<Difference | null> {
    const key = `${old.key} ${next.key} ${logCursor.position} ${logCursor.moment}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const read = () => differenceOf(this.#store, [old, next], logCursor);
    const reading = this.#slots.run(whose, read).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}

/** The log position of the client. */
export interface LogCursor {
  readonly position: string;
  /** The cluster time of its result; null if unknown. */
  readonly moment: Timestamp | null;
  /** When the difference is sent. */
  readonly now: Date;
}

async function differenceOf(
  store: SnapshotStore,
  [old, next]: readonly [LiveSpec, LiveSpec],
  { position, moment, now }: LogCursor,
): Promise<Difference | null> {
  const capacity = next.limit === null ? null : capacityOf(next.limit);
  const was = await responseAt(store, old, capacity, moment);
  const is = was && (await responseAt(store, next, capacity, moment));
  if (was === null || is === null) return null;
  const at = now.toISOString();
  const reported: Reported[] = [];
  for (const [identity, { text }] of was.shown) {
    if (!is.shown.has(identity))
      reported.push(toMessage(position, () => ({ op: 'leave', documentId: text, reason: 'gone', at })));
  }
  for (const [identity, { text, json, sortKey }] of is.shown) {
    const before = was.shown.get(identity);
    if (before?.json.equals(json)) continue;
    const op = before === undefined ? 'enter' : 'update';
    reported.push(toMessage(position, () => ({ op, documentId: text, document: json, sortKey, at })));
  }
  return { reported, members: is.members };
}

async function responseAt(
  store: SnapshotStore,
  query: LiveSpec,
  capacity: number | null,
  time: Timestamp | null,
): Promise<ApiResponse | null> {
  if (time === null) return null;
  const read = await store.open(query, time, capacity ?? MOST_DOCUMENTS + 1);
  try {
    if (read.time === null || !read.time.equals(time)) return null;
    const shown = new Map<string, Shown>();
    const members: WindowMember[] = [];
    let bytes = 0;
    const take = async (raw: Buffer) => {
      const document = await readInTurns(raw);
      const member = toWindowMember(document, query);
      members.push(member);
      if (query.limit !== null && members.length > query.limit) return;
      const json = await renderedInTurns(query, raw);
      const sortKey = query.keyed ? keyText(query, document) : null;
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
