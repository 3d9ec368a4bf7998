/** Policies over HTTP, for administrators: reading, changing and simulating them, and their versions. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ResourceAction } from '../../auth/identity/principal.ts';
import { parseObjectBody } from '../../collections/http/request-body.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { requireBody, requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { pathParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../admin-scope-guard.ts';
import type { Policies } from '../policies.ts';
import type { PolicyRegistry } from '../policy-registry.ts';
import { POLICY_SCHEMA } from '../policy-schema.ts';
import type { PolicyRecord } from '../policy-set.ts';
import type { Scope, ScopeAction } from '../scope.ts';
import { simulateRequest } from '../simulator/simulate-request.ts';
import {
  POLICY_CHECK_BODY,
  parsePolicyCheck,
  parseSimulationBody,
  SIMULATION_BODY,
} from '../simulator/test-request.ts';
import { policyWarnings } from '../warnings.ts';

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

const POLICY_OPERATIONS = {
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

export interface PolicyRoutesOptions {
  readonly policies: Policies;
  readonly policyRegistry: PolicyRegistry;
}

interface OnPolicy {
  Params: { id: string };
}

interface OnVersion {
  Params: { version: string };
}

const URL = '/admin/policies';

export async function policyRoutes(app: FastifyInstance, options: PolicyRoutesOptions): Promise<void> {
  const { policies, policyRegistry } = options;
  const enter = createAdminScopeGuard(policies, '_admin');
  const withBody = <A extends ResourceAction>(request: FastifyRequest, action: A): Scope<ScopeAction<A>, '_admin'> => {
    const scope = enter(request, action);
    requireMediaType(request, ['application/json']);
    return scope;
  };

  app.get(URL, { config: POLICY_OPERATIONS.list }, async (request) => {
    const { version, policies: written } = await policyRegistry.list(enter(request, 'read'));
    return { version, policies: written.map(toWire) };
  });

  app.post(URL, { config: POLICY_OPERATIONS.create }, async (request, reply) => {
    const scope = withBody(request, 'create');
    const policy = await policyRegistry.create(scope, parseObjectBody(request), request.id);
    return reply.code(201).header('location', `${URL}/${policy.id}`).send(toSaved(policy));
  });

  app.put<OnPolicy>(`${URL}/:id`, { config: POLICY_OPERATIONS.replace }, async (request) => {
    const scope = withBody(request, 'update');
    return toSaved(await policyRegistry.replace(scope, request.params.id, parseObjectBody(request), request.id));
  });

  app.delete<OnPolicy>(`${URL}/:id`, { config: POLICY_OPERATIONS.remove }, async (request, reply) => {
    await policyRegistry.remove(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get(`${URL}/versions`, { config: POLICY_OPERATIONS.versions }, async (request) => {
    const versions = await policyRegistry.versions(enter(request, 'read'));
    return versions.map(({ version, at, by, policies: written }) => ({
      version,
      at: at.toISOString(),
      by,
      policies: written.map(toWire),
    }));
  });

  app.post<OnVersion>(`${URL}/versions/:version/restore`, { config: POLICY_OPERATIONS.restore }, async (request) => {
    const scope = enter(request, 'update');
    const { version } = request.params;
    if (!/^\d{1,9}$/.test(version)) throw new MillraceError('policy-not-found', `There is no version '${version}'`);
    const { policies: written, ...restored } = await policyRegistry.restore(scope, Number(version), request.id);
    return { ...restored, policies: written.map(toWire) };
  });

  // Simulating policies changes nothing, so the right to read them is enough.
  app.post(`${URL}/test`, { config: { ...POLICY_OPERATIONS.test, reads: true } }, async (request) => {
    withBody(request, 'read');
    return simulateRequest(policies, parseSimulationBody(requireBody(request)));
  });

  app.post(`${URL}/check`, { config: { ...POLICY_OPERATIONS.check, reads: true } }, async (request) => {
    withBody(request, 'read');
    const failed: object[] = [];
    const cases = parsePolicyCheck(requireBody(request));
    for (const [index, { query, expect, name }] of cases.entries()) {
      const { decision, policy, reason } = simulateRequest(policies, query);
      if (decision === expect) continue;
      failed.push({
        index,
        ...(name === undefined ? {} : { name }),
        expect,
        decision,
        policy,
        ...(reason && { reason }),
      });
    }
    return { passed: cases.length - failed.length, failed };
  });
}

/** The response to saving a policy: `warnings` has probable mistakes, if there are any. */
function toSaved(written: PolicyRecord): object {
  const warnings = policyWarnings(written);
  return warnings.length === 0 ? toWire(written) : { ...toWire(written), warnings };
}

function toWire({ id, policy }: PolicyRecord): object {
  return { id, ...(typeof policy === 'object' ? policy : {}) };
}
