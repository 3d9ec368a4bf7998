/**
 * Reads users' collections as of one cluster time (read concern `snapshot`): the first documents of subscriptions, and
 * those that refill windows.
 */
import type { ClientSession, Db, Document, Timestamp } from 'mongodb';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { type CursorReply, RAW_CURSOR_OPTIONS, readCursorReply } from '../../database/cursors/cursor-reply.ts';
import { buildFindCommand } from '../../database/cursors/find-raw.ts';
import { FIRST_BATCH_SIZE, OpenCursor, REPLY_BYTES } from '../../database/cursors/open-cursor.ts';
import { mongoErrorCode, translateError } from '../../database/errors.ts';
import { requireWatchableCollection } from '../../events/read/watchable-collection.ts';
import { mapCooperatively, runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { withTimeout } from '../../lib/concurrency/deadline.ts';
import { retry } from '../../lib/concurrency/retry.ts';
import { MillraceError } from '../../lib/errors.ts';
import { restrictFilterToScopes } from '../../policies/scope-filter.ts';
import { DOCUMENT_READ_COST, isExpensiveMatch } from '../../query/evaluate/filter-cost.ts';
import { buildPageRequest, toMongoSortOrStages } from '../../query/page/page.ts';
import type { SortKeyValues } from '../../query/page/sort.ts';
import type { LiveQuerySpec } from './live-query-spec.ts';

const SNAPSHOT_UNAVAILABLE = 246;
const QUERY_PLAN_KILLED = 175;
/**
 * The server no longer keeps that time (SnapshotTooOld), the collection was created or changed after it
 * (SnapshotUnavailable), or it was dropped during the read (QueryPlanKilled).
 */
const NOT_AT_THAT_TIME: ReadonlySet<number> = new Set([239, SNAPSHOT_UNAVAILABLE, QUERY_PLAN_KILLED]);
/** Errors of an active read whose collection was dropped, renamed or created again. */
const DROPPED: ReadonlySet<number> = new Set([SNAPSHOT_UNAVAILABLE, QUERY_PLAN_KILLED]);
/** Maximum documents of one reply; fewer if they are large. */
const BATCH = 1_000;
/** Maximum bytes read to refill a window; a window that needs more restarts. */
const MOST_AT_ONCE = 16 * 1024 * 1024;

/**
 * A collection may have its own collation. Changes are evaluated without collation, so the snapshot must be read
 * without it, too. A collection without one can still use all of its indexes.
 */
const BY_CODE_POINT = { collation: { locale: 'simple' } } as const;
const CAPPED = 'A capped collection cannot be followed: the database does not support snapshot reads of it';

/** The collection was dropped or renamed during the read. */
export class CollectionDropped extends Error {
  override readonly name = 'CollectionDropped';
}

/** The reason why a result that could not be completed is invalid. Unexpected errors are reported. */
export function resetReasonForError(error: unknown, report: (error: unknown) => void): 'dropped' | 'window' {
  if (error instanceof CollectionDropped) return 'dropped';
  if (error instanceof MillraceError && (error.code === 'client-memory-exceeded' || error.code === 'overloaded'))
    return 'window';
  report(error);
  return 'window';
}

/** The result of a query at one time, read batch by batch. The caller reads to the end or calls `close`. */
export interface SnapshotRead {
  /** The cluster time; null if the collection does not exist. */
  readonly time: Timestamp | null;
  /** The first documents, raw: about 1,000 of them or 1 MB. */
  readonly first: readonly Buffer[];
  /** Whether there are more than the first ones. */
  readonly more: boolean;
  /** The documents after the first ones. Throws Dropped. */
  rest(): AsyncGenerator<readonly Buffer[]>;
  /** Closes the cursor if the rest is not needed. */
  close(): Promise<void>;
}

/** All documents of a read, as they arrive. */
export async function* snapshotBatches(read: SnapshotRead): AsyncGenerator<readonly Buffer[]> {
  yield read.first;
  if (read.more) yield* read.rest();
}

export class SnapshotReader {
  readonly #data: Db;
  readonly #timeoutMs: number;
  /** Active checks, by collection: many clients may resume on the same collection at once. */
  readonly #requesting = new Map<string, Promise<void>>();

  constructor(data: Db, timeoutMs: number) {
    this.#data = data;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The documents of a query, in its order, if any.
   * @param at the time; if it is null or cannot be read any more, the present is read instead
   * @param limit maximum documents; null for all
   * @throws MillraceError `forbidden` for a collection that cannot be followed
   */
  async open(query: LiveQuerySpec, at: Timestamp | null, limit: number | null): Promise<SnapshotRead> {
    const find = buildFindCommand(query.collection, {
      filter: filterOf(query),
      ...(query.keyed ? toMongoSortOrStages(query.sort) : {}),
      ...(limit === null ? {} : { limit }),
      batchSize: Math.min(limit ?? BATCH, FIRST_BATCH_SIZE),
      ...BY_CODE_POINT,
      maxTimeMS: this.#timeoutMs,
    });
    const session = this.#data.client.startSession({ causalConsistency: false });
    const followable = this.requireFollowable(query.collection);
    try {
      const [reply] = await Promise.all([this.#atOrNow(session, find, at), followable]);
      return await judged(query, await this.#read(query.collection, session, reply));
    } catch (error) {
      await session.endSession();
      // That the collection cannot be followed is a better error than how the read failed.
      await followable;
      throw translateError(error);
    }
  }

  /** Checks that a collection supports snapshot reads and change events. @throws MillraceError `forbidden` */
  requireFollowable(collection: string): Promise<void> {
    const known = this.#requesting.get(collection);
    if (known !== undefined) return known;
    const requesting = this.#requireFollowable(collection).finally(() => this.#requesting.delete(collection));
    this.#requesting.set(collection, requesting);
    return requesting;
  }

  async #requireFollowable(name: string): Promise<void> {
    const found = await requireWatchableCollection(this.#data, name, this.#timeoutMs);
    if (found?.options?.['capped'] === true) throw new MillraceError('forbidden', CAPPED);
  }

  /** The cluster time of the primary's newest write; null if the database does not say. */
  async operationTime(): Promise<Timestamp | null> {
    const reply: { readonly operationTime?: Timestamp } = await this.#data.command({ ping: 1 });
    return reply.operationTime ?? null;
  }

  /** The number of documents of a query, counted up to `most`. */
  async count(query: LiveQuerySpec, most: number): Promise<number> {
    const options = { limit: most, ...BY_CODE_POINT, maxTimeMS: this.#timeoutMs };
    try {
      return await this.#data.collection(query.collection).countDocuments(filterOf(query), options);
    } catch (error) {
      throw translateError(error);
    }
  }

  /**
   * Documents by their ids, as of a time. They are read with the collection's own collation: only with it can the index
   * of ids be used, and no two ids are equal in it. Throws if that is impossible, or not in time.
   */
  byIds(collection: string, ids: readonly unknown[], at: Timestamp, limitMs?: number): Promise<readonly Buffer[]> {
    const batchSize = Math.min(ids.length + 1, FIRST_BATCH_SIZE);
    return this.#all({ find: collection, filter: { _id: { $in: ids } }, batchSize }, at, limitMs);
  }

  /** The documents of a query after a sort key, as of a time. Throws if that time cannot be read, or not in time. */
  documentsAfter(
    query: LiveQuerySpec,
    key: SortKeyValues | null,
    limit: number,
    at: Timestamp,
    limitMs?: number,
  ): Promise<readonly Buffer[]> {
    const position = key === null ? null : ({ direction: 'next', values: key } as const);
    const { filter, sort } = buildPageRequest(filterOf(query), query.sort, position);
    const options = { limit, batchSize: Math.min(limit, FIRST_BATCH_SIZE), ...BY_CODE_POINT };
    const find = buildFindCommand(query.collection, { filter, ...toMongoSortOrStages(sort), ...options });
    return this.#all(find, at, limitMs);
  }

  async #all(find: Document, at: Timestamp, limitMs = this.#timeoutMs): Promise<readonly Buffer[]> {
    const session = this.#data.client.startSession({ causalConsistency: false });
    try {
      const command = { ...find, maxTimeMS: limitMs, ...concern(at) };
      const reply = await this.#request(session, command, limitMs);
      const read = await this.#read(String(find['find'] ?? find['aggregate']), session, reply, limitMs);
      // For a collection that has been dropped since, the server returns an empty result without a cluster time.
      if (read.time === null) throw new CollectionDropped(`'${String(find['find'] ?? find['aggregate'])}' was dropped`);
      const found: Buffer[] = [];
      let bytes = 0;
      for await (const batch of snapshotBatches(read)) {
        for (const raw of batch) bytes += raw.length;
        if (found.length > 0 && bytes > MOST_AT_ONCE)
          throw new MillraceError('client-memory-exceeded', 'The documents to read use too much memory');
        found.push(...batch);
      }
      return found;
    } finally {
      await session.endSession();
    }
  }

  /**
   * Retries for a while: for some milliseconds after a collection was created or changed, snapshot reads of it fail.
   */
  async #atOrNow(session: ClientSession, find: Document, at: Timestamp | null): Promise<CursorReply> {
    let moment = at;
    const retryable = (error: unknown) => {
      moment = null;
      return NOT_AT_THAT_TIME.has(mongoErrorCode(error) ?? 0) && !isCapped(error);
    };
    const request = () => this.#request(session, { ...find, ...concern(moment) });
    return await retry(request, { limitMs: this.#timeoutMs, delayMs: 10, maxDelayMs: 200, retryable });
  }

  /** Reads on until the first documents are complete. No reply is larger than 1 MB, unless single documents are. */
  async #read(collection: string, session: ClientSession, reply: CursorReply, limitMs?: number): Promise<SnapshotRead> {
    const request = (command: Document) => this.#request(session, command, limitMs);
    const cursor = new OpenCursor({ db: this.#data, collection, session, batchSize: BATCH, request }, reply.id, reply);
    async function* rest(): AsyncGenerator<readonly Buffer[]> {
      try {
        yield* cursor.rest();
      } catch (error) {
        if (DROPPED.has(mongoErrorCode(error) ?? 0))
          throw new CollectionDropped(`'${collection}' was dropped`, { cause: error });
        throw translateError(error);
      }
    }
    const replies = rest();
    const first = [...reply.entries];
    let { bytes } = reply;
    while (cursor.isOpen && first.length < BATCH && bytes < REPLY_BYTES) {
      const { value = [] } = await replies.next();
      first.push(...value);
      for (const raw of value) bytes += raw.length;
    }
    if (!cursor.isOpen) void cursor.close();
    return { time: reply.time, first, more: cursor.isOpen, rest: () => replies, close: () => cursor.close() };
  }

  async #request(session: ClientSession, command: Document, limitMs = this.#timeoutMs): Promise<CursorReply> {
    const reply = await withTimeout(limitMs + 1_000, (signal) =>
      this.#data.command(command, { session, ...RAW_CURSOR_OPTIONS, signal }),
    );
    return readCursorReply(reply['cursor']);
  }
}

/** Only the message says that a collection is capped: transient errors have the same code. */
function isCapped(error: unknown): boolean {
  return mongoErrorCode(error) === SNAPSHOT_UNAVAILABLE && error instanceof Error && error.message.includes('capped');
}

function concern(at: Timestamp | null): Document {
  return { readConcern: { level: 'snapshot', ...(at === null ? {} : { atClusterTime: at }) } };
}

/** The matching documents of those that the database returned: its regular expressions give up on some texts. */
async function matching({ match, cost }: LiveQuerySpec, found: readonly Buffer[]): Promise<readonly Buffer[]> {
  const responses = await mapCooperatively(found, (raw) => {
    const request = () => match(decodeDocument(raw));
    return isExpensiveMatch(cost + DOCUMENT_READ_COST, raw.length) ? runCooperatively(request) : request();
  });
  return found.filter((_, index) => responses[index]);
}

async function judged(query: LiveQuerySpec, read: SnapshotRead): Promise<SnapshotRead> {
  if (query.certain) return read;
  async function* rest(): AsyncGenerator<readonly Buffer[]> {
    for await (const batch of read.rest()) yield await matching(query, batch);
  }
  return { ...read, first: await matching(query, read.first), rest };
}

/** The filter of a query combined with its Scope's, as the database receives it. */
function filterOf({ scope, filter }: LiveQuerySpec): Document {
  return restrictFilterToScopes(filter, scope);
}
