/**
 * The effect of a new Scope on a result that a client has. The old and the new result are read as of the client's own
 * position, and the differences become messages. If the database can no longer read that time, there is no result.
 */
import type { Timestamp } from 'mongodb';
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { LiveQuerySpec } from '../result/live-query-spec.ts';
import { type WindowMember, windowCapacity } from '../result/query-window.ts';
import { renderDocument, sortKeyJson } from '../result/rendering.ts';
import { type SnapshotReader, snapshotBatches } from '../result/snapshot-reader.ts';
import { toWindowMember } from '../result/window-member.ts';
import { type SubscriptionMessage, toChangeMessage } from '../wire/shared-message.ts';

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

export interface ResultDifference {
  readonly reported: readonly SubscriptionMessage[];
  /** The first documents of the new result, with which a window continues. */
  readonly members: readonly WindowMember[];
}

/** Reads differences, each once if several clients need the same one at the same time. */
export class ScopeDifferences {
  readonly #store: SnapshotReader;
  readonly #slots: FairSemaphore;
  readonly #reading = new Map<string, Promise<ResultDifference | null>>();

  constructor(store: SnapshotReader, slots: FairSemaphore) {
    this.#store = store;
    this.#slots = slots;
  }

  /**
   * @param whose key of the first client; other clients that need the same share its turn
   * @returns null if a new snapshot is needed instead
   */
  difference(
    old: LiveQuerySpec,
    next: LiveQuerySpec,
    logCursor: ResultPosition,
    whose: string,
  ): Promise<ResultDifference | null> {
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
export interface ResultPosition {
  readonly position: string;
  /** The cluster time of its result; null if unknown. */
  readonly moment: Timestamp | null;
  /** When the difference is sent. */
  readonly now: Date;
}

async function differenceOf(
  store: SnapshotReader,
  [old, next]: readonly [LiveQuerySpec, LiveQuerySpec],
  { position, moment, now }: ResultPosition,
): Promise<ResultDifference | null> {
  const capacity = next.limit === null ? null : windowCapacity(next.limit);
  const was = await responseAt(store, old, capacity, moment);
  const is = was && (await responseAt(store, next, capacity, moment));
  if (was === null || is === null) return null;
  const at = now.toISOString();
  const reported: SubscriptionMessage[] = [];
  for (const [identity, { text }] of was.shown) {
    if (!is.shown.has(identity))
      reported.push(toChangeMessage(position, () => ({ op: 'leave', documentId: text, reason: 'gone', at })));
  }
  for (const [identity, { text, json, sortKey }] of is.shown) {
    const before = was.shown.get(identity);
    if (before?.json.equals(json)) continue;
    const op = before === undefined ? 'enter' : 'update';
    reported.push(toChangeMessage(position, () => ({ op, documentId: text, document: json, sortKey, at })));
  }
  return { reported, members: is.members };
}

async function responseAt(
  store: SnapshotReader,
  query: LiveQuerySpec,
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
      const document = await decodeDocumentCooperatively(raw);
      const member = toWindowMember(document, query);
      members.push(member);
      if (query.limit !== null && members.length > query.limit) return;
      const json = await renderDocument(query, raw);
      const sortKey = query.keyed ? sortKeyJson(query, document) : null;
      shown.set(member.identity, { text: member.text, json, sortKey });
    };
    for await (const batch of snapshotBatches(read)) {
      for (const raw of batch) bytes += raw.length;
      if (bytes > MOST_BYTES) return null;
      await mapCooperatively(batch, take);
    }
    return capacity === null && members.length > MOST_DOCUMENTS ? null : { shown, members };
  } finally {
    await read.close();
  }
}
