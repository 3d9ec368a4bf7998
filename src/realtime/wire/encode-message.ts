/** Encodes messages for a single client, as a WebSocket frame or as an event of a stream. */
import { encodeSseEvent, encodeTextFrame } from './encode-frames.ts';

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

/** One part of a snapshot. @param documents JSON of each, @param keys JSON of their sort keys or null */
export function encodeSnapshotPart(
  id: string | null,
  documents: readonly Buffer[],
  keys: readonly Buffer[] | null,
  position: string | null,
): Buffer {
  const head = id === null ? '{"documents":[' : `{"type":"snapshot","id":${JSON.stringify(id)},"documents":[`;
  const last = position === null ? '"last":false}' : `"last":true,"position":"${position}"}`;
  const sortKeys = keys === null ? [] : [Buffer.from('"sortKey":['), ...listed(keys), Buffer.from('],')];
  const parts = [Buffer.from(head), ...listed(documents), Buffer.from('],'), ...sortKeys, Buffer.from(last)];
  return id === null ? encodeSseEvent('snapshot', parts, position) : encodeTextFrame(parts);
}

const COMMA = Buffer.from(',');

/** The elements, separated by commas. */
function listed(elements: readonly Buffer[]): readonly Buffer[] {
  return elements.flatMap((one, index) => (index === 0 ? [one] : [COMMA, one]));
}
