/**
 * One entry of a MongoDB change stream with its bodies left as raw BSON, and how it is read from a reply's bytes.
 * Fragments of a split entry are joined here. Not here: the cursor that brings them, and the row made of them.
 */
import type { Timestamp } from 'mongodb';
import { binary, decodeOwn, decodeShallow, timestamp } from '../bson/raw.ts';

export interface StreamChange {
  /** Resume token as upper-case hex; tokens of one stream order as strings. */
  readonly token: string;
  /** MongoDB's operation type, such as `insert` or `createIndexes`. */
  readonly operation: string;
  readonly time: Timestamp;
  readonly wall: Date;
  /** Name of the collection, null for what concerns the database. */
  readonly collection: string | null;
  /** New name of a renamed collection. */
  readonly to: string | null;
  /** Raw `{_id: …}` of the document. */
  readonly key: Buffer | null;
  readonly after: Buffer | null;
  readonly before: Buffer | null;
  /** Raw `{updatedFields, removedFields, truncatedArrays}`. */
  readonly update: Buffer | null;
  /** The bodies were left out because they are too large. */
  readonly big: boolean;
  /** Which database transaction it belongs to; null outside of one. */
  readonly transaction: string | null;
}

type RawEntry = Record<string, unknown>;

/** Reads one entry shallowly: embedded documents stay bytes. */
export const readEntry: (bytes: Uint8Array) => RawEntry = decodeShallow;

/** Which fragment of how many an entry is; null when it came whole. */
export function fragmentOf(entry: RawEntry): { fragment: number; of: number } | null {
  const split = decoded(entry['splitEvent']);
  return split === null ? null : { fragment: Number(split['fragment']), of: Number(split['of']) };
}

/** Makes a change of an entry, or of the fragments of one in their order. */
export function toChange(fragments: readonly RawEntry[]): StreamChange {
  const entry: RawEntry = Object.assign({}, ...fragments);
  const session = decoded(entry['lsid']);
  return {
    token: tokenText(entry['_id']),
    operation: String(entry['operationType']),
    time: timestamp(entry['clusterTime']),
    wall: entry['wallTime'] instanceof Date ? entry['wallTime'] : new Date(0),
    collection: textMember(decoded(entry['ns']), 'coll'),
    to: textMember(decoded(entry['to']), 'coll'),
    key: binary(entry['documentKey']),
    after: binary(entry['fullDocument']),
    before: binary(entry['fullDocumentBeforeChange']),
    update: binary(entry['updateDescription']),
    big: false,
    transaction: session === null ? null : `${String(session['id'])}:${String(entry['txnNumber'])}`,
  };
}

/** The text of a resume token: raw `{_data: "82…"}`. Throws TypeError when it is no token. */
function tokenText(token: unknown): string {
  const text = textMember(decoded(token), '_data');
  if (text === null) throw new TypeError('The change stream gave no resume token');
  return text;
}

function decoded(value: unknown): RawEntry | null {
  return value instanceof Uint8Array ? decodeOwn(value) : null;
}

function textMember(entry: RawEntry | null, name: string): string | null {
  const value = entry?.[name];
  return typeof value === 'string' ? value : null;
}
