/** OpenAPI operations of sign-in with a provider. */
import type { ErrorCode } from '../../lib/errors.ts';
import {
  type ApiResponse,
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import {
  CODE_EXCHANGE_BODY,
  LINK_IDENTITY_BODY,
  LINK_IDENTITY_RESULT,
  PROVIDER_LOGOUT_BODY,
  PROVIDER_LOGOUT_RESULT_SCHEMA,
} from './request-schemas.ts';
import { IDENTITY_SHAPE, SIGN_IN_RESULT_SHAPE } from './response-schemas.ts';

const tag = 'auth';

const PROVIDER = pathParameter('provider', 'Name of a provider.', { type: 'string', minLength: 1, maxLength: 64 });

const ONWARD: Readonly<Record<number, ApiResponse>> = {
  302: { description: 'Where the browser goes next. Errors also go to `redirect` as `error`.', headers: ['Location'] },
};

const FORM_ERRORS: readonly ErrorCode[] = [
  'body-required',
  'body-too-large',
  'unsupported-media-type',
  'request-timeout',
];

const LOG_OUT_ERRORS: readonly ErrorCode[] = [
  'unknown-parameter',
  'invalid-parameter',
  'provider-not-found',
  'provider-response-invalid',
  'provider-unavailable',
];

/** A form of texts with these names, and with others. */
function form(...names: readonly string[]): object {
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
}

const SAML_MESSAGE = form('SAMLRequest', 'SAMLResponse', 'RelayState');

export const PROVIDER_SIGN_IN_OPERATIONS = {
  begin: declareOperation({
    id: 'startProviderSignIn',
    tag,
    summary: 'Start a sign-in with a provider, in a browser',
    description:
      'Ends at `redirect` with `code`, which `POST /auth/exchange` takes together with the verifier, or with `error`.',
    parameters: [
      PROVIDER,
      queryParameter('redirect', 'Where the sign-in ends: a redirect URL that an administrator lists.'),
      queryParameter('code_challenge', 'SHA-256 of the verifier that the client stores, in base64url (RFC 7636).'),
      queryParameter('code_challenge_method', 'Only S256.', { type: 'string', enum: ['S256'] }),
      queryParameter('state', 'Returned with the code.', { type: 'string', maxLength: 512 }, 'clientState'),
      queryParameter('link_ticket', 'A ticket of `POST /auth/identities/{provider}`.'),
    ],
    responses: {
      ...ONWARD,
      200: {
        description: 'A page that posts itself to a SAML provider.',
        content: { 'text/html': { type: 'string' } },
      },
    },
    errors: ['unknown-parameter', 'invalid-parameter', 'provider-not-found', 'redirect-not-allowed'],
  }),
  finish: declareOperation({
    id: 'completeProviderSignIn',
    tag,
    summary: 'Redirect URL of a provider',
    parameters: [PROVIDER],
    responses: ONWARD,
    errors: ['provider-not-found', 'sign-in-expired'],
  }),
  finishPosted: declareOperation({
    id: 'completeProviderSignInByPost',
    tag,
    summary: 'Redirect URL of a provider whose response is posted',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': form('code', 'state') },
    responses: ONWARD,
    errors: ['provider-not-found', 'sign-in-expired', ...FORM_ERRORS],
  }),
  samlMetadata: declareOperation({
    id: 'getSamlMetadata',
    tag,
    summary: 'The metadata of this server, for a SAML provider',
    parameters: [PROVIDER],
    responses: {
      200: { description: 'The metadata.', content: { 'application/samlmetadata+xml': { type: 'string' } } },
    },
    errors: ['unknown-parameter', 'provider-not-found'],
  }),
  samlResponse: declareOperation({
    id: 'completeSamlSignIn',
    tag,
    summary: 'Assertion consumer service: where a SAML provider posts its response',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    responses: ONWARD,
    errors: ['unknown-parameter', 'provider-not-found', 'sign-in-expired', ...FORM_ERRORS],
  }),
  samlLogOut: declareOperation({
    id: 'completeSamlLogout',
    tag,
    summary: 'Single logout service: where a SAML provider sends logout requests and responses',
    parameters: [
      PROVIDER,
      ...['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature', 'SAMLEncoding'].map((name) =>
        queryParameter(name, 'The parameters are those of SAML Bindings 2.0, section 3.4.'),
      ),
    ],
    responses: ONWARD,
    errors: LOG_OUT_ERRORS,
  }),
  samlLogOutPosted: declareOperation({
    id: 'completeSamlLogoutByPost',
    tag,
    summary: 'The same, where the browser posts the message',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    responses: ONWARD,
    errors: [...LOG_OUT_ERRORS, ...FORM_ERRORS],
  }),
  exchange: declareOperation({
    id: 'exchangeCode',
    tag,
    summary: 'Exchange a one-time code for a session',
    body: jsonBody(CODE_EXCHANGE_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'invalid-credentials'],
  }),
  logOut: declareOperation({
    id: 'logoutAtProvider',
    tag,
    summary: 'End this session, and get the URL that ends the one at the provider',
    body: jsonBody(PROVIDER_LOGOUT_BODY),
    responses: jsonResponse(
      'Ended. The URL is null where there is no session to end at a provider.',
      PROVIDER_LOGOUT_RESULT_SCHEMA,
    ),
    errors: [...VALIDATION_ERRORS, 'redirect-not-allowed'],
  }),
  identities: declareOperation({
    id: 'listIdentities',
    tag,
    summary: 'List your identities',
    responses: jsonResponse('The identities, oldest first.', arraySchema(IDENTITY_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  beginLink: declareOperation({
    id: 'startIdentityLink',
    tag,
    summary: 'Start linking an identity to your account',
    description: 'The browser opens the URL. The code that it ends with goes to `POST /auth/identities`.',
    parameters: [PROVIDER],
    body: jsonBody(LINK_IDENTITY_BODY),
    responses: jsonResponse('Where the browser goes.', LINK_IDENTITY_RESULT),
    errors: [...VALIDATION_ERRORS, 'reauthentication-required', 'provider-not-found', 'redirect-not-allowed'],
  }),
  finishLink: declareOperation({
    id: 'linkIdentity',
    tag,
    summary: 'Link the identity of a one-time code to your user',
    body: jsonBody(CODE_EXCHANGE_BODY),
    responses: jsonResponse('Joined.', IDENTITY_SHAPE, 201),
    errors: [...VALIDATION_ERRORS, 'identity-taken', 'identity-exists', 'user-not-found'],
  }),
  removeIdentity: declareOperation({
    id: 'unlinkIdentity',
    tag,
    summary: 'Unlink an identity from your user, unless it is the last way to sign in',
    parameters: [PROVIDER],
    responses: NO_CONTENT_RESPONSE,
    errors: [
      ...QUERY_PARAMETER_ERRORS,
      'reauthentication-required',
      'user-not-found',
      'identity-not-found',
      'last-sign-in-method',
    ],
  }),
};
