/**
 * The HTTP face of collections: name, scope, call, answer. The contract is docs/api.md. Not here: any rule about
 * documents (collections.ts) or about who may touch them (policies).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type CollectionName, parseCollectionName } from '../database/names.ts';
import type { Policies } from '../policies/policies.ts';
import type { Action, Scope } from '../policies/scope.ts';
import { sendCreated, sendDocument, sendList, sendWritten } from './answers.ts';
import type { Collections } from './collections.ts';
import { isFresh, parsePreconditions } from './preconditions.ts';
import { parsePrefer } from './prefer.ts';
import { arrayBody, flag, objectBody, parameters, requireMediaType, toWrite } from './requests.ts';

const PATCH_TYPES = ['application/json', 'application/merge-patch+json'] as const;

export interface CollectionRoutesOptions {
  readonly collections: Collections;
  readonly policies: Policies;
  /** The newest place of the event log this server has told: a list read after it misses nothing before it. */
  readonly position: () => string;
}

interface OnCollection {
  Params: { collection: string };
}

interface OnDocument {
  Params: { collection: string; id: string };
}

export async function collectionRoutes(app: FastifyInstance, options: CollectionRoutesOptions): Promise<void> {
  const { collections, policies, position } = options;

  /** The name and the Scope of a request, in this order of checks: a stranger learns nothing of what exists. */
  function enter(request: FastifyRequest<OnCollection>, action: Action): readonly [Scope, CollectionName] {
    const name = parseCollectionName(request.params.collection);
    return [policies.scope(request.principal, action, name), name];
  }

  app.get<OnCollection>('/:collection', async (request, reply) => {
    parameters(request, []);
    const [scope, name] = enter(request, 'read');
    reply.header('millrace-position', position());
    const batches = await collections.list(scope, name);
    return sendList(reply, batches);
  });

  app.get<OnDocument>('/:collection/:id', async (request, reply) => {
    parameters(request, []);
    const [scope, name] = enter(request, 'read');
    const found = await collections.get(scope, name, request.params.id);
    if (!isFresh(parsePreconditions(request.headers).ifNoneMatch, found.etag)) return sendDocument(reply, 200, found);
    return reply.code(304).header('etag', found.etag).send();
  });

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
