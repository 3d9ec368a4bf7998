/**
 * The HTTP face of collections: name, scope, call, answer. The contract is docs/api.md. Reads have a file of their own.
 * Not here: any rule about documents (collections.ts) or about who may touch them (policies).
 */
import type { FastifyInstance } from 'fastify';
import { sendCreated, sendDocument, sendWritten } from './answers.ts';
import { type CollectionRoutesOptions, gate, type OnCollection, type OnDocument } from './gate.ts';
import { parsePrefer } from './prefer.ts';
import { readRoutes } from './read-routes.ts';
import { arrayBody, flag, objectBody, parameters, requireMediaType, toWrite } from './requests.ts';

const PATCH_TYPES = ['application/json', 'application/merge-patch+json'] as const;

export async function collectionRoutes(app: FastifyInstance, options: CollectionRoutesOptions): Promise<void> {
  const { collections, policies, position } = options;

  const enter = gate(policies);
  await app.register(readRoutes, { collections, policies, position });

  app.post<OnCollection>('/:collection', async (request, reply) => {
    parameters(request, []);
    requireMediaType(request, ['application/json']);
    const many = arrayBody(request);
    const [scope, name] = enter(request, 'create');
    if (many === null) {
      const created = await collections.create(scope, name, objectBody(request), toWrite(request));
      return sendWritten(reply, created, name);
    }
    return sendCreated(reply, await collections.createMany(scope, name, many, toWrite(request)));
  });

  app.put<OnDocument>('/:collection/:id', async (request, reply) => {
    const write = { ...toWrite(request), upsert: flag(parameters(request, ['upsert']), 'upsert') };
    requireMediaType(request, ['application/json']);
    const body = objectBody(request);
    const [scope, name] = enter(request, 'update');
    return sendWritten(reply, await collections.replace(scope, name, request.params.id, body, write), name);
  });

  app.patch<OnDocument>('/:collection/:id', async (request, reply) => {
    parameters(request, []);
    requireMediaType(request, PATCH_TYPES);
    const patch = objectBody(request);
    const [scope, name] = enter(request, 'update');
    return sendWritten(
      reply,
      await collections.mergePatch(scope, name, request.params.id, patch, toWrite(request)),
      name,
    );
  });

  app.delete<OnDocument>('/:collection/:id', async (request, reply) => {
    parameters(request, []);
    const [scope, name] = enter(request, 'delete');
    const removed = await collections.remove(scope, name, request.params.id, toWrite(request));
    if (parsePrefer(request.headers['prefer']).return !== 'representation') return reply.code(204).send();
    return sendDocument(reply.header('preference-applied', 'return=representation'), 200, removed);
  });
}
