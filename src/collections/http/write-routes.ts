/** Write routes: single documents, many at once, and batches, each with or without an idempotency key (docs/api.md). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Atomic } from '../transaction-runner.ts';
import { type PreparedBatch, prepareBatch } from './batch.ts';
import { BATCH_WRITE } from './batch-openapi.ts';
import { inRefusedBody } from './batch-operations.ts';
import { WRITES } from './document-openapi.ts';
import { type Idempotency, readKey } from './idempotency.ts';
import { prepareWrite, type WriteDeps } from './write-operations.ts';
import { sendWriteResponse } from './write-response.ts';

export interface WriteRoutesOptions extends WriteDeps {
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

  async function response(
    request: FastifyRequest,
    reply: FastifyReply,
    { collections, write }: PreparedBatch,
  ): Promise<FastifyReply> {
    const key = readKey(request, collections, policies);
    return sendWriteResponse(reply, key === null ? await write() : await idempotency.once(key, write));
  }

  const write = (request: FastifyRequest<OnCollection> | FastifyRequest<OnDocument>, reply: FastifyReply) =>
    response(request, reply, { collections: [request.params.collection], write: prepareWrite(request, options) });

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
    response(request, reply, prepareBatch(request, options)),
  );
}
