/** OpenAPI operations of policies. */
import type { ErrorCode } from '../../lib/errors.ts';
import { jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { pathParameter } from '../../openapi/parameters.ts';
import { listOf } from '../../openapi/schema.ts';
import { POLICY } from '../policy-schema.ts';
import { CHECK, QUERY } from '../simulator/test-request.ts';

const tag = 'admin';

const ID = pathParameter('id', "The policy's id.", { type: 'string', minLength: 1 }, 'policyId');
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SAVED: readonly ErrorCode[] = [...REQUEST_ERRORS, 'invalid-policy', 'too-many-policies', 'write-conflict'];
const TRIED: readonly ErrorCode[] = [...REQUEST_ERRORS, 'invalid-collection-name'];

const BODY = jsonBody({ ...POLICY, properties: { ...POLICY.properties, id: { type: 'string' } } });
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
  properties: { version: { type: 'integer' }, policies: listOf(WRITTEN) },
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

export const POLICIES = {
  list: operation({
    id: 'listPolicies',
    tag,
    summary: 'List the active policies',
    responses: response('The policies and their version number.', SET),
    errors: REQUEST_ERRORS,
  }),
  create: operation({
    id: 'createPolicy',
    tag,
    summary: 'Add a policy',
    body: BODY,
    responses: response('The policy.', SAVED_POLICY, 201, ['Location']),
    errors: [...SAVED, 'policy-exists'],
  }),
  replace: operation({
    id: 'replacePolicy',
    tag,
    summary: 'Change a policy',
    parameters: [ID],
    body: BODY,
    responses: response('The policy.', SAVED_POLICY),
    errors: [...SAVED, 'policy-not-found'],
  }),
  remove: operation({
    id: 'deletePolicy',
    tag,
    summary: 'Remove a policy',
    parameters: [ID],
    responses: { 204: { description: 'Removed.' } },
    errors: [...SAVED, 'policy-not-found'],
  }),
  versions: operation({
    id: 'listPolicyVersions',
    tag,
    summary: 'List the stored versions',
    responses: response('Newest first.', listOf(SET)),
    errors: REQUEST_ERRORS,
  }),
  restore: operation({
    id: 'restorePolicyVersion',
    tag,
    summary: 'Restore a version',
    parameters: [VERSION],
    responses: response('The active policies.', SET),
    errors: [...SAVED, 'policy-not-found'],
  }),
  test: operation({
    id: 'testPolicies',
    tag,
    summary: 'Simulate the decision of the policies about a document',
    body: jsonBody(QUERY),
    responses: response('The decision.', VERDICT),
    errors: TRIED,
  }),
  check: operation({
    id: 'checkPolicies',
    tag,
    summary: 'Check the policies against a list of expected decisions',
    body: jsonBody(CHECK),
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
