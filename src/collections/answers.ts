/**
 * How documents leave in an answer: the codec's bytes, entity tag, location, and what `Prefer` asked for.
 */
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { encodeDocument, ListEncoder } from '../database/json.ts';
import type { StoredDocument } from './collections.ts';
import { parsePrefer } from './prefer.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** One document as it is. */
export function sendDocument(reply: FastifyReply, status: number, document: StoredDocument): FastifyReply {
  return reply.code(status).header('etag', document.etag).type(JSON_TYPE).send(encodeDocument(document.raw));
}

/** Batches of raw documents as one JSON array, written as fast as the client reads and no faster. */
export function sendList(reply: FastifyReply, batches: AsyncGenerator<readonly Uint8Array[]>): FastifyReply {
  if (reply.request.method === 'HEAD') {
    // Fastify would read the whole list only to throw it away.
    void batches.return(undefined);
    return reply.type(JSON_TYPE).send();
  }
  return reply.type(JSON_TYPE).send(Readable.from(encoded(batches), { objectMode: false }));
}

async function* encoded(batches: AsyncGenerator<readonly Uint8Array[]>): AsyncGenerator<Buffer> {
  const encoder = new ListEncoder();
  for await (const batch of batches) {
    for (const raw of batch) {
      const chunk = encoder.append(raw);
      if (chunk === null) continue;
      yield chunk;
      // A batch may hold 16 MB: other requests get their turn between its chunks.
      await otherWork();
    }
  }
  yield encoder.end();
}

/** The documents of a bulk create, in order. */
export function sendCreated(reply: FastifyReply, created: readonly StoredDocument[]): FastifyReply {
  if (prefersMinimal(reply)) return reply.code(201).send();
  const encoder = new ListEncoder({ chunkBytes: Number.POSITIVE_INFINITY });
  for (const { raw } of created) encoder.append(raw);
  return reply.code(201).type(JSON_TYPE).send(encoder.end());
}

/** The outcome of a write: 201 with its place, or 200; without a body (204) when the client prefers so. */
export function sendWritten(reply: FastifyReply, document: StoredDocument, collection: string): FastifyReply {
  const encoded = encodeDocument(document.raw);
  const { createdId } = document;
  if (createdId !== undefined) reply.header('location', `/api/${collection}/${encodeURIComponent(createdId)}`);
  reply.header('etag', document.etag);
  if (prefersMinimal(reply)) return reply.code(createdId !== undefined ? 201 : 204).send();
  return reply
    .code(createdId !== undefined ? 201 : 200)
    .type(JSON_TYPE)
    .send(encoded);
}

/** Whether the answer to a write goes without a body; says so in `Preference-Applied` (RFC 7240 section 3). */
function prefersMinimal(reply: FastifyReply): boolean {
  const wanted = parsePrefer(reply.request.headers['prefer']).return;
  if (wanted !== undefined) reply.header('preference-applied', `return=${wanted}`);
  return wanted === 'minimal';
}
