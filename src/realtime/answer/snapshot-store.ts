/**
 * Reads users' collections as they were at one cluster time (read concern `snapshot`): the documents with which
 * subscriptions begin, and those that refill windows. Not here: which moment is read, and later changes.
 */
import type { ClientSession, Db, Document, Timestamp } from 'mongodb';
import { readStored } from '../../database/bson/stored.ts';
import { type CursorReply, RAW_ENTRIES, readCursorReply } from '../../database/cursors/cursor-reply.ts';
import { readCommand } from '../../database/cursors/find-raw.ts';
import { FIRST_BATCH, OpenCursor, REPLY_BYTES } from '../../database/cursors/open-cursor.ts';
import { serverCode, translateError } from '../../database/errors.ts';
import { requireChanges } from '../../events/read/followable.ts';
import { within } from '../../kernel/concurrency/deadline.ts';
import { inTurns, mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { retry } from '../../kernel/concurrency/retry.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { joinedFilter } from '../../policies/reach.ts';
import { isHeavy, READ_COST } from '../../query/evaluate/cost.ts';
import { orderOf, requestPage } from '../../query/page/page.ts';
import type { KeyValues } from '../../query/page/sort.ts';
import type { LiveQuestion } from './live-question.ts';

const SNAPSHOT_UNAVAILABLE = 246;
const QUERY_PLAN_KILLED = 175;
/**
 * The server does not keep the moment any more (SnapshotTooOld), the collection was created or changed after the moment
 * (SnapshotUnavailable), or it was dropped in the middle of the read (QueryPlanKilled).
 */
const NOT_AT_THAT_TIME: ReadonlySet<number> = new Set([239, SNAPSHOT_UNAVAILABLE, QUERY_PLAN_KILLED]);
/** The errors of a read under way when its collection has been dropped, renamed or created again. */
const DROPPED: ReadonlySet<number> = new Set([SNAPSHOT_UNAVAILABLE, QUERY_PLAN_KILLED]);
/** The most documents of one reply; fewer if they are large. */
const BATCH = 1_000;
/** The most bytes that are read to refill a window; a window that needs more begins anew. */
const MOST_AT_ONCE = 16 * 1024 * 1024;

/**
 * A collection may have a collation of its own. Changes are evaluated without collation, so the snapshot must be read
 * without it, too. Where a collection has none, all of its indexes can still be used.
 */
const BY_CODE_POINT = { collation: { locale: 'simple' } } as const;
const CAPPED = 'A capped collection cannot be followed: the database does not read it as of one moment';

/** The collection was dropped or renamed while it was read. */
export class Dropped extends Error {
  override readonly name = 'Dropped';
}

/** The reason why an answer is void that could not be completed. Unexpected errors are reported. */
export function voidBy(error: unknown, report: (error: unknown) => void): 'dropped' | 'window' {
  if (error instanceof Dropped) return 'dropped';
  if (error instanceof MillraceError && (error.code === 'too-much-held' || error.code === 'overloaded'))
    return 'window';
  report(error);
  return 'window';
}

/** The answer to a question at one moment, read batch by batch. The caller reads to the end or calls `close`. */
export interface SnapshotRead {
  /** The moment; null when the collection does not exist. */
  readonly time: Timestamp | null;
  /** The first documents, raw: about 1,000 of them or 1 MB. */
  readonly first: readonly Buffer[];
  /** Whether there are more than the first ones. */
  readonly more: boolean;
  /** The documents after the first ones. Throws Dropped. */
  rest(): AsyncGenerator<readonly Buffer[]>;
  /** Closes the cursor when the rest is not wanted. */
  close(): Promise<void>;
}

/** All documents of a read, as they come. */
export async function* snapshotBatches(read: SnapshotRead): AsyncGenerator<readonly Buffer[]> {
  yield read.first;
  if (read.more) yield* read.rest();
}

export class SnapshotStore {
  readonly #data: Db;
  readonly #timeoutMs: number;
  /** Checks under way, by collection: many clients may resume on the same collection at one moment. */
  readonly #asking = new Map<string, Promise<void>>();

  constructor(data: Db, timeoutMs: number) {
    this.#data = data;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The documents of a question, in its order when it has one.
   * @param at the moment; when it is null or cannot be read any more, the present moment is read instead
   * @param limit documents at most; null for all
   * @throws MillraceError `forbidden` for a collection that cannot be followed
   */
  async open(question: LiveQuestion, at: Timestamp | null, limit: number | null): Promise<SnapshotRead> {
    const find = readCommand(question.collection, {
      filter: filterOf(question),
      ...(question.keyed ? orderOf(question.sort) : {}),
      ...(limit === null ? {} : { limit }),
      batchSize: Math.min(limit ?? BATCH, FIRST_BATCH),
      ...BY_CODE_POINT,
      maxTimeMS: this.#timeoutMs,
    });
    const session = this.#data.client.startSession({ causalConsistency: false });
    const followable = this.requireFollowable(question.collection);
    try {
      const [reply] = await Promise.all([this.#atOrNow(session, find, at), followable]);
      return await judged(question, await this.#read(question.collection, session, reply));
    } catch (error) {
      await session.endSession();
      // That the collection cannot be followed is a better error than how the read failed.
      await followable;
      throw translateError(error);
    }
  }

  /**
   * Makes sure that a collection can be read as of a moment and that the database tells its changes.
   * @throws MillraceError `forbidden`
   */
  requireFollowable(collection: string): Promise<void> {
    const known = this.#asking.get(collection);
    if (known !== undefined) return known;
    const asking = this.#requireFollowable(collection).finally(() => this.#asking.delete(collection));
    this.#asking.set(collection, asking);
    return asking;
  }

  async #requireFollowable(name: string): Promise<void> {
    const found = await requireChanges(this.#data, name, this.#timeoutMs);
    if (found?.options?.['capped'] === true) throw new MillraceError('forbidden', CAPPED);
  }

  /** How many documents a question has, counted up to `most`. */
  async count(question: LiveQuestion, most: number): Promise<number> {
    const options = { limit: most, ...BY_CODE_POINT, maxTimeMS: this.#timeoutMs };
    try {
      return await this.#data.collection(question.collection).countDocuments(filterOf(question), options);
    } catch (error) {
      throw translateError(error);
    }
  }

  /**
   * Documents by their ids, as they were at a moment. They are read with the collection's own collation: only with it
   * can the index of ids be used, and no two ids are equal in it. Throws when that is impossible, or not in time.
   */
  byIds(collection: string, ids: readonly unknown[], at: Timestamp, limitMs?: number): Promise<readonly Buffer[]> {
    const batchSize = Math.min(ids.length + 1, FIRST_BATCH);
    return this.#all({ find: collection, filter: { _id: { $in: ids } }, batchSize }, at, limitMs);
  }

  /**
   * The documents of a question after a sort key, as they were at a moment. Throws when that moment cannot be read, or
   * not in time.
   */
  behind(
    question: LiveQuestion,
    key: KeyValues | null,
    limit: number,
    at: Timestamp,
    limitMs?: number,
  ): Promise<readonly Buffer[]> {
    const position = key === null ? null : ({ direction: 'next', values: key } as const);
    const { filter, sort } = requestPage(filterOf(question), question.sort, position);
    const options = { limit, batchSize: Math.min(limit, FIRST_BATCH), ...BY_CODE_POINT };
    const find = readCommand(question.collection, { filter, ...orderOf(sort), ...options });
    return this.#all(find, at, limitMs);
  }

  async #all(find: Document, at: Timestamp, limitMs = this.#timeoutMs): Promise<readonly Buffer[]> {
    const session = this.#data.client.startSession({ causalConsistency: false });
    try {
      const command = { ...find, maxTimeMS: limitMs, ...concern(at) };
      const reply = await this.#ask(session, command, limitMs);
      const read = await this.#read(String(find['find'] ?? find['aggregate']), session, reply, limitMs);
      // For a collection that has been dropped since, the server returns an empty result without a cluster time.
      if (read.time === null) throw new Dropped(`'${String(find['find'] ?? find['aggregate'])}' was dropped`);
      const found: Buffer[] = [];
      let bytes = 0;
      for await (const batch of snapshotBatches(read)) {
        for (const raw of batch) bytes += raw.length;
        if (found.length > 0 && bytes > MOST_AT_ONCE)
          throw new MillraceError('too-much-held', 'The documents to read take too much memory');
        found.push(...batch);
      }
      return found;
    } finally {
      await session.endSession();
    }
  }

  /**
   * Tries again for a while: for some milliseconds after a collection was created or changed, it cannot be read as of a
   * snapshot.
   */
  async #atOrNow(session: ClientSession, find: Document, at: Timestamp | null): Promise<CursorReply> {
    let moment = at;
    const retryable = (error: unknown) => {
      moment = null;
      return NOT_AT_THAT_TIME.has(serverCode(error) ?? 0) && !isCapped(error);
    };
    const ask = () => this.#ask(session, { ...find, ...concern(moment) });
    return await retry(ask, { limitMs: this.#timeoutMs, delayMs: 10, maxDelayMs: 200, retryable });
  }

  /** Reads on until the first documents are together. No reply is larger than 1 MB, if single documents are not. */
  async #read(collection: string, session: ClientSession, reply: CursorReply, limitMs?: number): Promise<SnapshotRead> {
    const ask = (command: Document) => this.#ask(session, command, limitMs);
    const cursor = new OpenCursor({ db: this.#data, collection, session, batchSize: BATCH, ask }, reply.id, reply);
    async function* rest(): AsyncGenerator<readonly Buffer[]> {
      try {
        yield* cursor.rest();
      } catch (error) {
        if (DROPPED.has(serverCode(error) ?? 0)) throw new Dropped(`'${collection}' was dropped`, { cause: error });
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

  async #ask(session: ClientSession, command: Document, limitMs = this.#timeoutMs): Promise<CursorReply> {
    const reply = await within(limitMs + 1_000, (signal) =>
      this.#data.command(command, { session, ...RAW_ENTRIES, signal }),
    );
    return readCursorReply(reply['cursor']);
  }
}

/** Only the message says that a collection is capped: the code is also that of errors that pass by themselves. */
function isCapped(error: unknown): boolean {
  return serverCode(error) === SNAPSHOT_UNAVAILABLE && error instanceof Error && error.message.includes('capped');
}

function concern(at: Timestamp | null): Document {
  return { readConcern: { level: 'snapshot', ...(at === null ? {} : { atClusterTime: at }) } };
}

/** The documents that match, out of those that the database found: its regular expressions give up on some texts. */
async function matching({ match, cost }: LiveQuestion, found: readonly Buffer[]): Promise<readonly Buffer[]> {
  const answers = await mapInTurns(found, (raw) => {
    const ask = () => match(readStored(raw));
    return isHeavy(cost + READ_COST, raw.length) ? inTurns(ask) : ask();
  });
  return found.filter((_, index) => answers[index]);
}

async function judged(question: LiveQuestion, read: SnapshotRead): Promise<SnapshotRead> {
  if (question.certain) return read;
  async function* rest(): AsyncGenerator<readonly Buffer[]> {
    for await (const batch of read.rest()) yield await matching(question, batch);
  }
  return { ...read, first: await matching(question, read.first), rest };
}

/** The filter of a question with its Scope's, as the database takes it. */
function filterOf({ scope, filter }: LiveQuestion): Document {
  return joinedFilter(filter, scope);
}
