/**
 * Parses the replies to `find`, `aggregate` and `getMore` that are sent as commands; every document stays raw BSON.
 */
import { type Document, Timestamp } from 'mongodb';
import { binaryToBuffer } from '../bson/raw-bson.ts';

/**
 * Options of a command whose reply is read here. Not `raw: true`: with it the driver also leaves parts of an error raw,
 * misreads them as the version of the topology, and so loses the server for some heartbeats when the primary steps
 * down.
 */
export const RAW_CURSOR_OPTIONS = {
  fieldsAsRaw: { firstBatch: true, nextBatch: true },
  enableUtf8Validation: false,
} as const;

export interface CursorReply {
  /** The id of the cursor that has more; 0 at the end. */
  readonly id: bigint;
  readonly entries: readonly Buffer[];
  /** Size of all entries in bytes. */
  readonly bytes: number;
  /** The cluster time of a snapshot; null for other reads. */
  readonly time: Timestamp | null;
  /** The resume token of a change stream: everything before it has been read. */
  readonly token: string | null;
}

/** Reads the field `cursor` of a reply. @throws TypeError if it is not a cursor */
export function readCursorReply(cursor: Document | undefined): CursorReply {
  if (cursor === undefined) throw new TypeError('The server returned no cursor');
  const batch: unknown = cursor['firstBatch'] ?? cursor['nextBatch'];
  const time: unknown = cursor['atClusterTime'];
  const token: unknown = cursor['postBatchResumeToken']?._data;
  const entries = Array.isArray(batch) ? batch.map(requireRawBson) : [];
  return {
    id: BigInt(String(cursor['id'])),
    entries,
    bytes: entries.reduce((sum, { length }) => sum + length, 0),
    time: time instanceof Timestamp ? time : null,
    token: typeof token === 'string' ? token : null,
  };
}

/** With these options the driver returns the bytes of a document, although its types say that it is a document. */
export function requireRawBson(document: unknown): Buffer {
  const raw = binaryToBuffer(document);
  if (raw === null) throw new TypeError('The driver did not return raw BSON');
  return raw;
}
