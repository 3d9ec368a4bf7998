/**
 * Parses the replies to `find`, `aggregate` and `getMore` that are sent as commands; every document stays raw BSON.
 * Not here: sending the commands (find-raw.ts, and other code that reads a cursor by commands).
 */
import { type Document, Timestamp } from 'mongodb';
import { binary } from '../bson/raw.ts';

/**
 * Options of a command whose reply is read here. Not `raw: true`, by which the driver would leave parts of an error raw
 * as well, take them for the version of the topology, and lose the server for some heartbeats when its primary steps
 * down.
 */
export const RAW_ENTRIES = {
  fieldsAsRaw: { firstBatch: true, nextBatch: true },
  enableUtf8Validation: false,
} as const;

export interface CursorReply {
  /** Of the cursor that has more; 0 when this was all. */
  readonly id: bigint;
  readonly entries: readonly Buffer[];
  /** Size of all entries. */
  readonly bytes: number;
  /** The moment of a snapshot; null for other reads. */
  readonly time: Timestamp | null;
  /** Of a change stream: everything before it has been seen. */
  readonly token: string | null;
}

/**
 * Reads the member `cursor` of a reply.
 * @throws TypeError when it is none
 */
export function readCursorReply(cursor: Document | undefined): CursorReply {
  if (cursor === undefined) throw new TypeError('The server gave no cursor');
  const batch: unknown = cursor['firstBatch'] ?? cursor['nextBatch'];
  const time: unknown = cursor['atClusterTime'];
  const token: unknown = cursor['postBatchResumeToken']?._data;
  const entries = Array.isArray(batch) ? batch.map(asRaw) : [];
  return {
    id: BigInt(String(cursor['id'])),
    entries,
    bytes: entries.reduce((sum, { length }) => sum + length, 0),
    time: time instanceof Timestamp ? time : null,
    token: typeof token === 'string' ? token : null,
  };
}

/** With `raw: true` the driver hands out the bytes of a document where its types say document. */
export function asRaw(document: unknown): Buffer {
  const raw = binary(document);
  if (raw === null) throw new TypeError('The driver did not answer with raw BSON');
  return raw;
}
