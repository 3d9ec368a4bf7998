/**
 * The response to a write as a value: it can be sent, stored with an idempotency key, or included in the results of a
 * batch.
 */
import type { FastifyReply } from 'fastify';
import { encodeDocumentJson, JsonListEncoder } from '../../database/json/json.ts';
import type { RequestLike } from '../../lib/request.ts';
import type { WrittenDocument } from '../read/document-view.ts';
import type { EtagDocument } from '../store/etag-document.ts';
import { parsePrefer } from './prefer.ts';

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

export interface WriteResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or null for none. */
  readonly body: Buffer | null;
  /** The id of the document that a write of one document created or changed. */
  readonly id?: string;
}

type Preferring = Pick<RequestLike, 'headers'>;

export function sendWriteResponse(reply: FastifyReply, { status, headers, body }: WriteResponse): FastifyReply {
  reply.code(status).headers(headers);
  return body === null ? reply.send() : reply.type(JSON_CONTENT_TYPE).send(body);
}

/**
 * The response to a write: 201 with its location, or 200. It has no body (204) when the client prefers that, or cannot
 * see the written document.
 */
export function toWriteResponse(
  request: Preferring,
  { seen, createdId }: WrittenDocument,
  collection: string,
): WriteResponse {
  const requested = parsePrefer(request.headers['prefer']).return;
  const applied = seen === null ? 'minimal' : requested;
  const headers: Record<string, string> = seen === null ? {} : { etag: seen.etag };
  if (createdId !== undefined) headers['location'] = `/api/${collection}/${encodeURIComponent(createdId)}`;
  if (requested !== undefined && requested === applied) headers['preference-applied'] = `return=${requested}`;
  const created = createdId !== undefined;
  const body = seen === null || applied === 'minimal' ? null : encodeDocumentJson(seen.raw);
  return {
    status: created ? 201 : body === null ? 204 : 200,
    headers,
    body,
    ...(created ? { id: createdId } : {}),
  };
}

/** The documents of a bulk create, in order; without a body when one of them is not visible. */
export function toBulkCreateResponse(request: Preferring, created: readonly (EtagDocument | null)[]): WriteResponse {
  const requested = parsePrefer(request.headers['prefer']).return;
  const seen = created.flatMap((document) => document ?? []);
  const minimal = requested === 'minimal' || seen.length < created.length;
  const headers: Record<string, string> =
    requested === undefined || (requested === 'minimal') !== minimal
      ? {}
      : { 'preference-applied': `return=${requested}` };
  if (minimal) return { status: 201, headers, body: null };
  const encoder = new JsonListEncoder({ chunkBytes: Number.POSITIVE_INFINITY });
  for (const { raw } of seen) encoder.append(raw);
  return { status: 201, headers, body: encoder.end() };
}

/** The response to a deletion: no body, or the deleted document as far as it was visible. */
export function toDeleteResponse(request: Preferring, { seen }: WrittenDocument): WriteResponse {
  if (seen === null || parsePrefer(request.headers['prefer']).return !== 'representation') {
    return { status: 204, headers: {}, body: null };
  }
  const headers = { 'preference-applied': 'return=representation', etag: seen.etag };
  return { status: 200, headers, body: encodeDocumentJson(seen.raw) };
}

/** How many documents a write by filter matched and changed. */
export function toBulkWriteResponse(
  affected: { readonly matched: number; readonly modified: number },
  most: number,
): WriteResponse {
  const headers = { 'preference-applied': `max-affected=${most}` };
  return { status: 200, headers, body: Buffer.from(JSON.stringify(affected)) };
}
