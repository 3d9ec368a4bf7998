/**
 * What the server answers to `find`, `aggregate` and `getMore`, read from its bytes, with every document left as raw BSON.
 * Not here: asking (find-raw.ts, and whoever reads a cursor by hand).
 */
import { Timestamp } from 'mongodb';
import { binary, decodeShallow } from './raw.ts';

export interface CursorReply {
  /** Of the cursor that has more; 0 when this was all. */
  readonly id: bigint;
  readonly entries: readonly Buffer[];
  /** The moment of a snapshot; null for other reads. */
  readonly time: Timestamp | null;
  /** Raw; of a change stream alone. */
  readonly token: unknown;
  /** Size of the reply. */
  readonly bytes: number;
}

/**
 * Reads the member `cursor` of a reply.
 * @throws TypeError when it is none
 */
export function readCursorReply(bytes: unknown): CursorReply {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('The server gave no cursor');
  const cursor = decodeShallow(bytes);
  const entries = cursor['firstBatch'] ?? cursor['nextBatch'];
  const time = cursor['atClusterTime'];
  return {
    id: BigInt(String(cursor['id'])),
    entries: Array.isArray(entries) ? entries.map(asRaw) : [],
    time: time instanceof Timestamp ? time : null,
    token: cursor['postBatchResumeToken'],
    bytes: bytes.length,
  };
}

/** With `raw: true` the driver hands out the bytes of a document where its types say document. */
export function asRaw(document: unknown): Buffer {
  const raw = binary(document);
  if (raw === null) throw new TypeError('The driver did not answer with raw BSON');
  return raw;
}
