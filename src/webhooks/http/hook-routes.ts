/**
 * REST hooks: automation services subscribe to events and unsubscribe. A hook is an endpoint in the terms of these
 * services, and belongs to the client that created it.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ResourceAction } from '../../auth/identity/principal.ts';
import type { ServerMode } from '../../config/config.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import { type Creator, DISABLED_REASONS, REST_HOOKS_ROUTE } from '../endpoint/endpoint.ts';
import { EVENT_FILTER_SCHEMA, ENDPOINT_URL_SCHEMA as TARGET_URL } from '../endpoint/endpoint-schema.ts';
import type { Endpoints, EndpointView } from '../endpoint/endpoints.ts';
import type { IdPathParams } from './endpoint-routes.ts';
import { authorizeWebhookRequest, undoIfCredentialRevoked } from './webhook-access.ts';

const tag = 'webhooks';
const PATH = '/hooks';

/** Maximum rate that Zapier accepts for one subscription, in requests per second. */
const ZAPIER_RATE = 25;
const ZAPIER = /\bzapier\b/i;

const EVENT = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'An event type, such as `todos.created`; `*` is a wildcard.',
});

const NEW_HOOK = Type.Object(
  { targetUrl: TARGET_URL, event: EVENT, filter: EVENT_FILTER_SCHEMA },
  { additionalProperties: false, description: 'A new hook.' },
);

/** Fields of an endpoint by their name in a hook. */
const IN_HOOKS = [
  ['/url', '/targetUrl'],
  ['/types/0', '/event'],
  ['/types', '/event'],
] as const;

const SHOWN = {
  id: Type.String({ description: 'Also the id of the endpoint.' }),
  targetUrl: Type.String(),
  event: Type.String(),
  filter: nullable(Type.Object({}, { additionalProperties: true })),
  enabled: Type.Boolean(),
  disabledReason: nullable(Type.Unsafe<string>({ type: 'string', enum: [...DISABLED_REASONS] })),
  createdAt: nullable(DATE_TIME_SCHEMA),
};
const HOOK_SHAPE = namedSchema('RestHook', Type.Object(SHOWN));
const NEW_HOOK_SHAPE = namedSchema(
  'RestHookWithSecret',
  Type.Object({ ...SHOWN, secret: Type.String({ description: 'The signing secret. It is not shown again.' }) }),
);
const ONE = idParameter('id', 'the hook', 'hookId');

const OPERATIONS = {
  list: declareOperation({
    id: 'listHooks',
    tag,
    summary: 'List hooks',
    parameters: [queryParameter('targetUrl', 'Only hooks with exactly this target URL.')],
    responses: jsonResponse('All hooks that the client may read, oldest first.', arraySchema(HOOK_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-parameter'],
  }),
  create: declareOperation({
    id: 'createHook',
    tag,
    summary: 'Subscribe a URL to events',
    description:
      'Creates a webhook endpoint. It receives events from its creation on, as far as the client that created it may read ' +
      'them.',
    body: jsonBody(NEW_HOOK),
    responses: jsonResponse('The hook, with its secret.', NEW_HOOK_SHAPE, 201, ['Location']),
    errors: [...VALIDATION_ERRORS, 'invalid-endpoint', 'too-many-endpoints', 'write-conflict'],
  }),
  get: declareOperation({
    id: 'getHook',
    tag,
    summary: 'Get a hook',
    parameters: [ONE],
    responses: jsonResponse('The hook.', HOOK_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'endpoint-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteHook',
    tag,
    summary: 'Unsubscribe: delete a hook and its pending deliveries',
    parameters: [ONE],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'endpoint-not-found', 'write-conflict'],
  }),
};

export interface RestHookRoutesOptions {
  readonly authenticator: Pick<Authenticator, 'refreshIgnoringExpiry'>;
  readonly policies: Policies;
  readonly endpoints: Endpoints;
  readonly mode: ServerMode;
}

export async function restHookRoutes(app: FastifyInstance, options: RestHookRoutesOptions): Promise<void> {
  const { authenticator, policies, endpoints, mode } = options;
  const enter = (request: FastifyRequest, action: ResourceAction) => {
    parseQueryParameters(request, []);
    return authorizeWebhookRequest(policies, mode, request, action);
  };
  const hook = async (id: string, of: Creator | null) => {
    const shown = await endpoints.show(id, of).catch((error: unknown) => {
      throw error instanceof MillraceError && error.code === 'endpoint-not-found' ? missing(id) : error;
    });
    if (shown.endpoint.via !== REST_HOOKS_ROUTE) throw missing(id);
    return shown;
  };

  app.get(PATH, { config: OPERATIONS.list }, async (request) => {
    const targetUrl = parseQueryParameters(request, ['targetUrl']).get('targetUrl');
    if (targetUrl === '') throw new MillraceError('invalid-parameter', "The parameter 'targetUrl' must not be empty");
    const { owner } = authorizeWebhookRequest(policies, mode, request, 'read');
    const hooks = (await endpoints.list(owner)).filter(({ endpoint }) => endpoint.via === REST_HOOKS_ROUTE);
    return hooks.filter(({ endpoint }) => targetUrl === null || endpoint.url === targetUrl).map(toHook);
  });

  app.post(PATH, { config: OPERATIONS.create }, async (request, reply) => {
    const { creator, stamp } = enter(request, 'create');
    const { targetUrl: url, event, filter = null } = validateBody(NEW_HOOK, request.body);
    const isZapier = ZAPIER.test(request.headers['user-agent'] ?? '');
    const body = { url, types: [event], filter, ...(isZapier ? { ratePerSecond: ZAPIER_RATE } : {}) };
    const { shown, secret } = await endpoints.create(body, creator, stamp, REST_HOOKS_ROUTE).catch((error: unknown) => {
      throw asHookError(error);
    });
    const { id } = shown.endpoint;
    await undoIfCredentialRevoked(authenticator, request, () => endpoints.remove({ id, owner: null, stamp }));
    return reply
      .code(201)
      .header('location', `${PATH}/${shown.endpoint.id}`)
      .send({ ...toHook(shown), secret });
  });

  app.get<IdPathParams>(`${PATH}/:id`, { config: OPERATIONS.get }, async (request) => {
    const { owner } = enter(request, 'read');
    return toHook(await hook(request.params.id, owner));
  });

  app.delete<IdPathParams>(`${PATH}/:id`, { config: OPERATIONS.remove }, async (request, reply) => {
    const { owner, stamp } = enter(request, 'delete');
    const { endpoint } = await hook(request.params.id, owner);
    await endpoints.remove({ id: endpoint.id, owner: owner, stamp });
    return reply.code(204).send();
  });
}

/** An endpoint as a hook. If its types were changed later, the hook shows all of them. */
function toHook({ endpoint }: EndpointView) {
  const { id, url: targetUrl, types, filter, enabled, disabledReason, createdAt } = endpoint;
  return { id, targetUrl, event: types.join(','), filter, enabled, disabledReason, createdAt };
}

/** Translates an error of the endpoint into the terms of the hook. */
function asHookError(error: unknown): unknown {
  if (!(error instanceof MillraceError) || error.code !== 'invalid-endpoint') return error;
  const issues = error.issues.map((issue) => {
    const [, pointer] = IN_HOOKS.find(([one]) => one === issue.pointer) ?? [null, issue.pointer];
    return { ...issue, pointer };
  });
  const [first] = issues;
  const message = `The hook is invalid: ${first?.pointer || '/'} ${first?.detail}`;
  return error.with({ message, issues });
}

function missing(id: string): MillraceError {
  return new MillraceError('endpoint-not-found', `There is no hook '${id.slice(0, 80)}'`);
}
