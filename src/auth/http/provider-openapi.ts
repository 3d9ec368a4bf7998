/** OpenAPI operations of identity providers and sign-in settings. */
import Type from 'typebox';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  PRECONDITION_ERRORS,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { IF_MATCH, pathParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { PROVIDER_CHECKS } from '../providers/provider-diagnostics.ts';
import { PROVIDER_BODY } from '../providers/provider-schema.ts';

const tag = 'admin';

const NAME = pathParameter(
  'name',
  'Name of the provider.',
  { type: 'string', minLength: 1, maxLength: 32 },
  'providerName',
);
const SHOWN = namedSchema('IdentityProvider', PROVIDER_BODY);
const CHECKED_SHAPE = namedSchema(
  'ProviderCheck',
  Type.Object({
    passed: Type.Boolean({ description: 'Whether all checks passed.' }),
    redirectUrl: Type.String({ description: 'The redirect URL to register at the provider.' }),
    checks: Type.Array(
      Type.Object({
        name: Type.Unsafe<string>({ type: 'string', enum: [...PROVIDER_CHECKS] }),
        passed: Type.Boolean(),
        message: Type.String({ description: 'The result, in words.' }),
      }),
    ),
  }),
);

const REDIRECTS = Type.Array(Type.String({ minLength: 1, maxLength: 2_048 }), {
  maxItems: 200,
  uniqueItems: true,
  description:
    'URLs that a sign-in by a provider may end at, those of native apps too. A redirect must be equal to one of them; the ' +
    'port of http://127.0.0.1 and http://[::1] is free.',
});
/** The body of `PATCH /admin/settings`. */
export const SETTINGS_BODY = Type.Object(
  { redirectUrls: Type.Optional(REDIRECTS) },
  { additionalProperties: false, description: 'A merge patch: a setting that is absent stays as it is.' },
);
const SETTINGS_SHAPE = namedSchema(
  'SignInSettings',
  Type.Object({
    redirectUrls: REDIRECTS,
    configuredRedirectUrls: Type.Array(Type.String(), {
      description: 'Those that MILLRACE_REDIRECT_URLS allows besides.',
    }),
  }),
);

export const PROVIDER_OPERATIONS = {
  list: declareOperation({
    id: 'listIdentityProviders',
    tag,
    summary: 'List the identity providers',
    responses: jsonResponse('All of them, by name.', arraySchema(SHOWN)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  create: declareOperation({
    id: 'createIdentityProvider',
    tag,
    summary: 'Add an identity provider',
    body: jsonBody(PROVIDER_BODY),
    responses: jsonResponse('The provider.', SHOWN, 201, ['Location', 'ETag']),
    errors: [...VALIDATION_ERRORS, 'provider-exists', 'write-conflict'],
  }),
  get: declareOperation({
    id: 'getIdentityProvider',
    tag,
    summary: 'Get an identity provider',
    parameters: [NAME],
    responses: jsonResponse('The provider, without its secrets.', SHOWN, 200, ['ETag']),
    errors: [...QUERY_PARAMETER_ERRORS, 'provider-not-found'],
  }),
  replace: declareOperation({
    id: 'replaceIdentityProvider',
    tag,
    summary: 'Change an identity provider',
    parameters: [NAME, IF_MATCH],
    body: jsonBody(PROVIDER_BODY),
    responses: jsonResponse('The provider.', SHOWN, 200, ['ETag']),
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'provider-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteIdentityProvider',
    tag,
    summary: 'Remove an identity provider',
    parameters: [NAME, IF_MATCH],
    responses: { 204: { description: 'Removed.' } },
    errors: [...QUERY_PARAMETER_ERRORS, ...PRECONDITION_ERRORS, 'provider-not-found'],
  }),
  check: declareOperation({
    id: 'checkIdentityProvider',
    tag,
    summary: 'Check the settings of an identity provider',
    description: 'Calls the provider, but signs no one in.',
    parameters: [NAME],
    responses: jsonResponse('The result of each check.', CHECKED_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'provider-not-found'],
  }),
};

export const SETTINGS_OPERATIONS = {
  get: declareOperation({
    id: 'getSettings',
    tag,
    summary: 'Get the settings that administrators change at run time',
    responses: jsonResponse('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  update: declareOperation({
    id: 'updateSettings',
    tag,
    summary: 'Change the settings that administrators change at run time',
    parameters: [IF_MATCH],
    body: jsonBody(SETTINGS_BODY),
    responses: jsonResponse('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS],
  }),
};
