/**
 * Writes to all documents that a filter finds, in one transaction: all of them change, or none. The client says how
 * many documents there may be, and this file bounds that number. Not here: what a change is (patch-request.ts) and how
 * a request asks for it (write-operations.ts).
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { stampBy } from '../auth/identity/principal.ts';
import { decodeStored, decodeStoredId, readStored } from '../database/bson/stored.ts';
import { duplicateKey, translateError } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/names.ts';
import { inTurns } from '../kernel/concurrency/pauses.ts';
import { MillraceError } from '../kernel/errors.ts';
import { grantsInTurns } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import type { Match } from '../query/evaluate/match.ts';
import type { OpenFilter } from '../query/filter.ts';
import type { Atomic } from './atomic.ts';
import type { DocumentChange } from './change/change.ts';
import type { WriteOrigin } from './change/next-document.ts';
import { permittedChange } from './change/permitted-change.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { writingFilter, writingMatch } from './read/listing.ts';
import { duplicate, notAvailable } from './refusals.ts';
import type { Registry } from './registry.ts';
import { type Hooked, seenChanges, seenRemovals } from './seen-writes.ts';
import type { DocumentStore } from './store/store.ts';
import { type StoredChange, storedChange } from './store/stored-change.ts';
import type { Write } from './write.ts';
import type { WriteAction, WriteHooks } from './write-hooks.ts';

/** Documents that one transaction touches by filters. */
const MAX_AFFECTED = 10_000;
/**
 * Size of those documents in bytes. The database keeps a transaction in its cache until it ends. A transaction that
 * does not fit there fails with a conflict although no other one touches its documents, and every repetition fails in
 * the same way. This much fits the embedded server (decisions/0004).
 */
const MAX_BYTES = 24 * 1024 * 1024;
/** Bytes of documents from which a transaction is large: those run one at a time (atomic.ts). */
const LARGE_BYTES = 1024 * 1024;

export interface Affected {
  readonly matched: number;
  /** Those that are now other than they were. */
  readonly modified: number;
}

/** Which documents, and how many of them at most. */
export interface BulkTarget {
  readonly filter: OpenFilter;
  readonly maxAffected: number;
}

export interface BulkWritesParts {
  readonly store: DocumentStore;
  readonly registry: Registry;
  readonly atomic: Atomic;
  /** What sees writes before they are made, if anything does. */
  readonly hooks?: WriteHooks | undefined;
  readonly now?: () => Date;
}

export class BulkWrites {
  readonly #parts: BulkWritesParts;

  constructor(parts: BulkWritesParts) {
    this.#parts = parts;
  }

  /**
   * Changes every document that the filter finds; each new state must be within the Scope too. The filter may use
   * readable fields only and finds readable documents only: otherwise the count would reveal something about the
   * others.
   * @throws MillraceError `too-many-affected`, `resource-not-available`, `overloaded` when too many large writes wait,
   *   and what the change throws
   */
  patch(
    scope: Scope<'update'>,
    name: CollectionName,
    asked: BulkTarget,
    change: DocumentChange,
    write: Write,
  ): Promise<Affected> {
    const { store } = this.#parts;
    const now = this.#now();
    const origin = { principal: scope.principal, request: write.request, now };
    const hooked = this.#hooked(scope, name, origin);
    const blame = (error: unknown, raw: Uint8Array) => ofDocument(scope.reader, readStored(raw), error);
    return this.#within(scope, name, asked, write, now, async (ids, within) => {
      const { session } = within;
      let modified = 0;
      // A batch of the cursor is at most 16 MB, whatever the number of documents.
      for await (const batch of store.within(session).byIds(name, ids)) {
        const seen = hooked === null ? null : await seenChanges(scope, change, batch, { ...hooked, within }, blame);
        const changes: StoredChange[] = [];
        for (const [index, raw] of batch.entries()) {
          const old = decodeStored(raw);
          const permitted = () => permittedChange(scope, change, old, origin);
          const next = seen?.[index] ?? (await inDocument(scope.reader, old, permitted));
          changes.push(storedChange(raw, old, next, change.kind));
          // One change may take as long as one whole request, so other requests get their turn between any two changes.
          await otherWork();
        }
        modified += changes.filter(({ unchanged }) => !unchanged).length;
        try {
          await store.replaceMany(name, changes, session);
        } catch (error) {
          throw duplicateKey(error) ? duplicate(error, undefined) : translateError(error);
        }
      }
      return modified;
    });
  }

  /**
   * Deletes every document that the filter finds.
   * @throws MillraceError `too-many-affected`, `resource-not-available`, `overloaded` when too many large writes wait
   */
  remove(scope: Scope<'delete'>, name: CollectionName, asked: BulkTarget, write: Write): Promise<Affected> {
    const { store } = this.#parts;
    const now = this.#now();
    const stamp = stampBy(scope, write.request);
    const hooked = this.#hooked(scope, name, { principal: scope.principal, request: write.request, now });
    const blame = (error: unknown, raw: Uint8Array) => ofDocument(scope.reader, readStored(raw), error);
    return this.#within(scope, name, asked, write, now, async (ids, within) => {
      if (hooked !== null) {
        for await (const batch of store.within(within.session).byIds(name, ids)) {
          await seenRemovals(batch, { ...hooked, within }, blame);
        }
      }
      await store.removeMany(name, ids, stamp, within.session);
      return ids.length;
    });
  }

  #within(
    scope: Scope<'update' | 'delete'>,
    name: CollectionName,
    asked: BulkTarget,
    write: Write,
    now: Date,
    work: (ids: readonly unknown[], within: OpenTransaction) => Promise<number>,
  ): Promise<Affected> {
    const { store, registry, atomic } = this.#parts;
    const filter = writingFilter(scope, asked, now);
    const match = writingMatch(scope, asked, now);
    return atomic.run(async (within) => {
      const most = Math.min(asked.maxAffected, MAX_AFFECTED - within.touched);
      const { ids: found, bytes } = await store.ids(name, filter, most + 1, within.session);
      if (found.length > most) throw tooMany(asked.maxAffected);
      const ids = match === null ? found : await this.#matching(name, found, match, within);
      if (ids.length === 0 && !within.made.has(name) && !(await registry.exists(name))) throw notAvailable(name);
      within.touched += ids.length;
      within.bytes += bytes;
      if (within.bytes > MAX_BYTES) throw tooLarge();
      if (within.bytes > LARGE_BYTES && !within.large) {
        within.needsTurn = true;
        throw new MillraceError('overloaded', 'A large write waits for its turn');
      }
      return { matched: ids.length, modified: ids.length > 0 ? await work(ids, within) : 0 };
    }, write.within);
  }

  /** Those of the found documents that really match: the database may have found too many. */
  async #matching(
    name: CollectionName,
    found: readonly unknown[],
    match: Match,
    { session }: OpenTransaction,
  ): Promise<readonly unknown[]> {
    const ids: unknown[] = [];
    for await (const batch of this.#parts.store.within(session).byIds(name, found)) {
      for (const raw of batch) {
        if (await inTurns(() => match(readStored(raw)))) ids.push(decodeStoredId(raw));
        await otherWork();
      }
    }
    return ids;
  }

  #hooked(scope: Scope<WriteAction>, name: CollectionName, origin: WriteOrigin): Omit<Hooked, 'within'> | null {
    const hooks = this.#parts.hooks?.of(name, scope.action) ?? null;
    return hooks === null ? null : { hooks, collection: name, action: scope.action, origin };
  }

  #now(): Date {
    return this.#parts.now?.() ?? new Date();
  }
}

function tooLarge(): MillraceError {
  const most = MAX_BYTES / 1024 / 1024;
  return new MillraceError(
    'too-many-affected',
    `The documents are larger than ${most} MiB together; none was changed`,
    {
      hint: 'Narrow the filter, and write them in smaller parts',
    },
  );
}

function tooMany(maxAffected: number): MillraceError {
  const most = Math.min(maxAffected, MAX_AFFECTED);
  return new MillraceError('too-many-affected', `The filter finds more than ${most} documents; none was changed`, {
    hint: maxAffected < MAX_AFFECTED ? 'Raise max-affected, or narrow the filter' : `At most ${MAX_AFFECTED} at once`,
  });
}

async function inDocument<T>(reader: Scope<'read'> | null, old: Document, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw await ofDocument(reader, old, error);
  }
}

/**
 * Puts the id of the document at fault into an error, because one document can stop all the changes. The id is named
 * only if the reader's Scope may read that document.
 */
async function ofDocument(reader: Scope<'read'> | null, old: Document, error: unknown): Promise<unknown> {
  if (!(error instanceof MillraceError) || reader === null) return error;
  if ((await grantsInTurns(reader, old)).length === 0) return error;
  return error.with({ message: `Document '${idText(old['_id'])}': ${error.message}` });
}
