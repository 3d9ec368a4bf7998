/** OpenAPI operations of policies. */
import type { ErrorCode } from '../../lib/errors.ts';
import { declareOperation, jsonBody, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { pathParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { POLICY_SCHEMA } from '../policy-schema.ts';
import { POLICY_CHECK_BODY, SIMULATION_BODY } from '../simulator/test-request.ts';

const tag = 'admin';

const ID = pathParameter('id', "The policy's id.", { type: 'string', minLength: 1 }, 'policyId');
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SAVED: readonly ErrorCode[] = [
  ...QUERY_PARAMETER_ERRORS,
  'invalid-policy',
  'too-many-policies',
  'write-conflict',
];
const TRIED: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-collection-name'];

const BODY = jsonBody({ ...POLICY_SCHEMA, properties: { ...POLICY_SCHEMA.properties, id: { type: 'string' } } });
const WRITTEN = { allOf: [{ type: 'object', required: ['id'], properties: { id: { type: 'string' } } }] };
const WARNINGS = {
  type: 'array',
  items: { type: 'string' },
  description: 'Probable mistakes in the policy; absent where there are none.',
};
const SAVED_POLICY = { allOf: [...WRITTEN.allOf, { type: 'object', properties: { warnings: WARNINGS } }] };
const SET = {
  type: 'object',
  required: ['version', 'policies'],
  properties: { version: { type: 'integer' }, policies: arraySchema(WRITTEN) },
};
const VERDICT = {
  type: 'object',
  required: ['decision', 'policy', 'fields'],
  properties: {
    decision: { enum: ['allow', 'deny'] },
    policy: { type: ['string', 'null'] },
    fields: { type: ['object', 'null'], properties: { read: { type: 'array' }, write: { type: 'array' } } },
  },
};

export const POLICY_OPERATIONS = {
  list: declareOperation({
    id: 'listPolicies',
    tag,
    summary: 'List the active policies',
    responses: jsonResponse('The policies and their version number.', SET),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  create: declareOperation({
    id: 'createPolicy',
    tag,
    summary: 'Add a policy',
    body: BODY,
    responses: jsonResponse('The policy.', SAVED_POLICY, 201, ['Location']),
    errors: [...SAVED, 'policy-exists'],
  }),
  replace: declareOperation({
    id: 'replacePolicy',
    tag,
    summary: 'Change a policy',
    parameters: [ID],
    body: BODY,
    responses: jsonResponse('The policy.', SAVED_POLICY),
    errors: [...SAVED, 'policy-not-found'],
  }),
  remove: declareOperation({
    id: 'deletePolicy',
    tag,
    summary: 'Remove a policy',
    parameters: [ID],
    responses: { 204: { description: 'Removed.' } },
    errors: [...SAVED, 'policy-not-found'],
  }),
  versions: declareOperation({
    id: 'listPolicyVersions',
    tag,
    summary: 'List the stored versions',
    responses: jsonResponse('Newest first.', arraySchema(SET)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  restore: declareOperation({
    id: 'restorePolicyVersion',
    tag,
    summary: 'Restore a version',
    parameters: [VERSION],
    responses: jsonResponse('The active policies.', SET),
    errors: [...SAVED, 'policy-not-found'],
  }),
  test: declareOperation({
    id: 'testPolicies',
    tag,
    summary: 'Simulate the decision of the policies about a document',
    body: jsonBody(SIMULATION_BODY),
    responses: jsonResponse('The decision.', VERDICT),
    errors: TRIED,
  }),
  check: declareOperation({
    id: 'checkPolicies',
    tag,
    summary: 'Check the policies against a list of expected decisions',
    body: jsonBody(POLICY_CHECK_BODY),
    responses: {
      200: {
        description: 'How many decisions were as expected, and which were not.',
        schema: {
          type: 'object',
          required: ['passed', 'failed'],
          properties: { passed: { type: 'integer' }, failed: { type: 'array' } },
        },
      },
    },
    errors: TRIED,
  }),
};
