/**
 * The answer to a write as a value: it can be sent, kept under an idempotency key, or stand among the results of a
 * batch. Not here: answers that are streamed (answers.ts) and refusals, which are errors.
 */
import type { FastifyReply } from 'fastify';
import { encodeDocument, ListEncoder } from '../database/json.ts';
import { parsePrefer } from './prefer.ts';
import type { RequestLike } from './requests.ts';
import type { StoredDocument } from './stored-document.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

export interface Answer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or null for none. */
  readonly body: Buffer | null;
  /** The id of the document that a write of one document made or changed. */
  readonly id?: string;
}

type Preferring = Pick<RequestLike, 'headers'>;

export function sendAnswer(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  reply.code(status).headers(headers);
  return body === null ? reply.send() : reply.type(JSON_TYPE).send(body);
}

/** The outcome of a write: 201 with its place, or 200; without a body (204) when the client prefers so. */
export function writtenAnswer(request: Preferring, document: StoredDocument, collection: string): Answer {
  const { createdId, etag, raw } = document;
  const wanted = parsePrefer(request.headers['prefer']).return;
  const headers: Record<string, string> = { etag };
  if (createdId !== undefined) headers['location'] = `/api/${collection}/${encodeURIComponent(createdId)}`;
  if (wanted !== undefined) headers['preference-applied'] = `return=${wanted}`;
  const minimal = wanted === 'minimal';
  const created = createdId !== undefined;
  return {
    status: created ? 201 : minimal ? 204 : 200,
    headers,
    body: minimal ? null : encodeDocument(raw),
    ...(created ? { id: createdId } : {}),
  };
}

/** The documents of a bulk create, in order. */
export function createdAnswer(request: Preferring, created: readonly StoredDocument[]): Answer {
  const wanted = parsePrefer(request.headers['prefer']).return;
  const headers = wanted === undefined ? {} : { 'preference-applied': `return=${wanted}` };
  if (wanted === 'minimal') return { status: 201, headers, body: null };
  const encoder = new ListEncoder({ chunkBytes: Number.POSITIVE_INFINITY });
  for (const { raw } of created) encoder.append(raw);
  return { status: 201, headers, body: encoder.end() };
}

/** The outcome of a deletion: nothing, or the document that was. */
export function removedAnswer(request: Preferring, removed: StoredDocument): Answer {
  if (parsePrefer(request.headers['prefer']).return !== 'representation') {
    return { status: 204, headers: {}, body: null };
  }
  const headers = { 'preference-applied': 'return=representation', etag: removed.etag };
  return { status: 200, headers, body: encodeDocument(removed.raw) };
}

/** How many documents a write by filter found and changed. */
export function affectedAnswer(
  affected: { readonly matched: number; readonly modified: number },
  most: number,
): Answer {
  const headers = { 'preference-applied': `max-affected=${most}` };
  return { status: 200, headers, body: Buffer.from(JSON.stringify(affected)) };
}
