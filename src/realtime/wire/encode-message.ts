/** Encodes messages for a single client, as a WebSocket frame or as an event of a stream. */
import { encodeFrameStart, encodeSseEvent, encodeTextFrame } from './encode-frames.ts';

/**
 * @param id the subscription's id; null on a stream, undefined for a message about no subscription
 * @param position the position that a stream's client remembers (its event id); null for none
 */
export function encodeMessage(
  id: string | null | undefined,
  type: string,
  fields: Readonly<Record<string, unknown>>,
  position: string | null = null,
): Buffer {
  if (id === null) return encodeSseEvent(type, [Buffer.from(JSON.stringify(fields))], position);
  const named = id === undefined ? { type } : { type, id };
  return encodeTextFrame([Buffer.from(JSON.stringify({ ...named, ...fields }))]);
}

/** The body of a snapshot message, the same for all clients. The position is that of the snapshot, in its last part. */
export interface SnapshotPart {
  readonly body: Buffer;
  readonly position: string | null;
}

/** @param documents JSON of each, @param keys JSON of their sort keys or null, @param position null unless it is the last */
export function encodeSnapshotPart(
  documents: readonly Buffer[],
  keys: readonly Buffer[] | null,
  position: string | null,
): SnapshotPart {
  const last = position === null ? '"last":false}' : `"last":true,"position":"${position}"}`;
  const sortKeys = keys === null ? [] : [Buffer.from('"sortKey":['), ...listed(keys), Buffer.from('],')];
  const parts = [Buffer.from('"documents":['), ...listed(documents), Buffer.from('],'), ...sortKeys, Buffer.from(last)];
  return { body: Buffer.concat(parts), position };
}

/** What is written before and after the body of a part, for a subscription with this id; null on a stream. */
export function frameSnapshotPart(
  id: string | null,
  { body, position }: SnapshotPart,
): { readonly head: Buffer; readonly end: Buffer | null } {
  if (id === null) {
    const end = position === null ? '\n\n' : `\nid: ${position}\n\n`;
    return { head: Buffer.from('event: snapshot\ndata: {'), end: Buffer.from(end) };
  }
  const head = Buffer.from(`{"type":"snapshot","id":${JSON.stringify(id)},`);
  return { head: encodeFrameStart(head, body.length), end: null };
}

const COMMA = Buffer.from(',');

/** The elements, separated by commas. */
function listed(elements: readonly Buffer[]): readonly Buffer[] {
  return elements.flatMap((one, index) => (index === 0 ? [one] : [COMMA, one]));
}
