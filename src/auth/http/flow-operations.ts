/** Operations of signing in by a provider, as the contract describes them. Not here: the routes (flow-routes.ts). */
import {
  type Answer,
  ASKED_ERRORS,
  answer,
  CHECKED_ERRORS,
  DONE,
  jsonBody,
  operation,
} from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import { IDENTITY_SHAPE, SIGNED_IN_SHAPE } from './account-contract.ts';
import { EXCHANGE, JOIN, JOIN_ADDRESS, LOG_OUT, LOG_OUT_ADDRESS } from './schema.ts';

const tag = 'Sign-in';

const PROVIDER = pathParameter('provider', 'Name of a provider.', { type: 'string', minLength: 1, maxLength: 64 });

const ONWARD: Readonly<Record<number, Answer>> = {
  302: { description: 'Where the browser goes next. Refusals go to `redirect` as `error` too.', headers: ['Location'] },
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
  'provider-answer-refused',
  'provider-unavailable',
];

const SAML_MESSAGE = { type: 'object', additionalProperties: { type: 'string' } } as const;

export const BY_PROVIDER = {
  begin: operation({
    id: 'auth.begin',
    tag,
    summary: 'Begin a sign-in by a provider, in a browser',
    description:
      'Ends at `redirect` with `code`, which `POST /auth/exchange` takes together with the verifier, or with `error`.',
    parameters: [
      PROVIDER,
      queryParameter('redirect', 'Where the sign-in ends: an address that an owner lists.'),
      queryParameter('code_challenge', 'SHA-256 of the verifier that the client keeps, in base64url (RFC 7636).'),
      queryParameter('code_challenge_method', 'Only S256.', { type: 'string', enum: ['S256'] }),
      queryParameter('state', 'Comes back with the code.', { type: 'string', maxLength: 512 }),
      queryParameter('join', 'A ticket of `POST /auth/identities/{provider}`.'),
    ],
    answers: {
      ...ONWARD,
      200: {
        description: 'A page that posts itself to a provider of SAML.',
        content: { 'text/html': { type: 'string' } },
      },
    },
    errors: ['unknown-parameter', 'invalid-parameter', 'provider-not-found', 'redirect-not-allowed'],
  }),
  finish: operation({
    id: 'auth.finish',
    tag,
    summary: 'Where a provider sends the browser back to',
    parameters: [PROVIDER],
    answers: ONWARD,
    errors: ['provider-not-found', 'flow-unusable'],
  }),
  finishPosted: operation({
    id: 'auth.finishPosted',
    tag,
    summary: 'Where a provider lets the browser post its answer to',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': { type: 'object', additionalProperties: { type: 'string' } } },
    answers: ONWARD,
    errors: ['provider-not-found', 'flow-unusable', ...FORM_ERRORS],
  }),
  samlMetadata: operation({
    id: 'auth.samlMetadata',
    tag,
    summary: 'The metadata of this server, for a provider of SAML',
    parameters: [PROVIDER],
    answers: {
      200: { description: 'The metadata.', content: { 'application/samlmetadata+xml': { type: 'string' } } },
    },
    errors: ['unknown-parameter', 'provider-not-found'],
  }),
  samlAnswer: operation({
    id: 'auth.samlAnswer',
    tag,
    summary: 'Where a provider of SAML lets the browser post its answer to',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    answers: ONWARD,
    errors: ['unknown-parameter', 'provider-not-found', 'flow-unusable', ...FORM_ERRORS],
  }),
  samlLogOut: operation({
    id: 'auth.samlLogOut',
    tag,
    summary: 'Where a provider of SAML asks to log out, or answers that it has',
    parameters: [
      PROVIDER,
      ...['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature', 'SAMLEncoding'].map((name) =>
        queryParameter(name, 'As SAML Bindings 2.0 has it, in section 3.4.'),
      ),
    ],
    answers: ONWARD,
    errors: LOG_OUT_ERRORS,
  }),
  samlLogOutPosted: operation({
    id: 'auth.samlLogOutPosted',
    tag,
    summary: 'The same, where the browser posts the message',
    parameters: [PROVIDER],
    body: { 'application/x-www-form-urlencoded': SAML_MESSAGE },
    answers: ONWARD,
    errors: [...LOG_OUT_ERRORS, ...FORM_ERRORS],
  }),
  exchange: operation({
    id: 'auth.exchange',
    tag,
    summary: 'Exchange a one-time code for a session',
    body: jsonBody(EXCHANGE),
    answers: answer('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'sign-in-failed'],
  }),
  logOut: operation({
    id: 'auth.logoutAtProvider',
    tag,
    summary: 'End this session, and say where the browser ends the one at the provider',
    body: jsonBody(LOG_OUT),
    answers: answer('Ended. The address is null where there is nothing to end at a provider.', LOG_OUT_ADDRESS),
    errors: [...CHECKED_ERRORS, 'redirect-not-allowed'],
  }),
  identities: operation({
    id: 'auth.identities',
    tag,
    summary: 'List the identities that sign in to your account',
    answers: answer('The identities, oldest first.', listOf(IDENTITY_SHAPE)),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  beginJoin: operation({
    id: 'auth.beginJoin',
    tag,
    summary: 'Begin to join an identity to your account',
    description: 'The browser opens the address. The code that it ends with goes to `POST /auth/identities`.',
    parameters: [PROVIDER],
    body: jsonBody(JOIN),
    answers: answer('Where the browser goes.', JOIN_ADDRESS),
    errors: [...CHECKED_ERRORS, 'fresh-sign-in-required', 'provider-not-found', 'redirect-not-allowed'],
  }),
  finishJoin: operation({
    id: 'auth.finishJoin',
    tag,
    summary: 'Join the identity that a one-time code stands for to your account',
    body: jsonBody(EXCHANGE),
    answers: answer('Joined.', IDENTITY_SHAPE, 201),
    errors: [...CHECKED_ERRORS, 'identity-taken', 'identity-exists', 'document-not-found'],
  }),
  removeIdentity: operation({
    id: 'auth.removeIdentity',
    tag,
    summary: 'Remove an identity from your account, unless it is the last way in',
    parameters: [PROVIDER],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found', 'last-way-in'],
  }),
};
