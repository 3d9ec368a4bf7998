/**
 * Maintains the counts of quotas: a reader of the event log adds creations and subtracts deletions, by any program.
 * Where the log is not sufficient, because rows are missing or a whole collection was dropped or renamed, it recounts
 * everything.
 */
import type { Timestamp } from 'mongodb';
import * as bson from '../database/bson/bson-bytes.ts';
import { isCollectionName } from '../database/parse-collection-name.ts';
import type { CountedPosition, QuotaAmounts, QuotaCountState, QuotaDelta, QuotaStore } from './quota-store.ts';

const FILES = '_files';
/**
 * Some changes are missing in the log, such as the deletion of a document that was too large for a row. A full count
 * each day corrects that.
 */
const RECOUNT_MS = 24 * 3_600_000;

/** The fields of a row of the event log that are read here. */
export interface QuotaLogRow extends CountedPosition {
  readonly time: Timestamp;
  readonly operation: string;
  readonly collection: string | null;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly request: string | null;
}

/** After these operations the counts are unknown. */
const UNKNOWN: ReadonlySet<string> = new Set(['dropDatabase', 'invalidate', 'start', 'gap', 'reset']);

export class QuotaCounter {
  readonly #store: QuotaStore;
  readonly #now: () => number;
  #state: QuotaCountState | null = null;

  constructor(store: QuotaStore, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** The options of the counter's durable reader of the event log. */
  reading(): {
    readonly name: string;
    readonly begin: QuotaCounter['begin'];
    readonly handle: QuotaCounter['count'];
  } {
    return {
      name: 'quotas',
      begin: (cursor) => this.begin(cursor),
      handle: (rows, allowed) => this.count(rows, allowed),
    };
  }

  /**
   * Called when this process becomes the counter, before its first rows.
   * @param cursor the row before the first one that it gets
   */
  async begin(cursor: CountedPosition): Promise<void> {
    this.#state = await this.#store.state();
    const state = this.#state;
    if (state !== null && state.epoch === cursor.epoch && state.number >= cursor.number) return;
    this.#state = await this.#store.recount(cursor);
  }

  /**
   * Counts rows of the log, in their order; skips rows that are already counted.
   * @param allowed whether this process is still the counter
   */
  async count(rows: readonly QuotaLogRow[], allowed: () => boolean): Promise<void> {
    const state = this.#state;
    const fresh = rows.filter(({ epoch, number }) => epoch !== state?.epoch || number > state.number);
    const last = fresh.at(-1);
    if (last === undefined || !allowed()) return;
    const position = { epoch: last.epoch, number: last.number };
    if (state === null || this.#mustRecount(fresh, state)) {
      this.#state = await this.#store.recount(position);
      return;
    }
    await this.#store.add(deltasOf(fresh.filter(({ time }) => time.greaterThan(state.time))));
    await this.#store.advancePosition(position);
    this.#state = { ...state, ...position };
  }

  #mustRecount(rows: readonly QuotaLogRow[], state: QuotaCountState): boolean {
    const [first] = rows;
    if (first?.epoch !== state.epoch || first.number !== state.number + 1) return true;
    if (this.#now() - state.countedAt.getTime() > RECOUNT_MS) return true;
    return rows.some(({ operation, collection, time }) => {
      if (!time.greaterThan(state.time)) return false;
      const whole = operation === 'drop' || operation === 'rename';
      return UNKNOWN.has(operation) || (whole && collectionCountsTowardQuota(collection));
    });
  }
}

/** Whether the documents of a collection count, as documents or as files. */
export function collectionCountsTowardQuota(collection: string | null): boolean {
  return collection !== null && (collection === FILES || isCollectionName(collection));
}

function deltasOf(rows: readonly QuotaLogRow[]): Map<string, QuotaDelta[]> {
  const deltas = new Map<string, QuotaDelta[]>();
  const add = (document: Buffer | null, sign: 1 | -1, { collection, number }: QuotaLogRow) => {
    const creator = document === null ? null : creatorOf(document);
    if (document === null || creator === null) return;
    const own = deltas.get(creator) ?? [];
    own.push({ number, ...amountsOf(collection === FILES, document, sign) });
    deltas.set(creator, own);
  };
  for (const row of rows) {
    if (!collectionCountsTowardQuota(row.collection)) continue;
    const { operation, before, after } = row;
    if (operation === 'insert') add(after, 1, row);
    else if (operation === 'delete') add(before, -1, row);
    else if (before !== null && after !== null && creatorOf(before) !== creatorOf(after)) {
      // Another program has changed the document's creator.
      add(before, -1, row);
      add(after, 1, row);
    }
  }
  return deltas;
}

function amountsOf(isFile: boolean, document: Buffer, sign: 1 | -1): QuotaAmounts {
  if (!isFile) return { documents: sign, files: 0, bytes: 0 };
  return { documents: 0, files: sign, bytes: sign * sizeOf(document) };
}

const META = Buffer.from('_meta');
const CREATED_BY = Buffer.from('createdBy');
const SIZE = Buffer.from('size');

/** The id of the principal that created a document, read from its bytes; null if no principal did. */
function creatorOf(document: Buffer): string | null {
  const meta = bson.findFieldValue(document, 0, document.length, META);
  if (meta?.type !== bson.DOCUMENT) return null;
  const found = bson.findFieldValue(document, meta.start, meta.end, CREATED_BY);
  return found?.type === bson.STRING ? document.toString('utf8', found.start + 4, found.end - 1) : null;
}

function sizeOf(document: Buffer): number {
  const found = bson.findFieldValue(document, 0, document.length, SIZE);
  if (found?.type === bson.INT32) return document.readInt32LE(found.start);
  if (found?.type === bson.INT64) return Number(document.readBigInt64LE(found.start));
  return found?.type === bson.DOUBLE ? document.readDoubleLE(found.start) : 0;
}
