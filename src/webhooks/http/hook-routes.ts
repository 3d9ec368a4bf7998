/**
 * REST hooks: how automation services subscribe to events and unsubscribe again. A hook is an endpoint in the words that these
 * services use, owned by the client that made it. Not here: what an endpoint is (endpoint/), and everything else that can be
 * done with one (endpoint-routes.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Action } from '../../auth/identity/principal.ts';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { idParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf, nullable, shape, TIME } from '../../contract/schema.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { parameters } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { DISABLED_REASONS, HOOKS, type Maker } from '../endpoint/endpoint.ts';
import { FILTER, URL as TARGET_URL } from '../endpoint/endpoint-schema.ts';
import type { Endpoints, ShownEndpoint } from '../endpoint/endpoints.ts';
import { askingFor, confirmStanding } from './asking.ts';
import type { OnId } from './endpoint-routes.ts';

const tag = 'Webhooks';
const PATH = '/hooks';

/** What Zapier takes of one subscription, in calls a second. */
const ZAPIER_RATE = 25;
const ZAPIER = /\bzapier\b/i;

const EVENT = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'An event type, such as `todos.created`, in which `*` stands for anything.',
});

const NEW_HOOK = Type.Object(
  { targetUrl: TARGET_URL, event: EVENT, filter: FILTER },
  { additionalProperties: false, description: 'A new hook.' },
);

/** Members of an endpoint by the name that they have in a hook. */
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
const HOOK_SHAPE = shape('Hook', Type.Object(SHOWN));
const NEW_HOOK_SHAPE = shape(
  'NewHook',
  Type.Object({ ...SHOWN, secret: Type.String({ description: 'The secret that signs. It is not shown again.' }) }),
);
const ONE = idParameter('id', 'the hook');

const OPERATIONS = {
  list: operation({
    id: 'hooks.list',
    tag,
    summary: 'List hooks',
    parameters: [queryParameter('targetUrl', 'Only those with this target, which must be the same text.')],
    answers: answer('All that the client reaches, the oldest first.', listOf(HOOK_SHAPE)),
    errors: [...ASKED_ERRORS, 'invalid-parameter'],
  }),
  create: operation({
    id: 'hooks.create',
    tag,
    summary: 'Subscribe a URL to events',
    description:
      'Makes a webhook endpoint. It gets the events that come after it was made, as far as the client that made it may read ' +
      'them.',
    body: jsonBody(NEW_HOOK),
    answers: answer('The hook, with its secret.', NEW_HOOK_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, 'invalid-endpoint', 'too-many-endpoints', 'contention'],
  }),
  get: operation({
    id: 'hooks.get',
    tag,
    summary: 'Get a hook',
    parameters: [ONE],
    answers: answer('The hook.', HOOK_SHAPE),
    errors: [...ASKED_ERRORS, 'endpoint-not-found'],
  }),
  remove: operation({
    id: 'hooks.remove',
    tag,
    summary: 'Unsubscribe: remove a hook, and what was still to be sent to it',
    parameters: [ONE],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'endpoint-not-found', 'contention'],
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
    return askingFor(policies, mode, request, action);
  };
  const hook = async (id: string, of: Maker | null) => {
    const shown = await endpoints.show(id, of).catch((error: unknown) => {
      throw error instanceof MillraceError && error.code === 'endpoint-not-found' ? missing(id) : error;
    });
    if (shown.endpoint.via !== HOOKS) throw missing(id);
    return shown;
  };

  app.get(PATH, { config: OPERATIONS.list }, async (request) => {
    const targetUrl = parameters(request, ['targetUrl']).get('targetUrl');
    if (targetUrl === '') throw new MillraceError('invalid-parameter', "The parameter 'targetUrl' must not be empty");
    const { of } = askingFor(policies, mode, request, 'read');
    const hooks = (await endpoints.list(of)).filter(({ endpoint }) => endpoint.via === HOOKS);
    return hooks.filter(({ endpoint }) => targetUrl === null || endpoint.url === targetUrl).map(toHook);
  });

  app.post(PATH, { config: OPERATIONS.create }, async (request, reply) => {
    const { maker, stamp } = enter(request, 'create');
    const { targetUrl: url, event, filter = null } = checked(NEW_HOOK, request.body);
    const isZapier = ZAPIER.test(request.headers['user-agent'] ?? '');
    const body = { url, types: [event], filter, ...(isZapier ? { ratePerSecond: ZAPIER_RATE } : {}) };
    const { shown, secret } = await endpoints.create(body, maker, stamp, HOOKS).catch((error: unknown) => {
      throw asHookError(error);
    });
    const { id } = shown.endpoint;
    await confirmStanding(authenticator, request, () => endpoints.remove({ id, of: null, stamp }));
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

/** An endpoint as a hook. One that was given more types since shows them all. */
function toHook({ endpoint }: ShownEndpoint) {
  const { id, url: targetUrl, types, filter, enabled, disabledReason, createdAt } = endpoint;
  return { id, targetUrl, event: types.join(','), filter, enabled, disabledReason, createdAt };
}

/** A refusal of the endpoint in the words of the hook. */
function asHookError(error: unknown): unknown {
  if (!(error instanceof MillraceError) || error.code !== 'invalid-endpoint') return error;
  const faults = error.faults.map((fault) => {
    const [, pointer] = IN_HOOKS.find(([one]) => one === fault.pointer) ?? [null, fault.pointer];
    return { ...fault, pointer };
  });
  const [first] = faults;
  const message = `The hook is not as expected: ${first?.pointer || '/'} ${first?.detail}`;
  return error.with({ message, faults });
}

function missing(id: string): MillraceError {
  return new MillraceError('endpoint-not-found', `There is no hook '${id.slice(0, 80)}'`);
}
