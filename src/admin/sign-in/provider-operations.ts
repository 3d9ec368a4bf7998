/** The operations on identity providers and sign-in settings as the contract describes them. Not here: the routes. */
import Type from 'typebox';
import { CHECKS } from '../../auth/providers/provider-check.ts';
import { PROVIDER } from '../../auth/providers/provider-schema.ts';
import {
  ASKED_ERRORS,
  answer,
  CHECKED_ERRORS,
  CONDITIONAL_ERRORS,
  jsonBody,
  operation,
} from '../../contract/operation.ts';
import { IF_MATCH, pathParameter } from '../../contract/parameters.ts';
import { listOf, shape } from '../../contract/schema.ts';

const tag = 'Running it';

const NAME = pathParameter('name', 'Name of the provider.', { type: 'string', minLength: 1, maxLength: 32 });
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

const REDIRECTS = Type.Array(Type.String({ minLength: 1, maxLength: 2_048 }), {
  maxItems: 200,
  uniqueItems: true,
  description:
    'Addresses that a sign-in by a provider may end at, those of native apps too. A redirect must be equal to one of them; the ' +
    'port of http://127.0.0.1 and http://[::1] is free.',
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
    answers: answer('All of them, by name.', listOf(SHOWN)),
    errors: ASKED_ERRORS,
  }),
  create: operation({
    id: 'providers.create',
    tag,
    summary: 'Add an identity provider',
    body: jsonBody(PROVIDER),
    answers: answer('The provider.', SHOWN, 201, ['Location', 'ETag']),
    errors: [...CHECKED_ERRORS, 'provider-exists', 'contention'],
  }),
  get: operation({
    id: 'providers.get',
    tag,
    summary: 'Get an identity provider',
    parameters: [NAME],
    answers: answer('The provider, without its secrets.', SHOWN, 200, ['ETag']),
    errors: [...ASKED_ERRORS, 'provider-not-found'],
  }),
  replace: operation({
    id: 'providers.replace',
    tag,
    summary: 'Change an identity provider',
    parameters: [NAME, IF_MATCH],
    body: jsonBody(PROVIDER),
    answers: answer('The provider.', SHOWN, 200, ['ETag']),
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'provider-not-found'],
  }),
  remove: operation({
    id: 'providers.remove',
    tag,
    summary: 'Remove an identity provider',
    parameters: [NAME, IF_MATCH],
    answers: { 204: { description: 'Removed.' } },
    errors: [...ASKED_ERRORS, ...CONDITIONAL_ERRORS, 'provider-not-found'],
  }),
  check: operation({
    id: 'providers.check',
    tag,
    summary: 'Check the settings of an identity provider',
    description: 'Calls the provider, but signs nobody in.',
    parameters: [NAME],
    answers: answer('The result of each check.', CHECKED_SHAPE),
    errors: [...ASKED_ERRORS, 'provider-not-found'],
  }),
};

export const SETTINGS_OPERATIONS = {
  get: operation({
    id: 'settings.get',
    tag,
    summary: 'Get what owners set while the program runs',
    answers: answer('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: ASKED_ERRORS,
  }),
  replace: operation({
    id: 'settings.replace',
    tag,
    summary: 'Change what owners set while the program runs',
    parameters: [IF_MATCH],
    body: jsonBody(SETTINGS_BODY),
    answers: answer('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS],
  }),
};
