/** Routes of deliveries: list, read, attempts, resend. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { Creator } from '../endpoint/endpoint.ts';
import { DELIVERY_STATES, type Delivery, type DeliveryQuery } from '../sending/sender.ts';
import { DELIVERY_OPERATIONS as OPERATIONS } from './delivery-openapi.ts';
import { type IdPathParams, requireEnabledEndpoint, type WebhookRoutesOptions } from './endpoint-routes.ts';
import { TEST_EVENT_TYPE } from './test-delivery.ts';
import { isUserEvent, mayReadUsers, omitAttemptResponses, userEventsForbidden } from './user-events.ts';
import { authorizeWebhookRequest } from './webhook-access.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './webhook-schemas.ts';

const URL = '/webhooks/deliveries';
const PARAMETERS = ['endpoint', 'state', 'eventType', 'eventId', 'limit', 'cursor'];

export type DeliveryRoutesOptions = Pick<WebhookRoutesOptions, 'policies' | 'endpoints' | 'sender' | 'mode'>;

export async function deliveryRoutes(app: FastifyInstance, options: DeliveryRoutesOptions): Promise<void> {
  const { policies, endpoints, sender, mode } = options;

  /** Rejects a delivery that does not exist or belongs to another principal's endpoint. */
  const requireScopeFilter = async (id: string, of: Creator | null) => {
    const found = await sender.delivery(id);
    if (found !== null && (of === null || (await endpoints.idsOf(of)).includes(found.delivery.endpoint))) return found;
    throw missing(id);
  };

  app.get(URL, { config: OPERATIONS.list }, async (request, reply) => {
    const { owner: of } = authorizeWebhookRequest(policies, mode, request, 'read');
    const query = parseDeliveryQuery(request);
    const reached = of === null ? {} : { endpoints: await endpoints.idsOf(of) };
    if (query.endpoint !== undefined && reached.endpoints?.includes(query.endpoint) === false) {
      throw new MillraceError('endpoint-not-found', `There is no endpoint '${query.endpoint.slice(0, 80)}'`);
    }
    const { deliveries, next } = await sender.deliveries({ ...query, ...reached });
    const links = pageLinks(request.url, { next: next === null ? null : encodeURIComponent(next), prev: null });
    if (links !== null) reply.header('link', links);
    if (next !== null) reply.header('millrace-next', next);
    return deliveries;
  });

  /** Whether the client may read what a delivery sent, and resend it. */
  const maySee = ({ principal }: FastifyRequest, { type }: Delivery) =>
    !isUserEvent(type) || mayReadUsers(policies, principal);

  app.get<IdPathParams>(`${URL}/:id`, { config: OPERATIONS.get }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { owner: of } = authorizeWebhookRequest(policies, mode, request, 'read');
    const { delivery, body } = await requireScopeFilter(request.params.id, of);
    if (maySee(request, delivery)) return { ...delivery, body };
    reply.header('millrace-hint', 'The body contains data of users, which you have no permission to read');
    return { ...delivery, body: null };
  });

  app.get<IdPathParams>(`${URL}/:id/attempts`, { config: OPERATIONS.attempts }, async (request) => {
    parseQueryParameters(request, []);
    const { owner: of } = authorizeWebhookRequest(policies, mode, request, 'read');
    const { delivery } = await requireScopeFilter(request.params.id, of);
    const attempts = await sender.attempts(delivery.id);
    return maySee(request, delivery) ? attempts : omitAttemptResponses(attempts);
  });

  app.post<IdPathParams>(`${URL}/:id/resend`, { config: OPERATIONS.resend }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { owner: of } = authorizeWebhookRequest(policies, mode, request, 'update');
    const { delivery } = await requireScopeFilter(request.params.id, of);
    if (!maySee(request, delivery))
      throw userEventsForbidden('The delivery contains data of users, which you have no permission to read');
    requireEnabledEndpoint((await endpoints.show(delivery.endpoint, of)).endpoint);
    const again = await sender.resend(delivery.id);
    if (again === null) throw missing(delivery.id);
    return reply.code(202).send(again);
  });
}

function missing(id: string): MillraceError {
  return new MillraceError('delivery-not-found', `There is no delivery '${id.slice(0, 80)}'`);
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseDeliveryQuery(request: FastifyRequest): DeliveryQuery {
  const found = parseQueryParameters(request, PARAMETERS);
  const text = (name: string) => {
    const value = found.get(name);
    if (value === '') throw invalid(name, 'must not be empty');
    return value ?? undefined;
  };
  const limitText = text('limit') ?? String(DEFAULT_PAGE_SIZE);
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_PAGE_SIZE) throw invalid('limit', `must be a number from 1 to ${MAX_PAGE_SIZE}`);
  const [endpoint, event, type, after] = ['endpoint', 'eventId', 'eventType', 'cursor'].map(text);
  const stateText = text('state');
  const state = DELIVERY_STATES.find((one) => one === stateText);
  if (stateText !== undefined && state === undefined) {
    throw invalid('state', `must be one of ${DELIVERY_STATES.join(', ')}`);
  }
  if (type !== undefined && type !== TEST_EVENT_TYPE) requireEventTypes([type]);
  return {
    limit,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(event === undefined ? {} : { event }),
    ...(type === undefined ? {} : { type }),
    ...(state === undefined ? {} : { state }),
    ...(after === undefined ? {} : { after }),
  };
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
