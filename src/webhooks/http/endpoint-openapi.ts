/** The operations on webhook endpoints in the OpenAPI document. */
import {
  declareOperation,
  jsonBody,
  PRECONDITION_ERRORS,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { IF_MATCH, idParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { ENDPOINT_PATCH, NEW_ENDPOINT_BODY } from '../endpoint/endpoint-schema.ts';
import {
  DELIVERY_SHAPE,
  ENDPOINT_SHAPE,
  NEW_ENDPOINT_SHAPE,
  RECOVER_BODY,
  RECOVERY_RESULT_SHAPE,
  REPLAY_BODY,
  REPLAY_SHAPE,
  ROTATE_SECRET_BODY,
  ROTATED_SECRET_SHAPE,
  TEST_ENDPOINT_BODY,
} from './webhook-schemas.ts';

const tag = 'webhooks';

const PATCH = namedSchema('WebhookEndpointPatch', ENDPOINT_PATCH);
const ONE = idParameter('id', 'the endpoint', 'endpointId');

export const ENDPOINT_OPERATIONS = {
  list: declareOperation({
    id: 'listWebhookEndpoints',
    tag,
    summary: 'List webhook endpoints',
    responses: {
      200: {
        description: 'All endpoints that the client may read, oldest first.',
        schema: arraySchema(ENDPOINT_SHAPE),
      },
    },
    errors: QUERY_PARAMETER_ERRORS,
  }),
  create: declareOperation({
    id: 'createWebhookEndpoint',
    tag,
    summary: 'Create a webhook endpoint',
    description: 'It receives events from its creation on, as far as the client that created it may read them.',
    body: jsonBody(NEW_ENDPOINT_BODY),
    responses: {
      201: { description: 'The endpoint, with its secret.', schema: NEW_ENDPOINT_SHAPE, headers: ['Location', 'ETag'] },
    },
    errors: [...VALIDATION_ERRORS, 'invalid-endpoint', 'too-many-endpoints', 'write-conflict'],
  }),
  get: declareOperation({
    id: 'getWebhookEndpoint',
    tag,
    summary: 'Get a webhook endpoint',
    parameters: [ONE],
    responses: { 200: { description: 'The endpoint.', schema: ENDPOINT_SHAPE, headers: ['ETag'] } },
    errors: [...QUERY_PARAMETER_ERRORS, 'endpoint-not-found'],
  }),
  change: declareOperation({
    id: 'updateWebhookEndpoint',
    tag,
    summary: 'Update a webhook endpoint',
    description: 'By merge patch (RFC 7396). A header that is sent back as shown keeps its value.',
    parameters: [ONE, IF_MATCH],
    body: { 'application/merge-patch+json': PATCH, 'application/json': PATCH },
    responses: { 200: { description: 'The endpoint.', schema: ENDPOINT_SHAPE, headers: ['ETag'] } },
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'invalid-endpoint', 'endpoint-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteWebhookEndpoint',
    tag,
    summary: 'Delete a webhook endpoint and its pending deliveries',
    parameters: [ONE, IF_MATCH],
    responses: { 204: { description: 'Removed.' } },
    errors: [...QUERY_PARAMETER_ERRORS, ...PRECONDITION_ERRORS, 'endpoint-not-found'],
  }),
  rotate: declareOperation({
    id: 'rotateWebhookSecret',
    tag,
    summary: 'Rotate the secret of a webhook endpoint',
    description: 'The previous secret still signs for the grace period. At most three secrets sign at a time.',
    parameters: [ONE, IF_MATCH],
    body: jsonBody(ROTATE_SECRET_BODY),
    responses: { 200: { description: 'The new secret.', schema: ROTATED_SECRET_SHAPE } },
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'endpoint-not-found'],
  }),
  test: declareOperation({
    id: 'testWebhookEndpoint',
    tag,
    summary: 'Send a sample event to a webhook endpoint',
    description: 'Immediately, with one attempt, even while its breaker is open.',
    parameters: [ONE],
    body: jsonBody(TEST_ENDPOINT_BODY),
    responses: { 202: { description: 'The delivery.', schema: DELIVERY_SHAPE, headers: ['Location'] } },
    errors: [...VALIDATION_ERRORS, 'endpoint-not-found', 'endpoint-disabled', 'event-sample-not-found'],
  }),
  recover: declareOperation({
    id: 'recoverWebhookEndpoint',
    tag,
    summary: 'Resend deliveries that did not succeed',
    description: 'Failed and canceled deliveries that were created since a moment become due.',
    parameters: [ONE],
    body: jsonBody(RECOVER_BODY),
    responses: { 202: { description: 'The number of deliveries.', schema: RECOVERY_RESULT_SHAPE } },
    errors: [...VALIDATION_ERRORS, 'endpoint-not-found', 'endpoint-disabled'],
  }),
  replay: declareOperation({
    id: 'replayWebhookEndpoint',
    tag,
    summary: 'Replay a range of the event log to a webhook endpoint',
    description: 'Runs in the background. Existing deliveries are sent again, under the same ids.',
    parameters: [ONE],
    body: jsonBody(REPLAY_BODY),
    responses: { 202: { description: 'The replay.', schema: REPLAY_SHAPE, headers: ['Location'] } },
    errors: [
      ...VALIDATION_ERRORS,
      'endpoint-not-found',
      'endpoint-disabled',
      'position-expired',
      'position-unknown',
      'epoch-changed',
    ],
  }),
  getReplay: declareOperation({
    id: 'getWebhookReplay',
    tag,
    summary: 'Get the progress of a replay',
    parameters: [idParameter('id', 'the replay', 'replayId')],
    responses: { 200: { description: 'The replay.', schema: REPLAY_SHAPE } },
    errors: [...QUERY_PARAMETER_ERRORS, 'replay-not-found'],
  }),
};
