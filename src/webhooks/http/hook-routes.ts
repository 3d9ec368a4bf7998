/**
 * REST hooks: automation services subscribe to events and unsubscribe. A hook is an endpoint in the terms of these
 * services, and belongs to the client that created it.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Action } from '../../auth/identity/principal.ts';
import type { Mode } from '../../config/config.ts';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import { parameters } from '../../lib/request.ts';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { idParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf, nullable, shape, TIME } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import { type Creator, DISABLED_REASONS, HOOKS } from '../endpoint/endpoint.ts';
import { FILTER, URL as TARGET_URL } from '../endpoint/endpoint-schema.ts';
import type { Endpoints, EndpointView } from '../endpoint/endpoints.ts';
import type { OnId } from './endpoint-routes.ts';
import { confirmPrincipal, requestingFor } from './webhook-access.ts';

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
  { targetUrl: TARGET_URL, event: EVENT, filter: FILTER },
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
  createdAt: nullable(TIME),
};
const HOOK_SHAPE = shape('RestHook', Type.Object(SHOWN));
const NEW_HOOK_SHAPE = shape(
  'RestHookWithSecret',
  Type.Object({ ...SHOWN, secret: Type.String({ description: 'The signing secret. It is not shown again.' }) }),
);
const ONE = idParameter('id', 'the hook', 'hookId');

const OPERATIONS = {
  list: operation({
    id: 'listHooks',
    tag,
    summary: 'List hooks',
    parameters: [queryParameter('targetUrl', 'Only hooks with exactly this target URL.')],
    responses: response('All hooks that the client may read, oldest first.', listOf(HOOK_SHAPE)),
    errors: [...REQUEST_ERRORS, 'invalid-parameter'],
  }),
  create: operation({
    id: 'createHook',
    tag,
    summary: 'Subscribe a URL to events',
    description:
      'Creates a webhook endpoint. It receives events from its creation on, as far as the client that created it may read ' +
      'them.',
    body: jsonBody(NEW_HOOK),
    responses: response('The hook, with its secret.', NEW_HOOK_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, 'invalid-endpoint', 'too-many-endpoints', 'write-conflict'],
  }),
  get: operation({
    id: 'getHook',
    tag,
    summary: 'Get a hook',
    parameters: [ONE],
    responses: response('The hook.', HOOK_SHAPE),
    errors: [...REQUEST_ERRORS, 'endpoint-not-found'],
  }),
  remove: operation({
    id: 'deleteHook',
    tag,
    summary: 'Unsubscribe: delete a hook and its pending deliveries',
    parameters: [ONE],
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'endpoint-not-found', 'write-conflict'],
  }),
};

export interface HookRoutesOptions {
  readonly authenticator: Pick<Authenticator, 'present'>;
  readonly policies: Policies;
  readonly webhooks: { readonly endpoints: Endpoints };
  readonly mode: Mode;
}

export async function hookRoutes(app: FastifyInstance, options: HookRoutesOptions): Promise<void> {
  const { authenticator, policies, mode } = options;
  const { endpoints } = options.webhooks;
  const enter = (request: FastifyRequest, action: Action) => {
    parameters(request, []);
    return requestingFor(policies, mode, request, action);
  };
  const hook = async (id: string, of: Creator | null) => {
    const shown = await endpoints.show(id, of).catch((error: unknown) => {
      throw error instanceof MillraceError && error.code === 'endpoint-not-found' ? missing(id) : error;
    });
    if (shown.endpoint.via !== HOOKS) throw missing(id);
    return shown;
  };

  app.get(PATH, { config: OPERATIONS.list }, async (request) => {
    const targetUrl = parameters(request, ['targetUrl']).get('targetUrl');
    if (targetUrl === '') throw new MillraceError('invalid-parameter', "The parameter 'targetUrl' must not be empty");
    const { of } = requestingFor(policies, mode, request, 'read');
    const hooks = (await endpoints.list(of)).filter(({ endpoint }) => endpoint.via === HOOKS);
    return hooks.filter(({ endpoint }) => targetUrl === null || endpoint.url === targetUrl).map(toHook);
  });

  app.post(PATH, { config: OPERATIONS.create }, async (request, reply) => {
    const { creator, stamp } = enter(request, 'create');
    const { targetUrl: url, event, filter = null } = checked(NEW_HOOK, request.body);
    const isZapier = ZAPIER.test(request.headers['user-agent'] ?? '');
    const body = { url, types: [event], filter, ...(isZapier ? { ratePerSecond: ZAPIER_RATE } : {}) };
    const { shown, secret } = await endpoints.create(body, creator, stamp, HOOKS).catch((error: unknown) => {
      throw asHookError(error);
    });
    const { id } = shown.endpoint;
    await confirmPrincipal(authenticator, request, () => endpoints.remove({ id, of: null, stamp }));
    return reply
      .code(201)
      .header('location', `${PATH}/${shown.endpoint.id}`)
      .send({ ...toHook(shown), secret });
  });

  app.get<OnId>(`${PATH}/:id`, { config: OPERATIONS.get }, async (request) => {
    const { of } = enter(request, 'read');
    return toHook(await hook(request.params.id, of));
  });

  app.delete<OnId>(`${PATH}/:id`, { config: OPERATIONS.remove }, async (request, reply) => {
    const { of, stamp } = enter(request, 'delete');
    const { endpoint } = await hook(request.params.id, of);
    await endpoints.remove({ id: endpoint.id, of, stamp });
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
