/**
 * One entry of a MongoDB change stream, cut from a reply's bytes in one pass: its documents stay raw BSON, and no object
 * is made of them. Fragments of a split entry are joined here.
 */
import { BSON, type Timestamp } from 'mongodb';
import * as bson from '../bson/bson-bytes.ts';
import { decodeSystemBson } from '../bson/raw-bson.ts';

export interface StreamChange {
  /** Resume token as upper-case hex. The tokens of one stream, compared as strings, have the order of their changes. */
  readonly token: string;
  /** MongoDB's operation type, such as `insert` or `createIndexes`. */
  readonly operation: string;
  readonly time: Timestamp;
  readonly wall: Date;
  /** Name of the collection; null for a change of the whole database. */
  readonly collection: string | null;
  /** New name of a renamed collection. */
  readonly to: string | null;
  /** Raw `{_id: …}` of the document. */
  readonly key: Buffer | null;
  readonly after: Buffer | null;
  readonly before: Buffer | null;
  /** Raw `{updatedFields, removedFields, truncatedArrays}`. */
  readonly update: Buffer | null;
  /** True if the documents were omitted because they are too large. */
  readonly big: boolean;
  /** Identifies the database transaction of the change; null outside of one. */
  readonly transaction: string | null;
}

/** The fields of one entry or fragment; null for a field that it does not have. */
interface ChangeEntry {
  token: string | null;
  operation: string | null;
  time: Timestamp | null;
  wall: Date | null;
  collection: string | null;
  to: string | null;
  key: Buffer | null;
  after: Buffer | null;
  before: Buffer | null;
  update: Buffer | null;
  /** The number of a fragment and the number of all; null for an entry that was not split. */
  split: { readonly fragment: number; readonly of: number } | null;
  session: string | null;
  transaction: string | null;
}

const DATA = Buffer.from('_data');
const COLLECTION = Buffer.from('coll');

/** Cuts one entry; embedded documents are parts of the given bytes. */
export function readChangeEntry(bytes: Buffer): ChangeEntry {
  const entry: ChangeEntry = {
    token: null,
    operation: null,
    time: null,
    wall: null,
    collection: null,
    to: null,
    key: null,
    after: null,
    before: null,
    update: null,
    split: null,
    session: null,
    transaction: null,
  };
  const end = bson.documentEnd(bytes, 0, bytes.length);
  for (let at = 4; at < end; ) {
    const type = bytes[at] ?? 0;
    const nameEnd = bson.fieldNameEnd(bytes, at + 1, end);
    const start = nameEnd + 1;
    const after = bson.valueEnd(bytes, type, start, end);
    readField(entry, bytes, bytes.toString('latin1', at + 1, nameEnd), { type, start, end: after });
    at = after;
  }
  return entry;
}

function readField(entry: ChangeEntry, bytes: Buffer, name: string, value: bson.ValueOffsets): void {
  const { type, start, end } = value;
  if (type === bson.STRING) {
    if (name === 'operationType') entry.operation = text(bytes, value);
  } else if (type === bson.TIMESTAMP) {
    const [i, t] = [bytes.readUInt32LE(start), bytes.readUInt32LE(start + 4)];
    if (name === 'clusterTime') entry.time = new BSON.Timestamp({ t, i });
  } else if (type === bson.DATE) {
    if (name === 'wallTime') entry.wall = new Date(bytes.readInt32LE(start + 4) * 2 ** 32 + bytes.readUInt32LE(start));
  } else if (name === 'txnNumber') {
    entry.transaction = String(type === bson.INT32 ? bytes.readInt32LE(start) : bytes.readBigInt64LE(start));
  } else if (type === bson.DOCUMENT) {
    if (name === 'fullDocument') entry.after = bytes.subarray(start, end);
    else if (name === 'fullDocumentBeforeChange') entry.before = bytes.subarray(start, end);
    else if (name === 'documentKey') entry.key = bytes.subarray(start, end);
    else if (name === 'updateDescription') entry.update = bytes.subarray(start, end);
    else if (name === '_id') entry.token = textOf(bytes, value, DATA);
    else if (name === 'ns') entry.collection = textOf(bytes, value, COLLECTION);
    else if (name === 'to') entry.to = textOf(bytes, value, COLLECTION);
    else if (name === 'lsid') entry.session = String(decodeSystemBson(bytes.subarray(start, end))['id']);
    else if (name === 'splitEvent') {
      const split = decodeSystemBson(bytes.subarray(start, end));
      entry.split = { fragment: Number(split['fragment']), of: Number(split['of']) };
    }
  }
}

/** Makes a change from an entry, or from all fragments of an entry in their order. */
export function toStreamChange(fragments: readonly ChangeEntry[]): StreamChange {
  const entry = joined(fragments);
  if (entry.token === null) throw new TypeError('The change stream returned no resume token');
  if (entry.time === null) throw new TypeError('A cluster time is missing');
  return {
    token: entry.token,
    operation: entry.operation ?? 'unknown',
    time: entry.time,
    wall: entry.wall ?? new Date(0),
    collection: entry.collection,
    to: entry.to,
    key: entry.key,
    after: entry.after,
    before: entry.before,
    update: entry.update,
    big: false,
    transaction: entry.session === null ? null : `${entry.session}:${entry.transaction}`,
  };
}

function joined(fragments: readonly ChangeEntry[]): ChangeEntry {
  const [first] = fragments;
  if (first === undefined) throw new TypeError('A change has no entry');
  if (fragments.length === 1) return first;
  const present = (fragment: ChangeEntry) => Object.entries(fragment).filter(([, value]) => value !== null);
  return Object.assign({ ...first }, ...fragments.map((fragment) => Object.fromEntries(present(fragment))));
}

function textOf(bytes: Buffer, { start, end }: bson.ValueOffsets, name: Buffer): string | null {
  const value = bson.findFieldValue(bytes, start, end, name);
  return value?.type === bson.STRING ? text(bytes, value) : null;
}

function text(bytes: Buffer, { start, end }: bson.ValueOffsets): string {
  return bytes.toString('utf8', start + 4, end - 1);
}
