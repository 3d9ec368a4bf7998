/** Routes of deliveries: list, read, attempts, resend. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { declareOperation, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { PAGE_CURSOR_PARAMETER, pageLimitParameter, pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { Creator } from '../endpoint/endpoint.ts';
import { DELIVERY_STATES, type Delivery, type DeliveryQuery } from '../sending/sender.ts';
import { TEST_EVENT_TYPE } from './create-test-delivery.ts';
import { type IdPathParams, requireEnabledEndpoint, type WebhookRoutesOptions } from './endpoint-routes.ts';
import { isUserEvent, mayReadUsers, omitAttemptResponses, userEventsForbidden } from './user-event-access.ts';
import { authorizeWebhookRequest } from './webhook-access.ts';
import {
  ATTEMPT_SHAPE,
  DEFAULT_PAGE_SIZE,
  DELIVERY_DETAILS_SHAPE,
  DELIVERY_SHAPE,
  MAX_PAGE_SIZE,
} from './webhook-schemas.ts';

const tag = 'webhooks';

const ONE = pathParameter('id', 'Id of the delivery.', { type: 'string', minLength: 1, maxLength: 256 }, 'deliveryId');

const DELIVERY_OPERATIONS = {
  list: declareOperation({
    id: 'listWebhookDeliveries',
    tag,
    summary: 'List deliveries',
    parameters: [
      queryParameter('endpoint', 'Only deliveries of this endpoint.'),
      queryParameter(
        'state',
        'Only those in this state.',
        { type: 'string', enum: [...DELIVERY_STATES] },
        'deliveryState',
      ),
      queryParameter('eventType', 'Only deliveries of events of this type; `*` is a wildcard.'),
      queryParameter('eventId', 'Only those of the event with this id.'),
      pageLimitParameter(MAX_PAGE_SIZE),
      PAGE_CURSOR_PARAMETER,
    ],
    responses: {
      200: {
        description: 'A page, newest first.',
        schema: arraySchema(DELIVERY_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-parameter', 'cursor-mismatch', 'endpoint-not-found'],
  }),
  get: declareOperation({
    id: 'getWebhookDelivery',
    tag,
    summary: 'Get a delivery with its body',
    parameters: [ONE],
    responses: { 200: { description: 'The delivery.', schema: DELIVERY_DETAILS_SHAPE } },
    errors: [...QUERY_PARAMETER_ERRORS, 'delivery-not-found'],
  }),
  attempts: declareOperation({
    id: 'listWebhookDeliveryAttempts',
    tag,
    summary: 'List the attempts of a delivery',
    parameters: [ONE],
    responses: { 200: { description: 'The stored attempts, oldest first.', schema: arraySchema(ATTEMPT_SHAPE) } },
    errors: [...QUERY_PARAMETER_ERRORS, 'delivery-not-found'],
  }),
  resend: declareOperation({
    id: 'resendWebhookDelivery',
    tag,
    summary: 'Resend a delivery',
    parameters: [ONE],
    responses: { 202: { description: 'The delivery, which is due now.', schema: DELIVERY_SHAPE } },
    errors: [...QUERY_PARAMETER_ERRORS, 'delivery-not-found', 'endpoint-not-found', 'endpoint-disabled'],
  }),
};

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

  app.get(URL, { config: DELIVERY_OPERATIONS.list }, async (request, reply) => {
    const { owner } = authorizeWebhookRequest(policies, mode, request, 'read');
    const query = parseDeliveryQuery(request);
    const reached = owner === null ? {} : { endpoints: await endpoints.idsOf(owner) };
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

  app.get<IdPathParams>(`${URL}/:id`, { config: DELIVERY_OPERATIONS.get }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { owner } = authorizeWebhookRequest(policies, mode, request, 'read');
    const { delivery, body } = await requireScopeFilter(request.params.id, owner);
    if (maySee(request, delivery)) return { ...delivery, body };
    reply.header('millrace-hint', 'The body contains data of users, which you have no permission to read');
    return { ...delivery, body: null };
  });

  app.get<IdPathParams>(`${URL}/:id/attempts`, { config: DELIVERY_OPERATIONS.attempts }, async (request) => {
    parseQueryParameters(request, []);
    const { owner } = authorizeWebhookRequest(policies, mode, request, 'read');
    const { delivery } = await requireScopeFilter(request.params.id, owner);
    const attempts = await sender.attempts(delivery.id);
    return maySee(request, delivery) ? attempts : omitAttemptResponses(attempts);
  });

  app.post<IdPathParams>(`${URL}/:id/resend`, { config: DELIVERY_OPERATIONS.resend }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { owner } = authorizeWebhookRequest(policies, mode, request, 'update');
    const { delivery } = await requireScopeFilter(request.params.id, owner);
    if (!maySee(request, delivery))
      throw userEventsForbidden('The delivery contains data of users, which you have no permission to read');
    requireEnabledEndpoint((await endpoints.show(delivery.endpoint, owner)).endpoint);
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
