/** Trying functions over HTTP, for owners who build. Not here: what a try does (calling/try-out.ts). */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { answer, CHECKED_ERRORS, jsonBody, operation } from '../../contract/operation.ts';
import { pathParameter } from '../../contract/parameters.ts';
import { nullable, shape, TIME } from '../../contract/schema.ts';
import { checked } from '../../kernel/parse-body.ts';
import { requireBody, requireMediaType } from '../../kernel/request.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { TRIAL_PRINCIPAL, toTrialPrincipal } from '../../policies/trial/trial-question.ts';
import type { TryOut } from '../calling/try-out.ts';
import type { Drafts } from '../plugins/drafts.ts';

export interface TryRoutesOptions {
  readonly policies: Policies;
  readonly drafts: Drafts;
  readonly tryOut: TryOut;
}

interface OnPlugin {
  Params: { name: string };
}

const TRY_BODY = Type.Object(
  {
    manifest: Type.Optional(Type.Unknown({ description: 'A draft; the stored one without it.' })),
    files: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The scripts of a draft by path; the stored ones without them.',
      }),
    ),
    function: Type.String({ minLength: 1, maxLength: 40, description: 'Its name inside the plugin.' }),
    input: Type.Unknown({ description: 'As the function gets it.' }),
    principal: Type.Optional(TRIAL_PRINCIPAL),
  },
  { additionalProperties: false },
);

const TRY_ANSWER = shape(
  'TryAnswer',
  Type.Object(
    {
      result: Type.Optional(Type.Unsafe<unknown>({ description: 'What was returned.' })),
      error: Type.Optional(
        Type.Object({ code: Type.String(), message: Type.String(), stack: nullable(Type.String()) }),
      ),
      logs: Type.Array(Type.Object({ at: TIME, level: Type.String(), text: Type.String() })),
      operations: Type.Array(
        Type.Object({
          operation: Type.String(),
          target: Type.String(),
          durationMs: Type.Number(),
          error: nullable(Type.String({ description: 'An error code.' })),
          written: Type.Unsafe<unknown>({ description: 'What would have been written; null for nothing.' }),
        }),
      ),
      durationMs: Type.Number(),
    },
    { description: 'What a function did when it was tried.' },
  ),
);

const TRY = operation({
  id: 'plugins.try',
  tag: 'Functions',
  summary: 'Try a function of a stored plugin or of a draft',
  description:
    'Its writes of documents are rolled back and listed. Files and jobs are listed and not made. Fetches are really made.',
  parameters: [pathParameter('name', 'Name of the plugin.', { type: 'string', minLength: 1, maxLength: 40 })],
  body: jsonBody(TRY_BODY),
  answers: answer('What it returned or how it failed, and all that it did.', TRY_ANSWER),
  errors: [
    ...CHECKED_ERRORS,
    'plugin-not-found',
    'function-not-found',
    'invalid-plugin',
    'functions-off',
    'contention',
    'overloaded',
  ],
});

export async function tryRoutes(app: FastifyInstance, { policies, drafts, tryOut }: TryRoutesOptions): Promise<void> {
  const enter = enterAt(policies, 'admin');

  app.post<OnPlugin>('/admin/plugins/:name/try', { config: TRY }, async (request) => {
    enter(request, 'update');
    requireMediaType(request, ['application/json']);
    const { manifest, files, function: fn, input, principal } = checked(TRY_BODY, requireBody(request));
    const caller = principal === undefined ? request.principal : toTrialPrincipal(principal);
    const readsAccounts = policies.find(request.principal, 'read', 'admin:accounts') !== null;
    const sent = { ...(manifest === undefined ? {} : { manifest }), ...(files === undefined ? {} : { files }) };
    const plugin = await drafts.make(request.params.name, sent, readsAccounts);
    return tryOut.run({ plugin, function: fn, input, caller });
  });
}
