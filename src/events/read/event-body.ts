/**
 * The event as it is stored with a delivery of a webhook or a run of a function: JSON, without its states where that is too
 * long. Pure. Not here: what of the event its reader may see (visible-row.ts).
 */
import { toEnvelope, toEvent } from '../log/event.ts';
import { bodyBytes, type LogRow } from '../log/row.ts';

/** The longest body in bytes; a longer event goes without its states. */
const BODY_BYTES = 256 * 1024;
/** States of so many bytes are longer as JSON than a body may be: a byte of JSON stands for less than 16 of BSON. */
const SURELY_LONG = 16 * BODY_BYTES;

/**
 * @param publicUrl the address of this server for clients, without a slash at the end; undefined when it is not known
 * @returns null for a row that is no event
 */
export function toBody(row: LogRow, publicUrl: string | undefined): string | null {
  if (bodyBytes({ ...row, update: null }) > SURELY_LONG) return thin(row, publicUrl);
  const event = toEvent(row);
  if (event === null) return null;
  const body = JSON.stringify(event);
  return Buffer.byteLength(body) > BODY_BYTES ? thin(row, publicUrl) : body;
}

function thin(row: LogRow, publicUrl: string | undefined): string | null {
  const event = toEnvelope(row);
  if (event === null) return null;
  const { collection, documentId } = event;
  const isDocument = publicUrl !== undefined && collection !== null && documentId !== null;
  const path = isDocument ? `/api/${encodeURIComponent(collection)}/${encodeURIComponent(documentId)}` : null;
  const url = path === null ? null : `${publicUrl}${path}`;
  return JSON.stringify({ ...event, data: null, before: null, truncated: true, url });
}
