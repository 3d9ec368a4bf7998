/** The operations on webhook endpoints as the contract describes them. Not here: the routes (endpoint-routes.ts). */
import { ASKED_ERRORS, CHECKED_ERRORS, CONDITIONAL_ERRORS, jsonBody, operation } from '../../contract/operation.ts';
import { IF_MATCH, idParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { ENDPOINT_PATCH, NEW_ENDPOINT } from '../endpoint/endpoint-schema.ts';
import {
  COUNT_SHAPE,
  DELIVERY_SHAPE,
  ENDPOINT_SHAPE,
  NEW_ENDPOINT_SHAPE,
  RECOVER,
  REPLAY,
  REPLAY_SHAPE,
  ROTATE,
  ROTATED_SHAPE,
  TEST,
} from './webhook-shapes.ts';

const tag = 'Webhooks';

const ONE = idParameter('id', 'the endpoint');

export const ENDPOINT_OPERATIONS = {
  list: operation({
    id: 'webhooks.endpoints.list',
    tag,
    summary: 'List webhook endpoints',
    answers: { 200: { description: 'All that the client reaches, the oldest first.', schema: listOf(ENDPOINT_SHAPE) } },
    errors: ASKED_ERRORS,
  }),
  create: operation({
    id: 'webhooks.endpoints.create',
    tag,
    summary: 'Make a webhook endpoint',
    description: 'It gets the events that come after it was made, as far as the client that made it may read them.',
    body: jsonBody(NEW_ENDPOINT),
    answers: {
      201: { description: 'The endpoint, with its secret.', schema: NEW_ENDPOINT_SHAPE, headers: ['Location', 'ETag'] },
    },
    errors: [...CHECKED_ERRORS, 'invalid-endpoint', 'too-many-endpoints', 'contention'],
  }),
  get: operation({
    id: 'webhooks.endpoints.get',
    tag,
    summary: 'Get a webhook endpoint',
    parameters: [ONE],
    answers: { 200: { description: 'The endpoint.', schema: ENDPOINT_SHAPE, headers: ['ETag'] } },
    errors: [...ASKED_ERRORS, 'endpoint-not-found'],
  }),
  change: operation({
    id: 'webhooks.endpoints.change',
    tag,
    summary: 'Change a webhook endpoint',
    description: 'By merge patch (RFC 7396). A header whose value is sent as it is shown keeps its value.',
    parameters: [ONE, IF_MATCH],
    body: { 'application/merge-patch+json': ENDPOINT_PATCH, 'application/json': ENDPOINT_PATCH },
    answers: { 200: { description: 'The endpoint.', schema: ENDPOINT_SHAPE, headers: ['ETag'] } },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'invalid-endpoint', 'endpoint-not-found'],
  }),
  remove: operation({
    id: 'webhooks.endpoints.remove',
    tag,
    summary: 'Remove a webhook endpoint, and what was still to be sent to it',
    parameters: [ONE, IF_MATCH],
    answers: { 204: { description: 'Removed.' } },
    errors: [...ASKED_ERRORS, ...CONDITIONAL_ERRORS, 'endpoint-not-found'],
  }),
  rotate: operation({
    id: 'webhooks.endpoints.rotate',
    tag,
    summary: 'Give a webhook endpoint a new secret',
    description: 'The secret before still signs for the grace time. At most three sign at one time.',
    parameters: [ONE, IF_MATCH],
    body: jsonBody(ROTATE),
    answers: { 200: { description: 'The new secret.', schema: ROTATED_SHAPE } },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'endpoint-not-found'],
  }),
  test: operation({
    id: 'webhooks.endpoints.test',
    tag,
    summary: 'Send a sample event to a webhook endpoint',
    description: 'Now, once, and also while its breaker is open.',
    parameters: [ONE],
    body: jsonBody(TEST),
    answers: { 202: { description: 'The delivery.', schema: DELIVERY_SHAPE, headers: ['Location'] } },
    errors: [...CHECKED_ERRORS, 'endpoint-not-found', 'endpoint-disabled', 'sample-not-found'],
  }),
  recover: operation({
    id: 'webhooks.endpoints.recover',
    tag,
    summary: 'Send again what did not arrive',
    description: 'Deliveries that are dead or discarded, made since a moment, become due.',
    parameters: [ONE],
    body: jsonBody(RECOVER),
    answers: { 202: { description: 'How many there are.', schema: COUNT_SHAPE } },
    errors: [...CHECKED_ERRORS, 'endpoint-not-found', 'endpoint-disabled'],
  }),
  replay: operation({
    id: 'webhooks.endpoints.replay',
    tag,
    summary: 'Send a part of the log to a webhook endpoint',
    description: 'In the background. Deliveries that were made before are made again, under the same ids.',
    parameters: [ONE],
    body: jsonBody(REPLAY),
    answers: { 202: { description: 'The replay.', schema: REPLAY_SHAPE, headers: ['Location'] } },
    errors: [
      ...CHECKED_ERRORS,
      'endpoint-not-found',
      'endpoint-disabled',
      'position-expired',
      'position-unknown',
      'epoch-changed',
    ],
  }),
  replayed: operation({
    id: 'webhooks.replays.get',
    tag,
    summary: 'Get how far a replay is',
    parameters: [idParameter('id', 'the replay')],
    answers: { 200: { description: 'The replay.', schema: REPLAY_SHAPE } },
    errors: [...ASKED_ERRORS, 'replay-not-found'],
  }),
};
