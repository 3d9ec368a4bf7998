/** The operations on deliveries in the OpenAPI document. */
import { operation, REQUEST_ERRORS } from '../../openapi/operation.ts';
import { PAGE_CURSOR, pageLimit, pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf } from '../../openapi/schema.ts';
import { DELIVERY_STATES } from '../sending/sender.ts';
import { ATTEMPT_SHAPE, DELIVERY_SHAPE, MAX_PAGE, WHOLE_DELIVERY_SHAPE } from './webhook-schemas.ts';

const tag = 'webhooks';

const ONE = pathParameter('id', 'Id of the delivery.', { type: 'string', minLength: 1, maxLength: 256 }, 'deliveryId');

export const DELIVERY_OPERATIONS = {
  list: operation({
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
      pageLimit(MAX_PAGE),
      PAGE_CURSOR,
    ],
    responses: {
      200: {
        description: 'A page, newest first.',
        schema: listOf(DELIVERY_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...REQUEST_ERRORS, 'invalid-parameter', 'cursor-mismatch', 'endpoint-not-found'],
  }),
  get: operation({
    id: 'getWebhookDelivery',
    tag,
    summary: 'Get a delivery with its body',
    parameters: [ONE],
    responses: { 200: { description: 'The delivery.', schema: WHOLE_DELIVERY_SHAPE } },
    errors: [...REQUEST_ERRORS, 'delivery-not-found'],
  }),
  attempts: operation({
    id: 'listWebhookDeliveryAttempts',
    tag,
    summary: 'List the attempts of a delivery',
    parameters: [ONE],
    responses: { 200: { description: 'The stored attempts, oldest first.', schema: listOf(ATTEMPT_SHAPE) } },
    errors: [...REQUEST_ERRORS, 'delivery-not-found'],
  }),
  resend: operation({
    id: 'resendWebhookDelivery',
    tag,
    summary: 'Resend a delivery',
    parameters: [ONE],
    responses: { 202: { description: 'The delivery, which is due now.', schema: DELIVERY_SHAPE } },
    errors: [...REQUEST_ERRORS, 'delivery-not-found', 'endpoint-not-found', 'endpoint-disabled'],
  }),
};
