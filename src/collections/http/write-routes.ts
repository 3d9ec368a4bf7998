/**
 * The HTTP face of writing: single documents, many at once, and batches, each alone or under an idempotency key. The
 * contract is docs/api.md. Not here: what a write is (write-operations.ts, batch.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Atomic } from '../atomic.ts';
import { type PreparedBatch, prepareBatch } from './batch.ts';
import { BATCH_WRITE } from './batch-contract.ts';
import { inRefusedBody } from './batch-operations.ts';
import { WRITES } from './document-operations.ts';
import { type Idempotency, readKey } from './idempotency.ts';
import { prepareWrite, type WriteParts } from './write-operations.ts';
import { sendWriteResponse } from './write-response.ts';

export interface WriteRoutesOptions extends WriteParts {
  readonly atomic: Atomic;
  readonly idempotency: Idempotency;
}

interface OnCollection {
  Params: { collection: string };
}

interface OnDocument {
  Params: { collection: string; id: string };
}

export async function writeRoutes(app: FastifyInstance, options: WriteRoutesOptions): Promise<void> {
  const { idempotency, policies } = options;

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { collections, write }: PreparedBatch,
  ): Promise<FastifyReply> {
    const key = readKey(request, collections, policies);
    return sendWriteResponse(reply, key === null ? await write() : await idempotency.once(key, write));
  }

  const write = (request: FastifyRequest<OnCollection> | FastifyRequest<OnDocument>, reply: FastifyReply) =>
    answer(request, reply, { collections: [request.params.collection], write: prepareWrite(request, options) });

  app.post<OnCollection>('/api/:collection', { config: WRITES.create }, write);
  app.patch<OnCollection>('/api/:collection', { config: WRITES.patchMany }, write);
  app.delete<OnCollection>('/api/:collection', { config: WRITES.removeMany }, write);
  app.put<OnDocument>('/api/:collection/:id', { config: WRITES.replace }, write);
  app.patch<OnDocument>('/api/:collection/:id', { config: WRITES.patch }, write);
  app.delete<OnDocument>('/api/:collection/:id', { config: WRITES.remove }, write);

  const refuse = (error: unknown) => {
    throw inRefusedBody(error);
  };
  app.post('/batch', { config: BATCH_WRITE, errorHandler: refuse }, (request, reply) =>
    answer(request, reply, prepareBatch(request, options)),
  );
}
