/** The operations on deliveries in the OpenAPI document. */
import { declareOperation, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { PAGE_CURSOR_PARAMETER, pageLimitParameter, pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { DELIVERY_STATES } from '../sending/sender.ts';
import { ATTEMPT_SHAPE, DELIVERY_DETAILS_SHAPE, DELIVERY_SHAPE, MAX_PAGE_SIZE } from './webhook-schemas.ts';

const tag = 'webhooks';

const ONE = pathParameter('id', 'Id of the delivery.', { type: 'string', minLength: 1, maxLength: 256 }, 'deliveryId');

export const DELIVERY_OPERATIONS = {
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
