/** API keys over HTTP for those who run the installation. Not here: what a key is (auth/tokens/api-keys.ts). */
import type { FastifyInstance } from 'fastify';
import { NEW_KEY } from '../../auth/http/schema.ts';
import type { FreshSignIns } from '../../auth/sign-in/fresh-sign-ins.ts';
import { isCollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { OTHER_PLACES } from '../../policies/evaluation.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { parseListQuery } from '../list-query.ts';
import { KEYS } from './key-operations.ts';
import type { ManagedKeys } from './managed-keys.ts';

export interface KeyRoutesOptions {
  readonly policies: Policies;
  readonly keys: ManagedKeys;
  readonly fresh: FreshSignIns;
}

interface OnKey {
  Params: { id: string };
}

export async function keyRoutes(app: FastifyInstance, { policies, keys, fresh }: KeyRoutesOptions): Promise<void> {
  const enter = enterAt(policies, 'admin:accounts');

  app.get('/admin/keys', { config: KEYS.list }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', 'admin:accounts');
    const { limit, after } = parseListQuery(request);
    const found = await keys.list(scope, after, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?.id ?? '');
    return page;
  });

  app.post('/admin/keys', { config: KEYS.create }, async (request, reply) => {
    const scope = enter(request, 'create');
    await fresh.require(request.principal);
    const { name, roles = [], collections = null, actions = null, expiresAt } = checked(NEW_KEY, request.body);
    requirePlaces(collections);
    const wanted = { name, roles, collections, actions, expiresAt: parseEnd(expiresAt ?? null) };
    const key = await keys.create(scope, wanted, request.id);
    return reply.code(201).header('location', `/admin/keys/${key.id}`).header('cache-control', 'no-store').send(key);
  });

  app.get<OnKey>('/admin/keys/:id', { config: KEYS.get }, async (request) => {
    const key = await keys.get(enter(request, 'read'), request.params.id);
    return key ?? missing();
  });

  app.delete<OnKey>('/admin/keys/:id', { config: KEYS.remove }, async (request, reply) => {
    const scope = enter(request, 'delete');
    await fresh.require(request.principal);
    if (!(await keys.remove(scope, request.params.id, request.id))) missing();
    return reply.code(204).send();
  });
}

/** A key limited to a collection that cannot exist would be refused everywhere, without an understandable reason. */
function requirePlaces(names: readonly string[] | null): void {
  const at = (names ?? []).findIndex((name) => !OTHER_PLACES.has(name) && !isCollectionName(name));
  const name = names?.[at];
  if (name === undefined) return;
  const detail = `'${name}' is not the name of a collection. Leave "collections" out to allow all that policies allow`;
  throw invalid(`/collections/${at}`, detail);
}

function parseEnd(text: string | null): Date | null {
  if (text === null) return null;
  const end = new Date(text);
  if (!(end.getTime() > Date.now())) throw invalid('/expiresAt', 'The end of a key must be in the future');
  // JavaScript takes 31 February for 3 March.
  if (!end.toISOString().startsWith(text.slice(0, 10))) throw invalid('/expiresAt', 'There is no such date');
  return end;
}

function invalid(pointer: string, detail: string): MillraceError {
  return new MillraceError('invalid-body', detail, { faults: [{ pointer, code: 'invalid-body', detail }] });
}

function missing(): never {
  throw new MillraceError('document-not-found', 'There is no such key');
}
