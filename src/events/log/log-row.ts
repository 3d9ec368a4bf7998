/**
 * A row of the event log, in memory and stored. Documents stay the bytes of the change stream, so that nothing is
 * altered or decoded without need.
 */
import type { Document, Timestamp } from 'mongodb';
import * as bson from '../../database/bson/bson-bytes.ts';
import { removeNamedFields } from '../../database/bson/partial-decode.ts';
import { binaryToBuffer, decodeShallow, decodeSystemBson, requireTimestamp } from '../../database/bson/raw-bson.ts';
import { decodeDocumentMap } from '../../database/bson/stored-document.ts';
import { internalFields } from '../../lib/event-types.ts';

/** Documents above this size are omitted from a row, because a whole row must fit into 16 MB. */
export const MAX_ROW_DOCUMENT_BYTES = 12 * 1024 * 1024;

/** The most rows and bytes of one append; a larger row goes alone. */
const BATCH_ROWS = 2000;
const BATCH_BYTES = 8 * 1024 * 1024;

const OPERATIONS = [
  'insert',
  'update',
  'replace',
  'delete',
  'create',
  'drop',
  'rename',
  'dropDatabase',
  'invalidate',
  'meta',
  'start',
  'gap',
  'reset',
] as const;

export type RowOperation = (typeof OPERATIONS)[number];

export interface LogRow {
  /** Gapless number from 1. */
  readonly number: number;
  readonly epoch: number;
  /** The resume token of the change, upper-case hex. */
  readonly token: string;
  /** Cluster time. */
  readonly time: Timestamp;
  readonly wall: Date;
  readonly operation: RowOperation;
  /** The collection; null for a row that concerns all collections. */
  readonly collection: string | null;
  /** Raw `{_id: …}` of the document. */
  readonly key: Buffer | null;
  /** Raw document after the change; null if there is none or post-images were not enabled. */
  readonly after: Buffer | null;
  readonly before: Buffer | null;
  /** Raw `{updatedFields, removedFields, truncatedArrays}` of an update. */
  readonly update: Buffer | null;
  readonly transaction: { readonly id: string; readonly index: number; readonly last: boolean } | null;
  /** The actor, as `user:u1`; null if the change did not come through this server. */
  readonly by: string | null;
  /** Request id. */
  readonly request: string | null;
  /** True if the documents were too large for a row. */
  readonly big: boolean;
  /** A renamed collection's new name; an end of a gap as text. */
  readonly to: string | null;
  /** The other end of a gap. */
  readonly from: string | null;
}

/** A row with all optional fields empty. */
export const LOG_ROW_DEFAULTS = {
  collection: null,
  key: null,
  after: null,
  before: null,
  update: null,
  transaction: null,
  by: null,
  request: null,
  big: false,
  to: null,
  from: null,
} as const;

/** Approximate memory of a row: its documents and a fixed size for the rest. */
export function logRowBytes(row: LogRow): number {
  return 400 + (row.key?.length ?? 0) + rowDocumentBytes(row);
}

/** Approximate memory of a row in bytes, including the document that is read for it if its own were too large. */
export function rowBytesWithDocument(row: LogRow): number {
  return logRowBytes(row) + (row.big ? MAX_ROW_DOCUMENT_BYTES : 0);
}

/** The first rows that fit into this many bytes of memory; at least one row. */
export function limitRowsByBytes(rows: LogRow[], bytes: number): LogRow[] {
  let held = 0;
  const end = rows.findIndex((row) => {
    held += rowBytesWithDocument(row);
    return held > bytes;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}

/** Bytes of a row's documents. */
export function rowDocumentBytes(row: Pick<LogRow, 'after' | 'before' | 'update'>): number {
  return (row.after?.length ?? 0) + (row.before?.length ?? 0) + (row.update?.length ?? 0);
}

/** A state of a document without the fields that no event has; null if its bytes are damaged. */
export function withoutInternalFields(collection: string | null, state: Buffer | null): Buffer | null {
  const internal = internalFields(collection);
  if (state === null || internal.size === 0) return state;
  try {
    return removeNamedFields(state, internal);
  } catch {
    // Any program may have written the bytes. Reading the log must not stop.
    return null;
  }
}

/** The stored form. Empty fields are omitted. */
export function encodeLogRow(row: LogRow): Document {
  const { transaction } = row;
  const stored: Document = {
    _id: BigInt(row.number),
    e: row.epoch,
    tk: Buffer.from(row.token, 'hex'),
    t: row.time,
    w: row.wall,
    op: row.operation,
  };
  const rest = {
    c: row.collection,
    k: row.key && decodeDocumentMap(row.key),
    a: row.after,
    b: row.before,
    u: row.update,
    x: transaction && { id: transaction.id, i: transaction.index, ...(transaction.last ? { z: true } : {}) },
    by: row.by,
    rid: row.request,
    big: row.big || null,
    to: row.to,
    from: row.from,
  };
  for (const [name, value] of Object.entries(rest)) if (value !== null) stored[name] = value;
  return stored;
}

/** The stored forms of rows, one after the other: the bytes of {@link encodeLogRow}, written without making objects. */
export function writeLogRows(rows: readonly LogRow[]): Buffer {
  let most = 0;
  for (const row of rows) most += logRowBytes(row) + longestTextBytes(row);
  const target = Buffer.allocUnsafe(most);
  let at = 0;
  for (const row of rows) at = writeLogRow(target, at, row);
  return target.subarray(0, at);
}

/** Rows in batches for one append each, encoded when they are requested. */
export function* encodedBatches(rows: readonly LogRow[]): Generator<{ rows: LogRow[]; bytes: Buffer }, undefined> {
  let batch: LogRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = logRowBytes(row);
    if (batch.length > 0 && (batch.length >= BATCH_ROWS || bytes + size > BATCH_BYTES)) {
      yield { rows: batch, bytes: writeLogRows(batch) };
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield { rows: batch, bytes: writeLogRows(batch) };
}

/** An upper limit for the texts of a row in UTF-8. */
function longestTextBytes({ token, collection, transaction, by, request, to, from }: LogRow): number {
  let characters = token.length + (transaction?.id.length ?? 0);
  for (const text of [collection, by, request, to, from]) characters += text?.length ?? 0;
  return 3 * characters;
}

function writeLogRow(target: Buffer, start: number, row: LogRow): number {
  const { transaction } = row;
  let at = writeFieldHead(target, start + 4, bson.INT64, '_id');
  at = writeInt64(target, at, row.number);
  at = writeNumberField(target, at, 'e', row.epoch);
  at = writeFieldHead(target, at, bson.BINARY, 'tk');
  const tokenBytes = target.write(row.token, at + 5, 'hex');
  at = target.writeInt32LE(tokenBytes, at);
  at = target.writeUInt8(0, at) + tokenBytes;
  at = writeFieldHead(target, at, bson.TIMESTAMP, 't');
  at = target.writeInt32LE(row.time.low | 0, at);
  at = target.writeInt32LE(row.time.high | 0, at);
  at = writeFieldHead(target, at, bson.DATE, 'w');
  at = writeInt64(target, at, row.wall.getTime());
  at = writeTextField(target, at, 'op', row.operation);
  if (row.collection !== null) at = writeTextField(target, at, 'c', row.collection);
  if (row.key !== null) at = writeBytes(target, writeFieldHead(target, at, bson.DOCUMENT, 'k'), row.key);
  if (row.after !== null) at = writeBinaryField(target, at, 'a', row.after);
  if (row.before !== null) at = writeBinaryField(target, at, 'b', row.before);
  if (row.update !== null) at = writeBinaryField(target, at, 'u', row.update);
  if (transaction !== null) {
    const inner = writeFieldHead(target, at, bson.DOCUMENT, 'x');
    at = writeTextField(target, inner + 4, 'id', transaction.id);
    at = writeNumberField(target, at, 'i', transaction.index);
    if (transaction.last) at = target.writeUInt8(1, writeFieldHead(target, at, bson.BOOLEAN, 'z'));
    at = endDocument(target, inner, at);
  }
  if (row.by !== null) at = writeTextField(target, at, 'by', row.by);
  if (row.request !== null) at = writeTextField(target, at, 'rid', row.request);
  if (row.big) at = target.writeUInt8(1, writeFieldHead(target, at, bson.BOOLEAN, 'big'));
  if (row.to !== null) at = writeTextField(target, at, 'to', row.to);
  if (row.from !== null) at = writeTextField(target, at, 'from', row.from);
  return endDocument(target, start, at);
}

/** A whole number that JavaScript has exactly; a BigInt would cost more than the rest of the row. */
function writeInt64(target: Buffer, start: number, value: number): number {
  const high = Math.floor(value / 2 ** 32);
  return target.writeInt32LE(high, target.writeUInt32LE(value - high * 2 ** 32, start));
}

function writeFieldHead(target: Buffer, start: number, type: number, name: string): number {
  target[start] = type;
  for (let index = 0; index < name.length; index++) target[start + 1 + index] = name.charCodeAt(index);
  target[start + 1 + name.length] = 0;
  return start + 2 + name.length;
}

function writeNumberField(target: Buffer, start: number, name: string, value: number): number {
  if ((value | 0) === value) return target.writeInt32LE(value, writeFieldHead(target, start, bson.INT32, name));
  return target.writeDoubleLE(value, writeFieldHead(target, start, bson.DOUBLE, name));
}

function writeTextField(target: Buffer, start: number, name: string, value: string): number {
  const at = writeFieldHead(target, start, bson.STRING, name);
  const length = target.write(value, at + 4, 'utf8');
  target.writeInt32LE(length + 1, at);
  target[at + 4 + length] = 0;
  return at + 5 + length;
}

function writeBinaryField(target: Buffer, start: number, name: string, value: Buffer): number {
  const at = target.writeInt32LE(value.length, writeFieldHead(target, start, bson.BINARY, name));
  target[at] = 0;
  return writeBytes(target, at + 1, value);
}

function writeBytes(target: Buffer, start: number, bytes: Buffer): number {
  target.set(bytes, start);
  return start + bytes.length;
}

function endDocument(target: Buffer, start: number, end: number): number {
  target[end] = 0;
  target.writeInt32LE(end + 1 - start, start);
  return end + 1;
}

/** Reads a stored row. Throws TypeError if the bytes are not a row. */
export function decodeLogRow(bytes: Uint8Array): LogRow {
  const stored = decodeShallow(bytes);
  const operation = OPERATIONS.find((one) => one === stored['op']);
  const token = binaryToBuffer(stored['tk']);
  if (operation === undefined || token === null) throw new TypeError(`Row ${String(stored['_id'])} cannot be read`);
  const transaction = stored['x'] instanceof Uint8Array ? decodeSystemBson(stored['x']) : null;
  const collection = text(stored['c']);
  return {
    number: Number(stored['_id']),
    epoch: Number(stored['e']),
    token: token.toString('hex').toUpperCase(),
    time: requireTimestamp(stored['t']),
    wall: stored['w'] instanceof Date ? stored['w'] : new Date(0),
    operation,
    collection,
    key: binaryToBuffer(stored['k']),
    // Rows of earlier versions were not cut.
    after: withoutInternalFields(collection, binaryToBuffer(stored['a'])),
    before: withoutInternalFields(collection, binaryToBuffer(stored['b'])),
    update: binaryToBuffer(stored['u']),
    transaction: transaction && {
      id: String(transaction['id']),
      index: Number(transaction['i']),
      last: transaction['z'] === true,
    },
    by: text(stored['by']),
    request: text(stored['rid']),
    big: stored['big'] === true,
    to: text(stored['to']),
    from: text(stored['from']),
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
