/**
 * The HTTP face of writing: single documents, many at once, and batches, each alone or under an idempotency key. The
 * contract is docs/api.md. Not here: what a write is (write-operations.ts, batch.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Atomic } from '../atomic.ts';
import { prepareBatch } from './batch.ts';
import { type Idempotency, readKey } from './idempotency.ts';
import { type PreparedWrite, prepareWrite, type WriteParts } from './write-operations.ts';
import { sendAnswer } from './write-response.ts';

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
  const { idempotency } = options;

  async function answer(request: FastifyRequest, reply: FastifyReply, write: PreparedWrite): Promise<FastifyReply> {
    const key = readKey(request);
    return sendAnswer(reply, key === null ? await write() : await idempotency.once(key, write));
  }

  const write = (request: FastifyRequest<OnCollection> | FastifyRequest<OnDocument>, reply: FastifyReply) =>
    answer(request, reply, prepareWrite(request, options));

  app.post<OnCollection>('/api/:collection', write);
  app.patch<OnCollection>('/api/:collection', write);
  app.delete<OnCollection>('/api/:collection', write);
  app.put<OnDocument>('/api/:collection/:id', write);
  app.patch<OnDocument>('/api/:collection/:id', write);
  app.delete<OnDocument>('/api/:collection/:id', write);

  app.post('/batch', (request, reply) => answer(request, reply, prepareBatch(request, options)));
}
