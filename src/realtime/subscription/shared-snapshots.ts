/**
 * Snapshots that equal subscriptions share: one read of the database, one rendering and one set of encoded messages.
 * They are kept while somebody sends them and for some seconds, so that a later subscription gets them with the rows
 * since. A result of too many bytes is not shared: it would have to be in memory as a whole.
 */
import type { Timestamp } from 'mongodb';
import { formatPosition, type LogPosition } from '../../events/log/position.ts';
import { RequestCoalescer } from '../../lib/concurrency/coalescer.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { ByteBudget } from '../../lib/memory/byte-budget.ts';
import type { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { Hub } from '../hub/hub.ts';
import type { LiveQuerySpec } from '../result/live-query-spec.ts';
import { type WindowMember, windowCapacity } from '../result/query-window.ts';
import { renderSnapshot } from '../result/rendering.ts';
import { type SnapshotReader, snapshotBatches } from '../result/snapshot-reader.ts';
import type { SnapshotPart } from '../wire/encode-message.ts';

/** Maximum documents of a result without a limit. */
export const MOST_DOCUMENTS = 10_000;
/** Stored bytes of a result that is shared. */
const MOST_BYTES = 4 * 1024 * 1024;
/** How long a snapshot is given to new subscriptions. */
const KEPT_MS = 3_000;
/** Rows since a snapshot; with more of them a new snapshot is cheaper than reading them for each subscription. */
const MOST_ROWS_SINCE = 500;
/**
 * How long to wait for rows on their way before a new snapshot is read instead. Only if a row came within that time: otherwise
 * there may be none.
 */
const PASSING_MS = 50;
/** The part of the memory for clients that shared snapshots may use. */
const BUDGET_SHARE = 1 / 2;
const BUDGET_KEY = 'shared snapshots';

export interface SharedSnapshot {
  /** The log position. */
  readonly mark: LogPosition;
  /** The cluster time, which may be later; null if the collection does not exist. */
  readonly time: Timestamp | null;
  readonly parts: readonly SnapshotPart[];
  /** The entries of the window; empty without a window. */
  readonly members: readonly WindowMember[];
}

/** A snapshot that stays in memory until it is released. */
export interface SharedSnapshotHold {
  readonly snapshot: SharedSnapshot;
  readonly release: () => void;
  /** Holds it once more. @returns the function that releases it */
  readonly holdAgain: () => () => void;
}

export interface SharedSnapshotsDeps {
  readonly hub: Pick<Hub, 'newest' | 'newestAt' | 'turn' | 'passed'>;
  readonly store: Pick<SnapshotReader, 'open' | 'operationTime'>;
  readonly slots: FairSemaphore;
  readonly fairYield: FairScheduler;
  readonly budget: ByteBudget;
}

export interface SharedSnapshotRequest {
  readonly query: LiveQuerySpec;
  /** Identifies the client: any value that is the same for all its reads. */
  readonly whose: unknown;
  /** Aborted when the snapshot is not needed any more. */
  readonly run: AbortSignal;
  /** The snapshot must not have been begun before; monotonic milliseconds. */
  readonly notBefore: number;
}

/** One read of the database, and the snapshot that it makes. */
class SharedRead {
  readonly query: LiveQuerySpec;
  readonly done: PromiseWithResolvers<SharedSnapshot | null> = Promise.withResolvers();
  /** When it was begun; infinite while it waits for its turn. */
  begunAt = Number.POSITIVE_INFINITY;
  mark: LogPosition | null = null;
  turn = -1;
  /** Clients in whose turn it may be begun. */
  readonly askedBy = new Set<unknown>();
  bytes = 0;
  /** Ends the time in which new subscriptions get it. */
  timer: NodeJS.Timeout | undefined;
  #isRetired = false;
  #holds = 0;
  readonly #free: () => void;

  /** @param free called when it is retired and nobody holds it */
  constructor(query: LiveQuerySpec, free: () => void) {
    this.query = query;
    this.#free = free;
  }

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** @returns the function that releases it; further calls of that do nothing */
  hold(): () => void {
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      this.#freeIfUnused();
    };
  }

  /** No other subscription gets it from now on. */
  retire(): void {
    clearTimeout(this.timer);
    this.#isRetired = true;
    this.#freeIfUnused();
  }

  #freeIfUnused(): void {
    if (this.#isRetired && this.#holds === 0) this.#free();
  }
}

export class SharedSnapshots {
  readonly #deps: SharedSnapshotsDeps;
  /** The newest read of each query, oldest first. */
  readonly #reads = new Map<string, SharedRead>();
  readonly #present: RequestCoalescer<null, Timestamp | null>;
  #bytes = 0;

  constructor(deps: SharedSnapshotsDeps) {
    this.#deps = deps;
    const limits = { count: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY, bytesOf: () => 0 };
    this.#present = new RequestCoalescer(async (_key, requests) => {
      const time = await deps.store.operationTime();
      return requests.map(() => time);
    }, limits);
  }

  /**
   * A snapshot that contains, together with the rows of the log until now, everything that was acknowledged before.
   * @returns null if the result is too large to be shared, or if there is no memory for it
   * @throws CollectionDropped, MillraceError `subscription-result-too-large`, and the errors of reading
   */
  async acquire({ query, whose, run, notBefore }: SharedSnapshotRequest): Promise<SharedSnapshotHold | null> {
    const arrivedAt = performance.now();
    for (;;) {
      const read = this.#usable(query.key, notBefore) ?? this.#create(query);
      const release = read.hold();
      run.addEventListener('abort', release, { once: true });
      try {
        const hasBegun = read.begunAt < Number.POSITIVE_INFINITY;
        const present = hasBegun ? this.#present.submit('', null).catch(() => null) : null;
        if (!hasBegun) this.#takeTurn(read, whose);
        const snapshot = await read.done.promise;
        const isNew = read.begunAt >= arrivedAt;
        if (snapshot !== null && (isNew || (await this.#isCurrent(read, snapshot, await present)))) {
          const held = read.hold();
          return { snapshot, release: held, holdAgain: () => read.hold() };
        }
        if (snapshot === null || run.aborted) return null;
        this.#retire(read);
      } finally {
        run.removeEventListener('abort', release);
        release();
      }
    }
  }

  /** A read of this query that another subscription may share. */
  #usable(key: string, notBefore: number): SharedRead | null {
    const read = this.#reads.get(key);
    if (read === undefined || read.begunAt < notBefore) return null;
    const { hub } = this.#deps;
    if (read.mark === null) return read;
    return read.turn === hub.turn && hub.newest.number - read.mark.number <= MOST_ROWS_SINCE ? read : null;
  }

  #create(query: LiveQuerySpec): SharedRead {
    const old = this.#reads.get(query.key);
    if (old !== undefined) this.#retire(old);
    const read = new SharedRead(query, () => this.#count(read, -read.bytes));
    this.#reads.set(query.key, read);
    return read;
  }

  #retire(read: SharedRead): void {
    if (this.#reads.get(read.query.key) === read) this.#reads.delete(read.query.key);
    read.retire();
  }

  /** Begins the read in the next turn of any client that needs it: none waits for the other reads of another client. */
  #takeTurn(read: SharedRead, whose: unknown): void {
    if (read.askedBy.has(whose)) return;
    read.askedBy.add(whose);
    void this.#deps.slots.run(whose, async () => {
      if (read.begunAt < Number.POSITIVE_INFINITY) return;
      read.begunAt = performance.now();
      try {
        const snapshot = await this.#make(read);
        if (snapshot?.time == null) this.#retire(read);
        else read.timer = setTimeout(() => this.#retire(read), KEPT_MS).unref();
        read.done.resolve(snapshot);
      } catch (error) {
        this.#retire(read);
        read.done.reject(error);
      }
    });
  }

  /** Null if nobody needs it any more, or if it uses too much memory. */
  async #make(read: SharedRead): Promise<SharedSnapshot | null> {
    const { hub, store, fairYield } = this.#deps;
    const { query } = read;
    const mark = hub.newest;
    read.mark = mark;
    read.turn = hub.turn;
    if (!read.isHeld || !this.#reserve(read, 2 * query.key.length)) return null;
    // Documents that the database returns by mistake are dropped: then its limit would cut off others.
    const mostOfList = query.certain ? MOST_DOCUMENTS + 1 : null;
    const most = query.limit === null ? mostOfList : windowCapacity(query.limit);
    const found = await store.open(query, null, most);
    const batches: (readonly Buffer[])[] = [];
    let count = 0;
    let bytes = 0;
    try {
      for await (const batch of snapshotBatches(found)) {
        const more = batch.reduce((sum, { length }) => sum + length, 0);
        bytes += more;
        count += batch.length;
        if (query.limit === null && count > MOST_DOCUMENTS) throw tooManyDocuments();
        if (!read.isHeld || bytes > MOST_BYTES || !this.#reserve(read, more)) return null;
        batches.push(batch);
      }
    } finally {
      await found.close();
    }
    const parts: SnapshotPart[] = [];
    const members: WindowMember[] = [];
    let created = 0;
    const onMember = (member: WindowMember) => {
      members.push(member);
      created += member.bytes;
    };
    const isObsolete = () => !read.isHeld;
    const lane = fairYield.createTask(read);
    const position = formatPosition(mark);
    for await (const part of renderSnapshot({ query, batches, position, lane, onMember, isObsolete })) {
      parts.push(part);
      created += part.body.length;
      if (!this.#reserve(read, created)) return null;
      created = 0;
    }
    if (isObsolete() || parts.at(-1)?.position == null) return null;
    this.#count(read, -bytes);
    return { mark, time: found.time, parts, members };
  }

  /** Whether it has, with the rows until now, everything up to a cluster time. */
  async #isCurrent({ turn }: SharedRead, { time }: SharedSnapshot, present: Timestamp | null): Promise<boolean> {
    const { hub } = this.#deps;
    if (time === null || present === null) return false;
    if (present.lessThanOrEqual(time)) return turn === hub.turn;
    // Without other writes no row comes, and a new snapshot costs little.
    const isBusy = performance.now() - hub.newestAt < PASSING_MS;
    if (isBusy) await hub.passed(present, PASSING_MS);
    return turn === hub.turn && hub.newest.time?.greaterThanOrEqual(present) === true;
  }

  /** Counts bytes, if there is memory for them. Snapshots that nobody sends are given up for it, the oldest first. */
  #reserve(read: SharedRead, bytes: number): boolean {
    const { budget } = this.#deps;
    const fits = () =>
      this.#bytes + bytes <= budget.bounds.all * BUDGET_SHARE && budget.total + bytes <= budget.bounds.all;
    for (const other of this.#reads.values()) {
      if (fits()) break;
      if (!other.isHeld) this.#retire(other);
    }
    if (!fits()) return false;
    this.#count(read, bytes);
    return true;
  }

  #count(read: SharedRead, bytes: number): void {
    read.bytes += bytes;
    this.#bytes += bytes;
    this.#deps.budget.note(BUDGET_KEY, bytes);
  }
}

export function tooManyDocuments(): MillraceError {
  return new MillraceError(
    'subscription-result-too-large',
    `More than ${MOST_DOCUMENTS.toLocaleString('en')} documents match`,
    {
      hint: 'Add a limit to the query, or a narrower filter',
    },
  );
}
