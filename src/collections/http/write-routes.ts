/** Write routes: single documents, many at once, and batches, each with or without an idempotency key (docs/api.md). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TransactionRunner } from '../transaction-runner.ts';
import { type PreparedBatch, prepareBatch } from './batch.ts';
import { BATCH_WRITE_OPERATION } from './batch-openapi.ts';
import { addIndexFromPointer } from './batch-operations.ts';
import { DOCUMENT_WRITE_OPERATIONS } from './document-openapi.ts';
import { type Idempotency, readIdempotencyKey } from './idempotency.ts';
import { prepareWrite, type WriteDeps } from './write-operations.ts';
import { sendWriteResponse } from './write-response.ts';

export interface WriteRoutesOptions extends WriteDeps {
  readonly atomic: TransactionRunner;
  readonly idempotency: Idempotency;
}

interface CollectionRoute {
  Params: { collection: string };
}

interface DocumentRoute {
  Params: { collection: string; id: string };
}

export async function writeRoutes(app: FastifyInstance, options: WriteRoutesOptions): Promise<void> {
  const { idempotency, policies } = options;

  async function response(
    request: FastifyRequest,
    reply: FastifyReply,
    { collections, write }: PreparedBatch,
  ): Promise<FastifyReply> {
    const key = readIdempotencyKey(request, collections, policies);
    return sendWriteResponse(reply, key === null ? await write() : await idempotency.once(key, write));
  }

  const write = (request: FastifyRequest<CollectionRoute> | FastifyRequest<DocumentRoute>, reply: FastifyReply) =>
    response(request, reply, { collections: [request.params.collection], write: prepareWrite(request, options) });

  app.post<CollectionRoute>('/api/:collection', { config: DOCUMENT_WRITE_OPERATIONS.create }, write);
  app.patch<CollectionRoute>('/api/:collection', { config: DOCUMENT_WRITE_OPERATIONS.patchMany }, write);
  app.delete<CollectionRoute>('/api/:collection', { config: DOCUMENT_WRITE_OPERATIONS.removeMany }, write);
  app.put<DocumentRoute>('/api/:collection/:id', { config: DOCUMENT_WRITE_OPERATIONS.replace }, write);
  app.patch<DocumentRoute>('/api/:collection/:id', { config: DOCUMENT_WRITE_OPERATIONS.patch }, write);
  app.delete<DocumentRoute>('/api/:collection/:id', { config: DOCUMENT_WRITE_OPERATIONS.remove }, write);

  const refuse = (error: unknown) => {
    throw addIndexFromPointer(error);
  };
  app.post('/batch', { config: BATCH_WRITE_OPERATION, errorHandler: refuse }, (request, reply) =>
    response(request, reply, prepareBatch(request, options)),
  );
}
