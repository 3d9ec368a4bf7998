/** The event as stored with a webhook delivery or a function run: JSON, without its states if that is too long. */
import { toEvent, toEventEnvelope } from '../log/event.ts';
import { type LogRow, rowDocumentBytes } from '../log/log-row.ts';

/** The maximum body in bytes; a longer event omits its states. */
const BODY_BYTES = 256 * 1024;
/** States of this size are always longer as JSON than a body may be: a byte of JSON represents less than 16 of BSON. */
const SURELY_LONG = 16 * BODY_BYTES;

/**
 * @param publicUrl the public URL of this server, without a slash at the end; undefined if unknown
 * @returns null for a row that is no event
 */
export function encodeEventBody(row: LogRow, publicUrl: string | undefined): string | null {
  if (rowDocumentBytes({ ...row, update: null }) > SURELY_LONG) return thin(row, publicUrl);
  const event = toEvent(row);
  if (event === null) return null;
  const body = JSON.stringify(event);
  return Buffer.byteLength(body) > BODY_BYTES ? thin(row, publicUrl) : body;
}

function thin(row: LogRow, publicUrl: string | undefined): string | null {
  const event = toEventEnvelope(row);
  if (event === null) return null;
  const { collection, documentId } = event;
  const isDocument = publicUrl !== undefined && collection !== null && documentId !== null;
  const path = isDocument ? `/api/${encodeURIComponent(collection)}/${encodeURIComponent(documentId)}` : null;
  const url = path === null ? null : `${publicUrl}${path}`;
  return JSON.stringify({ ...event, data: null, before: null, truncated: true, url });
}
