/**
 * Deliveries over HTTP: what was sent, how each try went, and sending one again. Not here: how they are sent (sending/), and
 * endpoints (endpoint-routes.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireTypes } from '../../events/read/wanted-types.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { parameters } from '../../kernel/request.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { Maker } from '../endpoint/endpoint.ts';
import { DELIVERY_STATES, type Delivery, type DeliveryQuery } from '../sending/sender.ts';
import { accountsForbidden, isOfAccounts, mayReadAccounts, withoutResponses } from './account-events.ts';
import { askingFor } from './asking.ts';
import { DELIVERY_OPERATIONS as OPERATIONS } from './delivery-operations.ts';
import { type OnId, requireEnabled, type WebhookRoutesOptions } from './endpoint-routes.ts';
import { TEST_TYPE } from './test-delivery.ts';
import { DEFAULT_PAGE, MAX_PAGE } from './webhook-shapes.ts';

const URL = '/webhooks/deliveries';
const PARAMETERS = ['endpoint', 'state', 'type', 'event', 'limit', 'cursor'];

export async function deliveryRoutes(app: FastifyInstance, options: WebhookRoutesOptions): Promise<void> {
  const { policies, mode } = options;
  const { endpoints, sender } = options.webhooks;

  /** Refuses a delivery that is not there, or belongs to an endpoint of somebody else. */
  const requireReach = async (id: string, of: Maker | null) => {
    const found = await sender.delivery(id);
    if (found !== null && (of === null || (await endpoints.idsOf(of)).includes(found.delivery.endpoint))) return found;
    throw missing(id);
  };

  app.get(URL, { config: OPERATIONS.list }, async (request, reply) => {
    const { of } = askingFor(policies, mode, request, 'read');
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

  /** Whether somebody may see what was sent with a delivery, and send it again. */
  const maySee = ({ principal }: FastifyRequest, { type }: Delivery) =>
    !isOfAccounts(type) || mayReadAccounts(policies, principal);

  app.get<OnId>(`${URL}/:id`, { config: OPERATIONS.get }, async (request, reply) => {
    parameters(request, []);
    const { of } = askingFor(policies, mode, request, 'read');
    const { delivery, body } = await requireReach(request.params.id, of);
    if (maySee(request, delivery)) return { ...delivery, body };
    reply.header('millrace-hint', 'The body tells of accounts, which you may not read');
    return { ...delivery, body: null };
  });

  app.get<OnId>(`${URL}/:id/attempts`, { config: OPERATIONS.attempts }, async (request) => {
    parameters(request, []);
    const { of } = askingFor(policies, mode, request, 'read');
    const { delivery } = await requireReach(request.params.id, of);
    const attempts = await sender.attempts(delivery.id);
    return maySee(request, delivery) ? attempts : withoutResponses(attempts);
  });

  app.post<OnId>(`${URL}/:id/resend`, { config: OPERATIONS.resend }, async (request, reply) => {
    parameters(request, []);
    const { of } = askingFor(policies, mode, request, 'update');
    const { delivery } = await requireReach(request.params.id, of);
    if (!maySee(request, delivery))
      throw accountsForbidden('The delivery tells of accounts, so you must not send it again');
    requireEnabled((await endpoints.show(delivery.endpoint, of)).endpoint);
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
  const found = parameters(request, PARAMETERS);
  const text = (name: string) => {
    const value = found.get(name);
    if (value === '') throw invalid(name, 'must not be empty');
    return value ?? undefined;
  };
  const limitText = text('limit') ?? String(DEFAULT_PAGE);
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_PAGE) throw invalid('limit', `must be a number from 1 to ${MAX_PAGE}`);
  const [endpoint, event, type, after] = ['endpoint', 'event', 'type', 'cursor'].map(text);
  const stateText = text('state');
  const state = DELIVERY_STATES.find((one) => one === stateText);
  if (stateText !== undefined && state === undefined) {
    throw invalid('state', `must be one of ${DELIVERY_STATES.join(', ')}`);
  }
  if (type !== undefined && type !== TEST_TYPE) requireTypes([type]);
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
