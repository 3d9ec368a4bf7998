/** Routes of webhook endpoints: CRUD, secret rotation, test, recover, replay. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ResourceAction } from '../../auth/identity/principal.ts';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import type { ServerMode } from '../../config/config.ts';
import { type LogPosition, parsePosition } from '../../events/log/position.ts';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { ACCOUNT_EVENT_TYPES } from '../../lib/event-types.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Creator } from '../endpoint/endpoint.ts';
import type { EndpointChangeContext, Endpoints, EndpointView } from '../endpoint/endpoints.ts';
import type { EventSamples } from '../planning/event-samples.ts';
import type { WebhookReplays } from '../planning/webhook-replays.ts';
import type { EndpointHealth, Sender } from '../sending/sender.ts';
import { createTestDelivery, TEST_EVENT_TYPE } from './create-test-delivery.ts';
import { ENDPOINT_OPERATIONS as OPERATIONS } from './endpoint-openapi.ts';
import { endpointPatchChangesDelivery, mayReadUsers, userEventsForbidden } from './user-event-access.ts';
import { authorizeWebhookRequest, undoIfCredentialRevoked } from './webhook-access.ts';
import { RECOVER_BODY, REPLAY_BODY, ROTATE_SECRET_BODY, TEST_ENDPOINT_BODY } from './webhook-schemas.ts';

export interface WebhookRoutesOptions {
  readonly authenticator: Pick<Authenticator, 'refreshIgnoringExpiry'>;
  readonly policies: Policies;
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly samples: Pick<EventSamples, 'newest' | 'newestOf'>;
  readonly replays: Pick<WebhookReplays, 'begin' | 'find'>;
  /** Whether endpoints of a principal may have received user events. */
  readonly maySendUserEvents: (creator: Creator) => Promise<boolean>;
  readonly mode: ServerMode;
  /** The end of the log, as `<epoch>-<number>`. */
  readonly position: () => string;
}

export interface IdPathParams {
  Params: { id: string };
}

const URL = '/webhooks/endpoints';
const DAY_SECONDS = 24 * 3_600;
/** Health of an endpoint that the sender does not know yet. */
const UNTRIED: EndpointHealth = {
  breaker: 'closed',
  pending: 0,
  lastSuccessAt: null,
  lastFailureAt: null,
  failingSince: null,
  error: null,
};

export async function endpointRoutes(app: FastifyInstance, options: WebhookRoutesOptions): Promise<void> {
  const { authenticator, policies, endpoints, sender, samples, replays, maySendUserEvents, mode, position } = options;
  const enter = (request: FastifyRequest, action: ResourceAction) => {
    parseQueryParameters(request, []);
    return authorizeWebhookRequest(policies, mode, request, action);
  };
  const withHealth = async (shown: readonly EndpointView[]) => {
    const health = await sender.health(shown.map(({ endpoint }) => endpoint.id));
    return shown.map(({ endpoint }) => ({ ...endpoint, health: health.get(endpoint.id) ?? UNTRIED }));
  };
  const send = async (reply: FastifyReply, shown: EndpointView, more: object = {}) => {
    const [endpoint] = await withHealth([shown]);
    return reply.header('etag', versionTag(shown.version)).send({ ...endpoint, ...more });
  };
  /** Rights of a request that changes one endpoint. */
  const changeOf = (request: FastifyRequest<IdPathParams>, action: ResourceAction): EndpointChangeContext => ({
    ...enter(request, action),
    id: request.params.id,
    condition: parseVersionPrecondition(request.headers),
  });

  /**
   * An endpoint receives events by the rights of its creator. A client with fewer rights must not choose which events,
   * and where they go.
   */
  const requireRouting = async (
    { principal, params }: FastifyRequest<IdPathParams>,
    { owner }: EndpointChangeContext,
  ) => {
    if (owner !== null || mayReadUsers(policies, principal)) return;
    const { endpoint } = await endpoints.show(params.id, owner);
    const { kind, id } = endpoint.principal;
    const isOwn = principal.kind !== 'anonymous' && principal.kind === kind && principal.id === id;
    if (isOwn || !(await maySendUserEvents(endpoint.principal))) return;
    throw userEventsForbidden(
      'The creator of this endpoint has permission to read users and you do not, so you must not change its URL, headers or events',
    );
  };

  app.get(URL, { config: OPERATIONS.list }, async (request) => {
    const { owner } = enter(request, 'read');
    return withHealth(await endpoints.list(owner));
  });

  app.post(URL, { config: OPERATIONS.create }, async (request, reply) => {
    const { creator, stamp } = enter(request, 'create');
    const { shown, secret } = await endpoints.create(request.body, creator, stamp);
    const { id } = shown.endpoint;
    await undoIfCredentialRevoked(authenticator, request, () => endpoints.remove({ id, owner: null, stamp }));
    return send(reply.code(201).header('location', `${URL}/${shown.endpoint.id}`), shown, { secret });
  });

  app.get<IdPathParams>(`${URL}/:id`, { config: OPERATIONS.get }, async (request, reply) => {
    const { owner } = enter(request, 'read');
    return send(reply, await endpoints.show(request.params.id, owner));
  });

  app.patch<IdPathParams>(`${URL}/:id`, { config: OPERATIONS.change }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/merge-patch+json', 'application/json']);
    if (endpointPatchChangesDelivery(request.body)) await requireRouting(request, change);
    return send(reply, await endpoints.change(request.body, change));
  });

  app.delete<IdPathParams>(`${URL}/:id`, { config: OPERATIONS.remove }, async (request, reply) => {
    await endpoints.remove(changeOf(request, 'delete'));
    return reply.code(204).send();
  });

  app.post<IdPathParams>(`${URL}/:id/rotate`, { config: OPERATIONS.rotate }, async (request) => {
    const change = changeOf(request, 'update');
    const { graceSeconds = DAY_SECONDS } = validateBody(ROTATE_SECRET_BODY, request.body ?? {});
    return endpoints.rotate(graceSeconds * 1_000, change);
  });

  app.post<IdPathParams>(`${URL}/:id/test`, { config: OPERATIONS.test }, async (request, reply) => {
    const { owner } = enter(request, 'update');
    const { type = TEST_EVENT_TYPE } = validateBody(TEST_ENDPOINT_BODY, request.body ?? {});
    if (type !== TEST_EVENT_TYPE) requested('/type', [type]);
    const { endpoint } = await endpoints.show(request.params.id, owner);
    requireEnabledEndpoint(endpoint);
    const sample = type === TEST_EVENT_TYPE ? null : await samples.newest(endpoint, type);
    if (type !== TEST_EVENT_TYPE && sample === null) {
      throw new MillraceError(
        'event-sample-not-found',
        `This endpoint has no permission to read any recent event of the type '${type}'`,
        {
          hint: 'Create such an event, or omit the type',
        },
      );
    }
    const delivery = createTestDelivery(endpoint.id, sample, positionOf('/position', position()));
    await sender.submit([delivery]);
    const created = await sender.delivery(`${endpoint.id}:${delivery.event}`);
    if (created === null)
      throw new MillraceError('delivery-not-found', 'The delivery was created and has already been deleted');
    return reply.code(202).header('location', `/webhooks/deliveries/${created.delivery.id}`).send(created.delivery);
  });

  app.post<IdPathParams>(`${URL}/:id/recover`, { config: OPERATIONS.recover }, async (request, reply) => {
    const { owner } = enter(request, 'update');
    const since = new Date(validateBody(RECOVER_BODY, request.body).since);
    if (Number.isNaN(since.getTime())) throw invalid('/since', 'must be an existing point in time');
    const { endpoint } = await endpoints.show(request.params.id, owner);
    requireEnabledEndpoint(endpoint);
    const but = mayReadUsers(policies, request.principal) ? [] : ACCOUNT_EVENT_TYPES;
    return reply.code(202).send({ count: await sender.recover(endpoint.id, since, but) });
  });

  app.post<IdPathParams>(`${URL}/:id/replay`, { config: OPERATIONS.replay }, async (request, reply) => {
    const { owner, stamp } = enter(request, 'update');
    const { since, until, types = null } = validateBody(REPLAY_BODY, request.body);
    if (types !== null) requested('/types', types);
    const range = {
      since: positionOf('/since', since),
      until: until === undefined ? null : positionOf('/until', until),
    };
    const { endpoint } = await endpoints.show(request.params.id, owner);
    requireEnabledEndpoint(endpoint);
    const replay = await replays.begin({ endpoint: endpoint.id, ...range, types }, stamp);
    return reply.code(202).header('location', `/webhooks/replays/${replay.id}`).send(replay);
  });

  app.get<IdPathParams>('/webhooks/replays/:id', { config: OPERATIONS.getReplay }, async (request) => {
    const { owner } = enter(request, 'read');
    const replay = await replays.find(request.params.id);
    if (replay !== null && (owner === null || (await endpoints.idsOf(owner)).includes(replay.endpoint))) return replay;
    throw new MillraceError('replay-not-found', `There is no replay '${request.params.id.slice(0, 80)}'`);
  });
}

/**
 * Deliveries of a disabled endpoint are canceled, so nothing can be made due for it.
 * @throws MillraceError `endpoint-disabled`
 */
export function requireEnabledEndpoint({ enabled }: EndpointView['endpoint']): void {
  if (enabled) return;
  throw new MillraceError('endpoint-disabled', 'The endpoint is disabled', { hint: 'PATCH {"enabled":true} first' });
}

function requested(pointer: string, types: readonly string[]): void {
  try {
    requireEventTypes(types);
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
  const message = `The body is invalid: ${pointer} ${detail}`;
  return new MillraceError('invalid-body', message, { issues: [{ pointer, code: 'invalid-body', detail }] });
}
