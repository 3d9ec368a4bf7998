/** The operations on identity providers and sign-in settings as the contract describes them. Not here: the routes. */
import Type from 'typebox';
import { CHECKS } from '../../auth/providers/provider-check.ts';
import { PROVIDER } from '../../auth/providers/provider-schema.ts';
import { ASKED_ERRORS, CHECKED_ERRORS, jsonBody, operation } from '../../contract/operation.ts';
import { headerParameter, pathParameter } from '../../contract/parameters.ts';
import { listOf, shape } from '../../contract/schema.ts';
import type { ErrorCode } from '../../kernel/errors.ts';

const tag = 'Running it';

const NAME = pathParameter('name', 'Name of the provider.', { type: 'string', minLength: 1, maxLength: 32 });
const IF_MATCH = headerParameter('If-Match', 'The ETag of the state to change; any other state stays as it is.');
const SHOWN = shape('Provider', PROVIDER);
const CHECKED_SHAPE = shape(
  'ProviderCheck',
  Type.Object({
    passed: Type.Boolean({ description: 'Whether all checks passed.' }),
    redirect: Type.String({ description: 'The redirect address to register at the provider.' }),
    checks: Type.Array(
      Type.Object({
        check: Type.Unsafe<string>({ type: 'string', enum: [...CHECKS] }),
        passed: Type.Boolean(),
        verdict: Type.String({ description: 'What was found, in words.' }),
      }),
    ),
  }),
);
const CONDITIONAL: readonly ErrorCode[] = ['malformed-request', 'precondition-failed', 'contention'];

const REDIRECTS = Type.Array(Type.String({ minLength: 1, maxLength: 2_048 }), {
  maxItems: 200,
  uniqueItems: true,
  description: 'Addresses that a sign-in by a provider may end at. A redirect must be equal to one of them.',
});
/** The body of `PUT /admin/settings`. */
export const SETTINGS_BODY = Type.Object({ redirects: REDIRECTS }, { additionalProperties: false });
const SETTINGS_SHAPE = shape(
  'Settings',
  Type.Object({
    redirects: REDIRECTS,
    always: Type.Array(Type.String(), { description: 'Those that MILLRACE_REDIRECTS allows besides.' }),
  }),
);

export const PROVIDER_OPERATIONS = {
  list: operation({
    id: 'providers.list',
    tag,
    summary: 'List the identity providers',
    answers: { 200: { description: 'All of them, by name.', schema: listOf(SHOWN) } },
    errors: ASKED_ERRORS,
  }),
  create: operation({
    id: 'providers.create',
    tag,
    summary: 'Add an identity provider',
    body: jsonBody(PROVIDER),
    answers: { 201: { description: 'The provider.', schema: SHOWN, headers: ['Location', 'ETag'] } },
    errors: [...CHECKED_ERRORS, 'provider-exists', 'contention'],
  }),
  get: operation({
    id: 'providers.get',
    tag,
    summary: 'Get an identity provider',
    parameters: [NAME],
    answers: { 200: { description: 'The provider, without its secrets.', schema: SHOWN, headers: ['ETag'] } },
    errors: [...ASKED_ERRORS, 'provider-not-found'],
  }),
  replace: operation({
    id: 'providers.replace',
    tag,
    summary: 'Change an identity provider',
    parameters: [NAME, IF_MATCH],
    body: jsonBody(PROVIDER),
    answers: { 200: { description: 'The provider.', schema: SHOWN, headers: ['ETag'] } },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL, 'provider-not-found'],
  }),
  remove: operation({
    id: 'providers.remove',
    tag,
    summary: 'Remove an identity provider',
    parameters: [NAME, IF_MATCH],
    answers: { 204: { description: 'Removed.' } },
    errors: [...ASKED_ERRORS, ...CONDITIONAL, 'provider-not-found'],
  }),
  check: operation({
    id: 'providers.check',
    tag,
    summary: 'Check the settings of an identity provider',
    description: 'Calls the provider, but signs nobody in.',
    parameters: [NAME],
    answers: { 200: { description: 'The result of each check.', schema: CHECKED_SHAPE } },
    errors: [...ASKED_ERRORS, 'provider-not-found'],
  }),
};

export const SETTINGS_OPERATIONS = {
  get: operation({
    id: 'settings.get',
    tag,
    summary: 'Get what owners set while the program runs',
    answers: { 200: { description: 'The settings.', schema: SETTINGS_SHAPE, headers: ['ETag'] } },
    errors: ASKED_ERRORS,
  }),
  replace: operation({
    id: 'settings.replace',
    tag,
    summary: 'Change what owners set while the program runs',
    parameters: [IF_MATCH],
    body: jsonBody(SETTINGS_BODY),
    answers: { 200: { description: 'The settings.', schema: SETTINGS_SHAPE, headers: ['ETag'] } },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL],
  }),
};
