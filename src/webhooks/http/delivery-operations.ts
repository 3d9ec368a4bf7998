/** The operations on deliveries as the contract describes them. Not here: the routes (delivery-routes.ts). */
import { ASKED_ERRORS, operation } from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { DELIVERY_STATES } from '../sending/sender.ts';
import { ATTEMPT_SHAPE, DELIVERY_SHAPE, MAX_PAGE, WHOLE_DELIVERY_SHAPE } from './webhook-shapes.ts';

const tag = 'Webhooks';

const ONE = pathParameter('id', 'Id of the delivery.', { type: 'string', minLength: 1, maxLength: 256 });

export const DELIVERY_OPERATIONS = {
  list: operation({
    id: 'webhooks.deliveries.list',
    tag,
    summary: 'List deliveries',
    parameters: [
      queryParameter('endpoint', 'Only those of this endpoint.'),
      queryParameter('state', 'Only those in this state.', { type: 'string', enum: [...DELIVERY_STATES] }),
      queryParameter('type', 'Only those of events of this type, in which `*` stands for anything.'),
      queryParameter('event', 'Only those of this event.'),
      queryParameter('limit', 'The most items of a page.', { type: 'integer', minimum: 1, maximum: MAX_PAGE }),
      queryParameter('cursor', 'Where the page begins: from `Link`, or the `Millrace-Next` of the page before.'),
    ],
    answers: {
      200: {
        description: 'A page, the newest first.',
        schema: listOf(DELIVERY_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...ASKED_ERRORS, 'invalid-parameter', 'cursor-mismatch', 'endpoint-not-found'],
  }),
  get: operation({
    id: 'webhooks.deliveries.get',
    tag,
    summary: 'Get a delivery with its body',
    parameters: [ONE],
    answers: { 200: { description: 'The delivery.', schema: WHOLE_DELIVERY_SHAPE } },
    errors: [...ASKED_ERRORS, 'delivery-not-found'],
  }),
  attempts: operation({
    id: 'webhooks.deliveries.attempts',
    tag,
    summary: 'List the tries of a delivery',
    parameters: [ONE],
    answers: { 200: { description: 'The tries that are kept, the oldest first.', schema: listOf(ATTEMPT_SHAPE) } },
    errors: [...ASKED_ERRORS, 'delivery-not-found'],
  }),
  resend: operation({
    id: 'webhooks.deliveries.resend',
    tag,
    summary: 'Make a delivery again',
    parameters: [ONE],
    answers: { 202: { description: 'The delivery, which is due now.', schema: DELIVERY_SHAPE } },
    errors: [...ASKED_ERRORS, 'delivery-not-found', 'endpoint-not-found', 'endpoint-disabled'],
  }),
};
