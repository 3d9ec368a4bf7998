/** Identity providers over HTTP, for administrators. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import Type from 'typebox';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import type { Egress } from '../../egress/egress.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  PRECONDITION_ERRORS,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { IF_MATCH, pathParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import { checkProvider, PROVIDER_CHECKS } from '../providers/provider-diagnostics.ts';
import { PROVIDER_BODY } from '../providers/provider-schema.ts';
import type { Providers, VersionedProvider } from '../providers/providers.ts';

const tag = 'admin';

const NAME = pathParameter(
  'name',
  'Name of the provider.',
  { type: 'string', minLength: 1, maxLength: 32 },
  'providerName',
);
const SHOWN = namedSchema('IdentityProvider', PROVIDER_BODY);
const CHECKED_SHAPE = namedSchema(
  'ProviderCheck',
  Type.Object({
    passed: Type.Boolean({ description: 'Whether all checks passed.' }),
    redirectUrl: Type.String({ description: 'The redirect URL to register at the provider.' }),
    checks: Type.Array(
      Type.Object({
        name: Type.Unsafe<string>({ type: 'string', enum: [...PROVIDER_CHECKS] }),
        passed: Type.Boolean(),
        message: Type.String({ description: 'The result, in words.' }),
      }),
    ),
  }),
);

const PROVIDER_OPERATIONS = {
  list: declareOperation({
    id: 'listIdentityProviders',
    tag,
    summary: 'List the identity providers',
    responses: jsonResponse('All of them, by name.', arraySchema(SHOWN)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  create: declareOperation({
    id: 'createIdentityProvider',
    tag,
    summary: 'Add an identity provider',
    body: jsonBody(PROVIDER_BODY),
    responses: jsonResponse('The provider.', SHOWN, 201, ['Location', 'ETag']),
    errors: [...VALIDATION_ERRORS, 'provider-exists', 'write-conflict'],
  }),
  get: declareOperation({
    id: 'getIdentityProvider',
    tag,
    summary: 'Get an identity provider',
    parameters: [NAME],
    responses: jsonResponse('The provider, without its secrets.', SHOWN, 200, ['ETag']),
    errors: [...QUERY_PARAMETER_ERRORS, 'provider-not-found'],
  }),
  replace: declareOperation({
    id: 'replaceIdentityProvider',
    tag,
    summary: 'Change an identity provider',
    parameters: [NAME, IF_MATCH],
    body: jsonBody(PROVIDER_BODY),
    responses: jsonResponse('The provider.', SHOWN, 200, ['ETag']),
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'provider-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteIdentityProvider',
    tag,
    summary: 'Remove an identity provider',
    parameters: [NAME, IF_MATCH],
    responses: { 204: { description: 'Removed.' } },
    errors: [...QUERY_PARAMETER_ERRORS, ...PRECONDITION_ERRORS, 'provider-not-found'],
  }),
  check: declareOperation({
    id: 'checkIdentityProvider',
    tag,
    summary: 'Check the settings of an identity provider',
    description: 'Calls the provider, but signs no one in.',
    parameters: [NAME],
    responses: jsonResponse('The result of each check.', CHECKED_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'provider-not-found'],
  }),
};

export interface ProviderRoutesOptions {
  readonly policies: Policies;
  readonly providers: Providers;
  readonly egress: Egress;
  /** The public URL of this server, without a slash at its end. */
  readonly base: string;
}

interface OnProvider {
  Params: { name: string };
}

const URL = '/admin/providers';

export async function providerRoutes(app: FastifyInstance, options: ProviderRoutesOptions): Promise<void> {
  const { policies, providers, egress, base } = options;
  const enter = createAdminScopeGuard(policies, '_admin:accounts');
  const send = (reply: FastifyReply, { provider, version }: VersionedProvider) =>
    reply.header('etag', versionTag(version)).send(provider);

  app.get(URL, { config: PROVIDER_OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return (await providers.list()).map(({ provider }) => provider);
  });

  app.post(URL, { config: PROVIDER_OPERATIONS.create }, async (request, reply) => {
    const created = await providers.create(request.body, stampFromPrincipal(enter(request, 'create'), request.id));
    return send(reply.code(201).header('location', `${URL}/${created.provider.name}`), created);
  });

  app.get<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, await providers.show(request.params.name));
  });

  app.put<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.replace }, async (request, reply) => {
    const stamp = stampFromPrincipal(enter(request, 'update'), request.id);
    const { name } = request.params;
    return send(
      reply,
      await providers.replace(name, named(request.body, name), parseVersionPrecondition(request.headers), stamp),
    );
  });

  app.delete<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.remove }, async (request, reply) => {
    const stamp = stampFromPrincipal(enter(request, 'delete'), request.id);
    await providers.remove(request.params.name, parseVersionPrecondition(request.headers), stamp);
    return reply.code(204).send();
  });

  app.post<OnProvider>(`${URL}/:name/check`, { config: PROVIDER_OPERATIONS.check }, async (request) => {
    enter(request, 'update');
    const provider = await providers.latest(request.params.name);
    if (provider.saml === null) return checkProvider(provider, { egress, base });
    const { checkSamlProvider } = await import('../saml/saml-diagnostics.ts');
    return checkSamlProvider(provider, { egress, base });
  });
}

/** The body with the name from the path, which the body may omit and cannot change. */
function named(body: unknown, name: string): unknown {
  if (!isPlainObject(body)) return body;
  const { name: sent = name } = body;
  if (sent === name) return { ...body, name };
  const detail = 'The name of a provider cannot be changed: linked identities and redirect URLs contain it';
  throw new MillraceError('invalid-body', detail, { issues: [{ pointer: '/name', code: 'invalid-body', detail }] });
}
