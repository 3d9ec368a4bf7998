/** The requests about policies, as operations of the contract. Not here: other operations (places.ts). */
import type { ErrorCode } from '../../kernel/errors.ts';
import { POLICY } from '../../policies/policy-schema.ts';
import { CHECK, QUESTION } from '../../policies/trial/trial-question.ts';
import type { Paths } from './documents.ts';
import { BODY, toOperation } from './operation.ts';
import { jsonBody, type Parameter } from './parameters.ts';

const TAG = 'Running it';
const ASKED: readonly ErrorCode[] = ['unknown-parameter', 'not-acceptable'];
const SAVED: readonly ErrorCode[] = [...BODY, ...ASKED, 'invalid-policy', 'too-many-policies', 'contention'];

const inPath = (name: string, schema: object, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
});
const ID = inPath('id', { type: 'string', minLength: 1 }, "The policy's id.");
const VERSION = inPath('version', { type: 'integer', minimum: 1 }, 'The number of a version.');

export function policyPaths(): Paths {
  const policy = { allOf: [{ type: 'object', required: ['id'], properties: { id: { type: 'string' } } }] };
  const list = { type: 'array', items: policy };
  const set = {
    type: 'object',
    required: ['version', 'policies'],
    properties: { version: { type: 'integer' }, policies: list },
  };
  const fields = {
    type: ['object', 'null'],
    properties: { read: { type: 'array' }, write: { type: 'array' } },
  };
  const verdict = {
    type: 'object',
    required: ['verdict', 'policy', 'fields'],
    properties: { verdict: { enum: ['allow', 'deny'] }, policy: { type: ['string', 'null'] }, fields },
  };
  const base = '/admin/policies';
  return {
    [base]: {
      get: toOperation({
        operationId: 'policies.list',
        tag: TAG,
        summary: 'List the policies that count',
        answers: { 200: { description: 'The policies and the number of their version.', schema: set } },
        errors: ASKED,
      }),
      post: toOperation({
        operationId: 'policies.create',
        tag: TAG,
        summary: 'Add a policy',
        requestBody: jsonBody({ ...POLICY, properties: { ...POLICY.properties, id: { type: 'string' } } }),
        answers: { 201: { description: 'The policy.', schema: policy, headers: ['Location'] } },
        errors: [...SAVED, 'policy-exists'],
      }),
    },
    [`${base}/{id}`]: {
      put: toOperation({
        operationId: 'policies.replace',
        tag: TAG,
        summary: 'Change a policy',
        parameters: [ID],
        requestBody: jsonBody({ ...POLICY, properties: { ...POLICY.properties, id: { type: 'string' } } }),
        answers: { 200: { description: 'The policy.', schema: policy } },
        errors: [...SAVED, 'policy-not-found'],
      }),
      delete: toOperation({
        operationId: 'policies.remove',
        tag: TAG,
        summary: 'Remove a policy',
        parameters: [ID],
        answers: { 204: { description: 'Removed.' } },
        errors: [...SAVED, 'policy-not-found'],
      }),
    },
    [`${base}/versions`]: {
      get: toOperation({
        operationId: 'policies.versions',
        tag: TAG,
        summary: 'List the versions that are kept',
        answers: { 200: { description: 'Newest first.', schema: { type: 'array', items: set } } },
        errors: ASKED,
      }),
    },
    [`${base}/versions/{version}/restore`]: {
      post: toOperation({
        operationId: 'policies.restore',
        tag: TAG,
        summary: 'Go back to a version',
        parameters: [VERSION],
        answers: { 200: { description: 'The policies that count now.', schema: set } },
        errors: [...SAVED, 'policy-not-found'],
      }),
    },
    [`${base}/test`]: {
      post: toOperation({
        operationId: 'policies.test',
        tag: TAG,
        summary: 'Ask what the policies say of a document',
        requestBody: jsonBody(QUESTION),
        answers: { 200: { description: 'The verdict.', schema: verdict } },
        errors: [...BODY, ...ASKED, 'invalid-name'],
      }),
    },
    [`${base}/check`]: {
      post: toOperation({
        operationId: 'policies.check',
        tag: TAG,
        summary: 'Hold the policies to a list of expected verdicts',
        requestBody: jsonBody(CHECK),
        answers: {
          200: {
            description: 'How many came true, and which did not.',
            schema: {
              type: 'object',
              required: ['passed', 'failed'],
              properties: { passed: { type: 'integer' }, failed: { type: 'array' } },
            },
          },
        },
        errors: [...BODY, ...ASKED, 'invalid-name'],
      }),
    },
  };
}
