/** Dry runs of functions over HTTP, for administrators with the right to build. */

import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { validateBody } from '../../lib/parse-body.ts';
import { requireBody, requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody, jsonResponse, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { SIMULATION_PRINCIPAL, toTestPrincipal } from '../../policies/simulator/test-request.ts';
import type { DryRunner } from '../calling/dry-run.ts';
import type { PluginDrafts } from '../plugins/unsaved-plugins.ts';
import { PLUGIN_NAME_PARAMETER } from './plugin-routes.ts';

export interface DryRunRoutesOptions {
  readonly policies: Policies;
  readonly drafts: PluginDrafts;
  readonly tryOut: DryRunner;
}

interface OnPlugin {
  Params: { name: string };
}

const TRY_BODY = Type.Object(
  {
    manifest: Type.Optional(Type.Unknown({ description: 'An unsaved manifest; the stored one by default.' })),
    files: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Unsaved scripts by path; the stored ones by default.',
      }),
    ),
    function: Type.String({ minLength: 1, maxLength: 40, description: 'Its name inside the plugin.' }),
    input: Type.Unknown({ description: 'The input of the function.' }),
    principal: Type.Optional(SIMULATION_PRINCIPAL),
  },
  { additionalProperties: false },
);

const TRY_RESPONSE = namedSchema(
  'DryRunResult',
  Type.Object(
    {
      result: Type.Optional(Type.Unsafe<unknown>({ description: 'The returned value.' })),
      error: Type.Optional(
        Type.Object({ code: Type.String(), message: Type.String(), stack: nullable(Type.String()) }),
      ),
      logs: Type.Array(Type.Object({ at: DATE_TIME_SCHEMA, level: Type.String(), text: Type.String() })),
      operations: Type.Array(
        Type.Object({
          operation: Type.String(),
          target: Type.String(),
          durationMs: Type.Number(),
          error: nullable(Type.String({ description: 'An error code.' })),
          written: Type.Unsafe<unknown>({ description: 'The document that would have been written; null if none.' }),
        }),
      ),
      durationMs: Type.Number(),
    },
    { description: 'The outcome of a dry run.' },
  ),
);

const TRY = declareOperation({
  id: 'dryRunFunction',
  tag: 'functions',
  summary: 'Dry-run a function of a stored or unsaved plugin',
  description:
    'Document writes are rolled back and listed. Files and jobs are listed, but not created. Fetches are really sent.',
  parameters: [PLUGIN_NAME_PARAMETER],
  body: jsonBody(TRY_BODY),
  responses: jsonResponse('The result or error of the function, and its operations.', TRY_RESPONSE),
  errors: [
    ...VALIDATION_ERRORS,
    'plugin-not-found',
    'function-not-found',
    'invalid-plugin',
    'functions-disabled',
    'write-conflict',
    'overloaded',
  ],
});

export async function dryRunRoutes(
  app: FastifyInstance,
  { policies, drafts, tryOut }: DryRunRoutesOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin');

  app.post<OnPlugin>('/admin/plugins/:name/dry-run', { config: TRY }, async (request) => {
    enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const { manifest, files, function: fn, input, principal } = validateBody(TRY_BODY, requireBody(request));
    const caller = principal === undefined ? request.principal : toTestPrincipal(principal);
    const readsUsers = policies.find(request.principal, 'read', '_admin:accounts') !== null;
    const sent = { ...(manifest === undefined ? {} : { manifest }), ...(files === undefined ? {} : { files }) };
    const plugin = await drafts.make(request.params.name, sent, readsUsers);
    return tryOut.run({ plugin, function: fn, input, caller });
  });
}
