/** Write routes: single documents, many at once, and batches, each with or without an idempotency key (docs/api.md). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TransactionRunner } from '../transaction-runner.ts';
import { BATCH_WRITE_OPERATION, type PreparedBatch, prepareBatch } from './batch.ts';
import { addIndexFromPointer } from './batch-operations.ts';
import type { CollectionRouteGeneric, DocumentRouteGeneric } from './collection-access.ts';
import { DOCUMENT_WRITE_OPERATIONS } from './document-openapi.ts';
import { type Idempotency, readIdempotencyKey } from './idempotency.ts';
import {
  prepareCreate,
  preparePatch,
  preparePatchMany,
  prepareRemove,
  prepareRemoveMany,
  prepareReplace,
  type WriteDeps,
} from './write-operations.ts';
import { sendWriteResponse } from './write-response.ts';

export interface WriteRoutesOptions extends WriteDeps {
  readonly atomic: TransactionRunner;
  readonly idempotency: Idempotency;
}

export async function writeRoutes(app: FastifyInstance, options: WriteRoutesOptions): Promise<void> {
  const { idempotency, policies } = options;

  async function respond(
    request: FastifyRequest,
    reply: FastifyReply,
    { collections, write }: PreparedBatch,
  ): Promise<FastifyReply> {
    const key = readIdempotencyKey(request, collections, policies);
    return sendWriteResponse(reply, key === null ? await write() : await idempotency.once(key, write));
  }

  const onCollection =
    (prepare: typeof prepareCreate) => (request: FastifyRequest<CollectionRouteGeneric>, reply: FastifyReply) =>
      respond(request, reply, { collections: [request.params.collection], write: prepare(request, options) });
  const onDocument =
    (prepare: typeof preparePatch) => (request: FastifyRequest<DocumentRouteGeneric>, reply: FastifyReply) => {
      const { collection, id } = request.params;
      return respond(request, reply, { collections: [collection], write: prepare(request, id, options) });
    };

  const { create, patchMany, removeMany, replace, patch, remove } = DOCUMENT_WRITE_OPERATIONS;
  app.post<CollectionRouteGeneric>('/api/:collection', { config: create }, onCollection(prepareCreate));
  app.patch<CollectionRouteGeneric>('/api/:collection', { config: patchMany }, onCollection(preparePatchMany));
  app.delete<CollectionRouteGeneric>('/api/:collection', { config: removeMany }, onCollection(prepareRemoveMany));
  app.put<DocumentRouteGeneric>('/api/:collection/:id', { config: replace }, onDocument(prepareReplace));
  app.patch<DocumentRouteGeneric>('/api/:collection/:id', { config: patch }, onDocument(preparePatch));
  app.delete<DocumentRouteGeneric>('/api/:collection/:id', { config: remove }, onDocument(prepareRemove));

  const refuse = (error: unknown) => {
    throw addIndexFromPointer(error);
  };
  app.post('/batch', { config: BATCH_WRITE_OPERATION, errorHandler: refuse }, (request, reply) =>
    respond(request, reply, prepareBatch(request, options)),
  );
}
