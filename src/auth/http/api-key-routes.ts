/** API keys over HTTP for administrators. */
import type { FastifyInstance } from 'fastify';
import { isCollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { LIST_ERRORS, LIST_PARAMETERS, listResponse, parseListQuery } from '../../openapi/list-query.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import { NON_COLLECTION_RESOURCES } from '../../policies/evaluation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { ManagedApiKeys } from './managed-keys.ts';
import { CREATE_API_KEY_BODY } from './request-schemas.ts';
import { API_KEY_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the key', 'apiKeyId')];

const API_KEY_OPERATIONS = {
  list: declareOperation({
    id: 'listApiKeys',
    tag,
    summary: 'List API keys',
    parameters: LIST_PARAMETERS,
    responses: listResponse(API_KEY_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: declareOperation({
    id: 'createApiKey',
    tag,
    summary: 'Create an API key, which is shown once',
    body: jsonBody(CREATE_API_KEY_BODY),
    responses: jsonResponse('Made.', API_KEY_SHAPE, 201, ['Location']),
    errors: [...VALIDATION_ERRORS, 'reauthentication-required'],
  }),
  get: declareOperation({
    id: 'getApiKey',
    tag,
    summary: 'Get an API key, without its secret',
    parameters: ONE,
    responses: jsonResponse('The key.', API_KEY_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'api-key-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteApiKey',
    tag,
    summary: 'Revoke an API key',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'api-key-not-found'],
  }),
};

export interface ApiKeyRoutesOptions {
  readonly policies: Policies;
  readonly keys: ManagedApiKeys;
  readonly reauthentication: Reauthentication;
}

interface OnKey {
  Params: { id: string };
}

export async function apiKeyRoutes(
  app: FastifyInstance,
  { policies, keys, reauthentication }: ApiKeyRoutesOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin:accounts');

  app.get('/admin/keys', { config: API_KEY_OPERATIONS.list }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', '_admin:accounts');
    const { limit, cursor } = parseListQuery(request);
    const found = await keys.list(scope, cursor, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?.id ?? '');
    return page;
  });

  app.post('/admin/keys', { config: API_KEY_OPERATIONS.create }, async (request, reply) => {
    const scope = enter(request, 'create');
    await reauthentication.require(request.principal);
    const {
      name,
      roles = [],
      resources = null,
      actions = null,
      expiresAt,
    } = validateBody(CREATE_API_KEY_BODY, request.body);
    requireResources(resources);
    const requested = { name, roles, resources, actions, expiresAt: parseEnd(expiresAt ?? null) };
    const key = await keys.create(scope, requested, request.id);
    return reply.code(201).header('location', `/admin/keys/${key.id}`).header('cache-control', 'no-store').send(key);
  });

  app.get<OnKey>('/admin/keys/:id', { config: API_KEY_OPERATIONS.get }, async (request) => {
    const key = await keys.get(enter(request, 'read'), request.params.id);
    return key ?? missing();
  });

  app.delete<OnKey>('/admin/keys/:id', { config: API_KEY_OPERATIONS.remove }, async (request, reply) => {
    const scope = enter(request, 'delete');
    await reauthentication.require(request.principal);
    if (!(await keys.remove(scope, request.params.id, request.id))) missing();
    return reply.code(204).send();
  });
}

/** A key limited to a collection that cannot exist would be rejected everywhere, without an understandable reason. */
function requireResources(names: readonly string[] | null): void {
  const at = (names ?? []).findIndex((name) => !NON_COLLECTION_RESOURCES.has(name) && !isCollectionName(name));
  const name = names?.[at];
  if (name === undefined) return;
  const detail = `'${name}' is not the name of a collection. Omit "resources" to allow all that policies allow`;
  throw invalid(`/resources/${at}`, detail);
}

function parseEnd(text: string | null): Date | null {
  if (text === null) return null;
  const end = new Date(text);
  if (!(end.getTime() > Date.now())) throw invalid('/expiresAt', 'The expiry of a key must be in the future');
  // JavaScript reads 31 February as 3 March.
  if (!end.toISOString().startsWith(text.slice(0, 10))) throw invalid('/expiresAt', 'There is no such date');
  return end;
}

function invalid(pointer: string, detail: string): MillraceError {
  return new MillraceError('invalid-body', detail, { issues: [{ pointer, code: 'invalid-body', detail }] });
}

function missing(): never {
  throw new MillraceError('api-key-not-found', 'There is no such key');
}
