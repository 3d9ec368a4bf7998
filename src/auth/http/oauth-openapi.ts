/** OpenAPI operations of sign-in with a provider. */
import type { ErrorCode } from '../../lib/errors.ts';
import {
  type ApiResponse,
  CHECKED_ERRORS,
  DONE,
  jsonBody,
  operation,
  REQUEST_ERRORS,
  response,
} from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf } from '../../openapi/schema.ts';
import { EXCHANGE, LINK, LINK_URL, LOG_OUT, LOGOUT_URL } from './request-schemas.ts';
import { IDENTITY_SHAPE, SIGNED_IN_SHAPE } from './response-schemas.ts';

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

export const BY_PROVIDER = {
  begin: operation({
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
  finish: operation({
    id: 'completeProviderSignIn',
    tag,
    summary: 'Redirect URL of a provider',
    parameters: [PROVIDER],
    responses: ONWARD,
    errors: ['provider-not-found', 'sign-in-expired'],
  }),
  finishPosted: operation({
    id: 'completeProviderSignInByPost',
    tag,
    summary: 'Redirect URL of a provider whose response is posted',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': form('code', 'state') },
    responses: ONWARD,
    errors: ['provider-not-found', 'sign-in-expired', ...FORM_ERRORS],
  }),
  samlMetadata: operation({
    id: 'getSamlMetadata',
    tag,
    summary: 'The metadata of this server, for a SAML provider',
    parameters: [PROVIDER],
    responses: {
      200: { description: 'The metadata.', content: { 'application/samlmetadata+xml': { type: 'string' } } },
    },
    errors: ['unknown-parameter', 'provider-not-found'],
  }),
  samlResponse: operation({
    id: 'completeSamlSignIn',
    tag,
    summary: 'Assertion consumer service: where a SAML provider posts its response',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    responses: ONWARD,
    errors: ['unknown-parameter', 'provider-not-found', 'sign-in-expired', ...FORM_ERRORS],
  }),
  samlLogOut: operation({
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
  samlLogOutPosted: operation({
    id: 'completeSamlLogoutByPost',
    tag,
    summary: 'The same, where the browser posts the message',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    responses: ONWARD,
    errors: [...LOG_OUT_ERRORS, ...FORM_ERRORS],
  }),
  exchange: operation({
    id: 'exchangeCode',
    tag,
    summary: 'Exchange a one-time code for a session',
    body: jsonBody(EXCHANGE),
    responses: response('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'invalid-credentials'],
  }),
  logOut: operation({
    id: 'logoutAtProvider',
    tag,
    summary: 'End this session, and get the URL that ends the one at the provider',
    body: jsonBody(LOG_OUT),
    responses: response('Ended. The URL is null where there is no session to end at a provider.', LOGOUT_URL),
    errors: [...CHECKED_ERRORS, 'redirect-not-allowed'],
  }),
  identities: operation({
    id: 'listIdentities',
    tag,
    summary: 'List your identities',
    responses: response('The identities, oldest first.', listOf(IDENTITY_SHAPE)),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  beginLink: operation({
    id: 'startIdentityLink',
    tag,
    summary: 'Start linking an identity to your account',
    description: 'The browser opens the URL. The code that it ends with goes to `POST /auth/identities`.',
    parameters: [PROVIDER],
    body: jsonBody(LINK),
    responses: response('Where the browser goes.', LINK_URL),
    errors: [...CHECKED_ERRORS, 'reauthentication-required', 'provider-not-found', 'redirect-not-allowed'],
  }),
  finishLink: operation({
    id: 'linkIdentity',
    tag,
    summary: 'Link the identity of a one-time code to your user',
    body: jsonBody(EXCHANGE),
    responses: response('Joined.', IDENTITY_SHAPE, 201),
    errors: [...CHECKED_ERRORS, 'identity-taken', 'identity-exists', 'user-not-found'],
  }),
  removeIdentity: operation({
    id: 'unlinkIdentity',
    tag,
    summary: 'Unlink an identity from your user, unless it is the last way to sign in',
    parameters: [PROVIDER],
    responses: DONE,
    errors: [
      ...REQUEST_ERRORS,
      'reauthentication-required',
      'user-not-found',
      'identity-not-found',
      'last-sign-in-method',
    ],
  }),
};
