/** The operations on policies as the contract describes them. Not here: the routes (policy-routes.ts). */
import { ASKED_ERRORS, answer, jsonBody, operation } from '../contract/operation.ts';
import { pathParameter } from '../contract/parameters.ts';
import { listOf } from '../contract/schema.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import { POLICY } from '../policies/policy-schema.ts';
import { CHECK, QUESTION } from '../policies/trial/trial-question.ts';

const tag = 'Running it';

const ID = pathParameter('id', "The policy's id.", { type: 'string', minLength: 1 });
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SAVED: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-policy', 'too-many-policies', 'contention'];
const TRIED: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-name'];

const BODY = jsonBody({ ...POLICY, properties: { ...POLICY.properties, id: { type: 'string' } } });
const WRITTEN = { allOf: [{ type: 'object', required: ['id'], properties: { id: { type: 'string' } } }] };
const WARNINGS = {
  type: 'array',
  items: { type: 'string' },
  description: 'What is probably not meant in the policy; absent where there is nothing to say.',
};
const SAVED_POLICY = { allOf: [...WRITTEN.allOf, { type: 'object', properties: { warnings: WARNINGS } }] };
const SET = {
  type: 'object',
  required: ['version', 'policies'],
  properties: { version: { type: 'integer' }, policies: listOf(WRITTEN) },
};
const VERDICT = {
  type: 'object',
  required: ['verdict', 'policy', 'fields'],
  properties: {
    verdict: { enum: ['allow', 'deny'] },
    policy: { type: ['string', 'null'] },
    fields: { type: ['object', 'null'], properties: { read: { type: 'array' }, write: { type: 'array' } } },
  },
};

export const POLICIES = {
  list: operation({
    id: 'policies.list',
    tag,
    summary: 'List the policies in force',
    answers: answer('The policies and the number of their version.', SET),
    errors: ASKED_ERRORS,
  }),
  create: operation({
    id: 'policies.create',
    tag,
    summary: 'Add a policy',
    body: BODY,
    answers: answer('The policy.', SAVED_POLICY, 201, ['Location']),
    errors: [...SAVED, 'policy-exists'],
  }),
  replace: operation({
    id: 'policies.replace',
    tag,
    summary: 'Change a policy',
    parameters: [ID],
    body: BODY,
    answers: answer('The policy.', SAVED_POLICY),
    errors: [...SAVED, 'policy-not-found'],
  }),
  remove: operation({
    id: 'policies.remove',
    tag,
    summary: 'Remove a policy',
    parameters: [ID],
    answers: { 204: { description: 'Removed.' } },
    errors: [...SAVED, 'policy-not-found'],
  }),
  versions: operation({
    id: 'policies.versions',
    tag,
    summary: 'List the versions that are kept',
    answers: answer('Newest first.', listOf(SET)),
    errors: ASKED_ERRORS,
  }),
  restore: operation({
    id: 'policies.restore',
    tag,
    summary: 'Go back to a version',
    parameters: [VERSION],
    answers: answer('The policies in force now.', SET),
    errors: [...SAVED, 'policy-not-found'],
  }),
  test: operation({
    id: 'policies.test',
    tag,
    summary: 'Try what the policies decide about a document',
    body: jsonBody(QUESTION),
    answers: answer('The decision.', VERDICT),
    errors: TRIED,
  }),
  check: operation({
    id: 'policies.check',
    tag,
    summary: 'Check the policies against a list of expected decisions',
    body: jsonBody(CHECK),
    answers: {
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
