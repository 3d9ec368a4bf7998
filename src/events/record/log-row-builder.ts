/**
 * Turns changes into numbered rows: the actor, the transaction and whether it ends here, changes that are too large,
 * and changes that make no row. It holds the last row of a transaction back until it knows whether another one follows.
 * It reads no clock and no database: two instances with the same stream produce the same rows.
 */
import * as bson from '../../database/bson/bson-bytes.ts';
import { survivesRoundTrip } from '../../database/bson/stored-document.ts';
import type { StreamChange } from '../../database/cursors/stream-change.ts';
import {
  LOG_ROW_DEFAULTS,
  type LogRow,
  MAX_ROW_DOCUMENT_BYTES,
  type RowOperation,
  rowDocumentBytes,
  withoutInternalFields,
} from '../log/log-row.ts';
import { updatedPaths } from '../log/updated-paths.ts';

/** How many stamps of documents about to be deleted are remembered. */
const STAMP_LIMIT = 10_000;

const SAME: ReadonlyMap<string, RowOperation> = new Map(
  (['insert', 'update', 'replace', 'delete', 'create', 'drop', 'rename', 'dropDatabase', 'invalidate'] as const).map(
    (name) => [name, name],
  ),
);

export class LogRowBuilder {
  #number: number;
  readonly #epoch: number;
  #transaction: { id: string; index: number } | null;
  #held: LogRow | null = null;
  /** Requests that stamped a document before deleting it, by document. */
  readonly #stamps = new Map<string, string>();

  /** Starts after the newest row of the log. */
  constructor(newest: Pick<LogRow, 'number' | 'epoch' | 'transaction'>) {
    this.#number = newest.number;
    this.#epoch = newest.epoch;
    this.#transaction = newest.transaction && { ...newest.transaction };
  }

  /** Whether a row is held back. No later resume token may be stored before that row is written. */
  get holding(): boolean {
    return this.#held !== null;
  }

  /**
   * The rows of the next changes.
   * @param ended true if no further changes exist at present: then an open transaction ends here
   */
  rows(changes: readonly StreamChange[], ended: boolean): LogRow[] {
    const rows: LogRow[] = [];
    for (const change of changes) {
      if (this.#held !== null && change.transaction !== this.#held.transaction?.id) this.#release(rows, true);
      if (!this.#counts(change)) continue;
      this.#release(rows, false);
      const row = this.#row(change);
      if (row.transaction === null) rows.push(row);
      else this.#held = row;
    }
    if (ended) this.#release(rows, true);
    return rows;
  }

  #release(rows: LogRow[], last: boolean): void {
    const held = this.#held;
    if (held?.transaction) rows.push({ ...held, transaction: { ...held.transaction, last } });
    this.#held = null;
  }

  #counts(change: StreamChange): boolean {
    if (change.operation === 'delete' && change.collection === '_activity') return false;
    if (change.operation !== 'update' || !touchesMetaAlone(change)) return true;
    const { request } = meta(change.after);
    if (request !== null && paths(change).some((path) => path === '_meta' || path === '_meta.request')) {
      if (this.#stamps.size >= STAMP_LIMIT) this.#stamps.delete(this.#stamps.keys().next().value ?? '');
      this.#stamps.set(position(change), request);
    }
    return false;
  }

  #row(change: StreamChange): LogRow {
    this.#number += 1;
    if (change.transaction === null) this.#transaction = null;
    else if (this.#transaction?.id === change.transaction) this.#transaction.index += 1;
    else this.#transaction = { id: change.transaction, index: 0 };
    const known = change.key === null || survivesRoundTrip(change.key);
    const big = change.big || rowDocumentBytes(change) > MAX_ROW_DOCUMENT_BYTES;
    return {
      ...LOG_ROW_DEFAULTS,
      number: this.#number,
      epoch: this.#epoch,
      token: change.token,
      time: change.time,
      wall: change.wall,
      operation: SAME.get(change.operation) ?? 'meta',
      collection: change.collection,
      // Without a key the row says that something in the collection changed, and readers read the collection again.
      ...(known ? { key: change.key } : {}),
      ...(big || !known ? {} : { ...statesOf(change), update: change.update }),
      transaction: this.#transaction && { ...this.#transaction, last: false },
      ...this.#author(change),
      big: big && known,
      to: change.to,
    };
  }

  /** The actor: taken from the stamp in the document, only if this very write made the stamp. */
  #author(change: StreamChange): { by: string | null; request: string | null } {
    const after = meta(change.after);
    const before = meta(change.before);
    if (change.operation === 'delete') {
      const stamp = this.#stamps.get(position(change));
      this.#stamps.delete(position(change));
      return stamp !== undefined && stamp === before.request ? author(before) : NOBODY;
    }
    const known = change.before !== null || change.operation === 'insert' || movesRevision(change);
    return known && after.revision !== null && after.revision !== before.revision ? author(after) : NOBODY;
  }
}

function statesOf({ collection, after, before }: StreamChange): Pick<LogRow, 'after' | 'before'> {
  return { after: withoutInternalFields(collection, after), before: withoutInternalFields(collection, before) };
}

const UNMARKED = { by: null, request: null, revision: null } as const;

const NOBODY = { by: null, request: null } as const;

const author = ({ by, request }: Meta) => ({ by, request });

interface Meta {
  readonly by: string | null;
  readonly request: string | null;
  readonly revision: string | null;
}

const META = Buffer.from('_meta');
const BY = Buffer.from('by');
const REQUEST = Buffer.from('request');
const REVISION = Buffer.from('revision');

function meta(document: Buffer | null): Meta {
  return (document && attempted(() => readMeta(document))) ?? UNMARKED;
}

/** Decodes only the three fields: decoding all of `_meta` takes four times as long. */
function readMeta(document: Buffer): Meta {
  const found = bson.findFieldValue(document, 0, document.length, META);
  if (!found || found.type !== bson.DOCUMENT) return UNMARKED;
  const field = (name: Buffer) => bson.findFieldValue(document, found.start, found.end, name);
  const text = (name: Buffer) => {
    const one = field(name);
    return one?.type === bson.STRING ? document.toString('utf8', one.start + 4, one.end - 1) : null;
  };
  const revision = field(REVISION);
  return { by: text(BY), request: text(REQUEST), revision: revision && revisionOf(document, revision) };
}

/** A revision as text, so that any two can be compared: other programs may write it with any type. */
function revisionOf(document: Buffer, { type, start, end }: bson.ValueOffsets): string {
  if (type === bson.INT32) return String(document.readInt32LE(start));
  if (type === bson.INT64) return String(document.readBigInt64LE(start));
  if (type === bson.DOUBLE) return String(document.readDoubleLE(start));
  return `${type}:${document.toString('hex', start, end)}`;
}

function paths({ update }: StreamChange): string[] {
  return (update && attempted(() => updatedPaths(update))) ?? [];
}

function touchesMetaAlone(change: StreamChange): boolean {
  const touched = paths(change);
  return touched.length > 0 && touched.every((path) => path === '_meta' || path.startsWith('_meta.'));
}

function movesRevision(change: StreamChange): boolean {
  return paths(change).some((path) => path === '_meta' || path === '_meta.revision');
}

/** The result, or null if it cannot be read: any program may have written the bytes, and recording must not stop. */
function attempted<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function position(change: StreamChange): string {
  return `${change.collection}\0${change.key?.toString('latin1')}`;
}
