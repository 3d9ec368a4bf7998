/**
 * One entry of a MongoDB change stream, read from a reply's bytes; its documents stay raw BSON. Fragments of a split
 * entry are joined here.
 */
import type { Timestamp } from 'mongodb';
import { binaryToBuffer, decodeShallow, decodeSystemBson, requireTimestamp } from '../bson/raw-bson.ts';

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

type RawEntry = Record<string, unknown>;

/** Reads one entry shallowly: embedded documents stay bytes. */
export const readChangeEntry: (bytes: Uint8Array) => RawEntry = decodeShallow;

/** The number of a fragment and the number of all; null for an entry that was not split. */
export function changeEntryFragment(entry: RawEntry): { fragment: number; of: number } | null {
  const split = decoded(entry['splitEvent']);
  return split === null ? null : { fragment: Number(split['fragment']), of: Number(split['of']) };
}

/** Makes a change from an entry, or from all fragments of an entry in their order. */
export function toStreamChange(fragments: readonly RawEntry[]): StreamChange {
  const entry: RawEntry = Object.assign({}, ...fragments);
  const session = decoded(entry['lsid']);
  return {
    token: tokenText(entry['_id']),
    operation: String(entry['operationType']),
    time: requireTimestamp(entry['clusterTime']),
    wall: entry['wallTime'] instanceof Date ? entry['wallTime'] : new Date(0),
    collection: textField(decoded(entry['ns']), 'coll'),
    to: textField(decoded(entry['to']), 'coll'),
    key: binaryToBuffer(entry['documentKey']),
    after: binaryToBuffer(entry['fullDocument']),
    before: binaryToBuffer(entry['fullDocumentBeforeChange']),
    update: binaryToBuffer(entry['updateDescription']),
    big: false,
    transaction: session === null ? null : `${String(session['id'])}:${String(entry['txnNumber'])}`,
  };
}

/** The text of a resume token, which is raw `{_data: "82…"}`. Throws TypeError if it is not a token. */
function tokenText(token: unknown): string {
  const text = textField(decoded(token), '_data');
  if (text === null) throw new TypeError('The change stream returned no resume token');
  return text;
}

function decoded(value: unknown): RawEntry | null {
  return value instanceof Uint8Array ? decodeSystemBson(value) : null;
}

function textField(entry: RawEntry | null, name: string): string | null {
  const value = entry?.[name];
  return typeof value === 'string' ? value : null;
}
