/**
 * Webhook endpoints over HTTP: made, changed, tried out, and given what they have missed. Not here: what an endpoint is
 * (endpoint/), and single deliveries (delivery-routes.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Action } from '../../auth/identity/principal.ts';
import { versionCondition, versionTag } from '../../collections/store/preconditions.ts';
import { type LogPosition, parsePosition } from '../../events/log/position.ts';
import { requireTypes } from '../../events/read/wanted-types.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { ACCOUNT_TYPES } from '../../kernel/event-types.ts';
import { checked } from '../../kernel/parse-body.ts';
import { parameters, requireMediaType } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Maker } from '../endpoint/endpoint.ts';
import type { EndpointChange, Endpoints, ShownEndpoint } from '../endpoint/endpoints.ts';
import type { LogReplays } from '../planning/replays.ts';
import type { LogSamples } from '../planning/samples.ts';
import type { Health, Sender } from '../sending/sender.ts';
import { accountsForbidden, isRouting, mayReadAccounts } from './account-events.ts';
import { askingFor, confirmStanding } from './asking.ts';
import { ENDPOINT_OPERATIONS as OPERATIONS } from './endpoint-operations.ts';
import { TEST_TYPE, testDelivery } from './test-delivery.ts';
import { RECOVER, REPLAY, ROTATE, TEST } from './webhook-shapes.ts';

export interface Webhooks {
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly samples: Pick<LogSamples, 'newest' | 'newestOf'>;
  readonly replays: Pick<LogReplays, 'begin' | 'find'>;
  /** Whether endpoints of a maker may have been sent events of accounts. */
  readonly mayTellOfAccounts: (maker: Maker) => Promise<boolean>;
}

export interface WebhookRoutesOptions {
  readonly authenticator: Pick<Authenticator, 'present'>;
  readonly policies: Policies;
  readonly webhooks: Webhooks;
  readonly mode: Mode;
  /** Where the log ends, as `<epoch>-<number>`. */
  readonly position: () => string;
}

export interface OnId {
  Params: { id: string };
}

const URL = '/webhooks/endpoints';
const DAY_SECONDS = 24 * 3_600;
/** Of an endpoint that the sender knows nothing of yet. */
const UNTRIED: Health = {
  breaker: 'closed',
  pending: 0,
  lastSuccessAt: null,
  lastFailureAt: null,
  failingSince: null,
  fault: null,
};

export async function endpointRoutes(app: FastifyInstance, options: WebhookRoutesOptions): Promise<void> {
  const { authenticator, policies, mode, position } = options;
  const { endpoints, sender, samples, replays, mayTellOfAccounts } = options.webhooks;
  const enter = (request: FastifyRequest, action: Action) => {
    parameters(request, []);
    return askingFor(policies, mode, request, action);
  };
  const withHealth = async (shown: readonly ShownEndpoint[]) => {
    const health = await sender.health(shown.map(({ endpoint }) => endpoint.id));
    return shown.map(({ endpoint }) => ({ ...endpoint, health: health.get(endpoint.id) ?? UNTRIED }));
  };
  const send = async (reply: FastifyReply, shown: ShownEndpoint, more: object = {}) => {
    const [endpoint] = await withHealth([shown]);
    return reply.header('etag', versionTag(shown.version)).send({ ...endpoint, ...more });
  };
  /** What a request to change one endpoint may do. */
  const changeOf = (request: FastifyRequest<OnId>, action: Action): EndpointChange => ({
    ...enter(request, action),
    id: request.params.id,
    condition: versionCondition(request.headers),
  });

  /** Events go to an endpoint by the rights of its maker. So who may read less must not choose which, and where they go. */
  const requireRouting = async ({ principal, params }: FastifyRequest<OnId>, { of }: EndpointChange) => {
    if (of !== null || mayReadAccounts(policies, principal)) return;
    const { endpoint } = await endpoints.show(params.id, of);
    const { kind, id } = endpoint.principal;
    const isOwn = principal.kind !== 'anonymous' && principal.kind === kind && principal.id === id;
    if (isOwn || !(await mayTellOfAccounts(endpoint.principal))) return;
    throw accountsForbidden(
      'What made this endpoint may read accounts, so you must not change its URL, headers or events',
    );
  };

  app.get(URL, { config: OPERATIONS.list }, async (request) => {
    const { of } = enter(request, 'read');
    return withHealth(await endpoints.list(of));
  });

  app.post(URL, { config: OPERATIONS.create }, async (request, reply) => {
    const { maker, stamp } = enter(request, 'create');
    const { shown, secret } = await endpoints.create(request.body, maker, stamp);
    const { id } = shown.endpoint;
    await confirmStanding(authenticator, request, () => endpoints.remove({ id, of: null, stamp }));
    return send(reply.code(201).header('location', `${URL}/${shown.endpoint.id}`), shown, { secret });
  });

  app.get<OnId>(`${URL}/:id`, { config: OPERATIONS.get }, async (request, reply) => {
    const { of } = enter(request, 'read');
    return send(reply, await endpoints.show(request.params.id, of));
  });

  app.patch<OnId>(`${URL}/:id`, { config: OPERATIONS.change }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/merge-patch+json', 'application/json']);
    if (isRouting(request.body)) await requireRouting(request, change);
    return send(reply, await endpoints.change(request.body, change));
  });

  app.delete<OnId>(`${URL}/:id`, { config: OPERATIONS.remove }, async (request, reply) => {
    await endpoints.remove(changeOf(request, 'delete'));
    return reply.code(204).send();
  });

  app.post<OnId>(`${URL}/:id/rotate`, { config: OPERATIONS.rotate }, async (request) => {
    const change = changeOf(request, 'update');
    const { graceSeconds = DAY_SECONDS } = checked(ROTATE, request.body ?? {});
    return endpoints.rotate(graceSeconds * 1_000, change);
  });

  app.post<OnId>(`${URL}/:id/test`, { config: OPERATIONS.test }, async (request, reply) => {
    const { of } = enter(request, 'update');
    const { type = TEST_TYPE } = checked(TEST, request.body ?? {});
    if (type !== TEST_TYPE) wanted('/type', [type]);
    const { endpoint } = await endpoints.show(request.params.id, of);
    requireEnabled(endpoint);
    const sample = type === TEST_TYPE ? null : await samples.newest(endpoint, type);
    if (type !== TEST_TYPE && sample === null) {
      throw new MillraceError(
        'sample-not-found',
        `No recent event of the type '${type}' is one that this endpoint may see`,
        {
          hint: 'Make such an event, or leave the type out',
        },
      );
    }
    const delivery = testDelivery(endpoint.id, sample, positionOf('/position', position()));
    await sender.submit([delivery]);
    const made = await sender.delivery(`${endpoint.id}:${delivery.event}`);
    if (made === null) throw new MillraceError('delivery-not-found', 'The delivery was made and is gone already');
    return reply.code(202).header('location', `/webhooks/deliveries/${made.delivery.id}`).send(made.delivery);
  });

  app.post<OnId>(`${URL}/:id/recover`, { config: OPERATIONS.recover }, async (request, reply) => {
    const { of } = enter(request, 'update');
    const since = new Date(checked(RECOVER, request.body).since);
    if (Number.isNaN(since.getTime())) throw invalid('/since', 'must be a moment that exists');
    const { endpoint } = await endpoints.show(request.params.id, of);
    requireEnabled(endpoint);
    const but = mayReadAccounts(policies, request.principal) ? [] : ACCOUNT_TYPES;
    return reply.code(202).send({ count: await sender.recover(endpoint.id, since, but) });
  });

  app.post<OnId>(`${URL}/:id/replay`, { config: OPERATIONS.replay }, async (request, reply) => {
    const { of, stamp } = enter(request, 'update');
    const { since, until, types = null } = checked(REPLAY, request.body);
    if (types !== null) wanted('/types', types);
    const range = {
      since: positionOf('/since', since),
      until: until === undefined ? null : positionOf('/until', until),
    };
    const { endpoint } = await endpoints.show(request.params.id, of);
    requireEnabled(endpoint);
    const replay = await replays.begin({ endpoint: endpoint.id, ...range, types }, stamp);
    return reply.code(202).header('location', `/webhooks/replays/${replay.id}`).send(replay);
  });

  app.get<OnId>('/webhooks/replays/:id', { config: OPERATIONS.replayed }, async (request) => {
    const { of } = enter(request, 'read');
    const replay = await replays.find(request.params.id);
    if (replay !== null && (of === null || (await endpoints.idsOf(of)).includes(replay.endpoint))) return replay;
    throw new MillraceError('replay-not-found', `There is no replay '${request.params.id.slice(0, 80)}'`);
  });
}

/**
 * Deliveries of a disabled endpoint are discarded, so nothing can be made due for it.
 * @throws MillraceError `endpoint-disabled`
 */
export function requireEnabled({ enabled }: ShownEndpoint['endpoint']): void {
  if (enabled) return;
  throw new MillraceError('endpoint-disabled', 'The endpoint is disabled', { hint: 'PATCH {"enabled":true} first' });
}

function wanted(pointer: string, types: readonly string[]): void {
  try {
    requireTypes(types);
  } catch (error) {
    throw error instanceof MillraceError
      ? invalid(pointer, [error.message, error.hint].filter((one) => one !== undefined).join('. '))
      : error;
  }
}

function positionOf(pointer: string, text: string): LogPosition {
  const position = parsePosition(text);
  if (position === null) throw invalid(pointer, 'must be a position, such as 1-1042');
  return position;
}

function invalid(pointer: string, detail: string): MillraceError {
  const message = `The body is not as expected: ${pointer} ${detail}`;
  return new MillraceError('invalid-body', message, { faults: [{ pointer, code: 'invalid-body', detail }] });
}
