/**
 * Routes of sign-in: operations that need no credential. Registered where credentials are not checked, so that an
 * expired one does not prevent getting a new one. Only the verification of an e-mail address reads one, by itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requestBaseUrl } from '../../lib/request.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import type { Authenticator } from '../authenticator.ts';
import type { MagicLinkSignIn } from '../magic-link/magic-link.ts';
import type { AuthorizationCodes } from '../oauth/authorization-codes.ts';
import type { ClaimRenewals } from '../oauth/claim-refresh.ts';
import type { ProviderSignIn } from '../oauth/provider-sign-in.ts';
import type { Provider } from '../providers/provider.ts';
import type { Recovery } from '../sign-in/account-recovery.ts';
import type { EmailConfirmation } from '../sign-in/email-confirmation.ts';
import type { FirstAdmin } from '../sign-in/first-admin.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { SigningKeySet } from '../tokens/signing-keys.ts';
import { PROVIDER_SIGN_IN_OPERATIONS } from './oauth-openapi.ts';
import {
  preferredLanguage,
  rejectAllQueryParameters,
  requireMetadataSize,
  sessionOriginOf,
} from './request-helpers.ts';
import {
  CODE_EXCHANGE_BODY,
  CONFIRM_PASSWORD_RESET_BODY,
  JWKS,
  LOGIN_BODY,
  REFRESH_BODY,
  REGISTER_BODY,
  REQUEST_PASSWORD_RESET_BODY,
  SETUP_BODY,
  SETUP_RESULT,
  SIGN_IN_METHODS,
  VERIFY_EMAIL_BODY,
} from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE, USER_INPUT_ERRORS } from './response-schemas.ts';

const tag = 'auth';

const SIGN_IN_OPERATIONS = {
  register: declareOperation({
    id: 'registerUser',
    tag,
    summary: 'Sign up',
    body: jsonBody(REGISTER_BODY),
    responses: jsonResponse('The new user, signed in.', SIGN_IN_RESULT_SHAPE, 201),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'registration-closed'],
  }),
  login: declareOperation({
    id: 'login',
    tag,
    summary: 'Sign in',
    description:
      'If the user has a second factor, a request without `code` is rejected with `mfa-required` and a ticket.',
    body: jsonBody(LOGIN_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'invalid-credentials', 'mfa-required'],
  }),
  refresh: declareOperation({
    id: 'refreshSession',
    tag,
    summary: 'Renew the tokens of a session',
    description: 'A refresh token works once; for 10 seconds it returns the same successor.',
    body: jsonBody(REFRESH_BODY),
    responses: jsonResponse('Fresh tokens, and the user as now stored.', SIGN_IN_RESULT_SHAPE),
    errors: VALIDATION_ERRORS,
  }),
  verify: declareOperation({
    id: 'verifyEmail',
    tag,
    summary: 'Verify an e-mail address',
    description:
      'With `password`, or with the access token of a session of the user, everything stays as it is. With `token` alone, ' +
      'or with `newPassword`, the address of a user who signed up is verified, and what was registered before ' +
      'ends: password, sessions, passkeys, second factor, providers. A user whose address was verified before cannot ' +
      'get another address that way.',
    body: jsonBody(VERIFY_EMAIL_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [
      ...VALIDATION_ERRORS,
      'link-expired',
      'email-taken',
      'not-authenticated',
      'invalid-token',
      'invalid-credentials',
      'weak-password',
      'user-not-found',
    ],
  }),
  reset: declareOperation({
    id: 'requestPasswordReset',
    tag,
    summary: 'Request an e-mail with a link that sets a new password',
    body: jsonBody(REQUEST_PASSWORD_RESET_BODY),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: VALIDATION_ERRORS,
  }),
  resetConfirm: declareOperation({
    id: 'resetPassword',
    tag,
    summary: 'Set a new password with the secret from the e-mail',
    body: jsonBody(CONFIRM_PASSWORD_RESET_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'link-expired', 'weak-password', 'user-not-found'],
  }),
  setUp: declareOperation({
    id: 'createFirstAdmin',
    tag: 'admin',
    summary: 'Create the first administrator with a setup link',
    body: jsonBody(SETUP_BODY),
    responses: jsonResponse('The administrator, signed in.', SETUP_RESULT, 201),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'link-expired'],
  }),
  providers: declareOperation({
    id: 'listSignInProviders',
    tag,
    summary: 'List the ways to sign in',
    responses: jsonResponse('The configured ways.', SIGN_IN_METHODS),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  publicKeys: declareOperation({
    id: 'getPublicKeys',
    tag,
    summary: 'The public keys of access tokens',
    responses: jsonResponse('A JSON Web Key Set.', JWKS),
    errors: QUERY_PARAMETER_ERRORS,
  }),
};

/** Display names of the kinds of providers; of OpenID Connect there may be several, each with its own name. */
const TITLES: Readonly<Partial<Record<Provider['kind'], string>>> = {
  google: 'Google',
  facebook: 'Facebook',
  apple: 'Apple',
  github: 'GitHub',
};

export interface SignInRoutesOptions {
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly emailProof: EmailConfirmation;
  readonly authenticator: Authenticator;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly firstAdmin: FirstAdmin;
  readonly signingKeys: SigningKeySet;
  readonly providerSignIn: ProviderSignIn;
  readonly codes: AuthorizationCodes;
  readonly claimRenewals: ClaimRenewals;
  readonly publicUrl: string | undefined;
}

export async function signInRoutes(app: FastifyInstance, options: SignInRoutesOptions): Promise<void> {
  const { signIn, recovery, emailProof, authenticator, magicLinkSignIn, firstAdmin, signingKeys } = options;
  const { providerSignIn, codes, claimRenewals, publicUrl } = options;
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  rejectAllQueryParameters(app);

  app.post('/auth/register', { config: SIGN_IN_OPERATIONS.register }, async (request, reply) => {
    const body = validateBody(REGISTER_BODY, request.body);
    requireMetadataSize('profile', body.profile);
    return reply.code(201).send(await signIn.register(body, sessionOriginOf(request), preferredLanguage(request)));
  });

  app.post('/auth/login', { config: SIGN_IN_OPERATIONS.login }, async (request) => {
    const { username, password, code } = validateBody(LOGIN_BODY, request.body);
    return signIn.login(username, password, code, sessionOriginOf(request));
  });

  app.post('/auth/refresh', { config: SIGN_IN_OPERATIONS.refresh }, async (request) => {
    const { refreshToken } = validateBody(REFRESH_BODY, request.body);
    const origin = sessionOriginOf(request);
    return signIn.refresh(refreshToken, origin, (identity) => claimRenewals.begin(identity, origin));
  });

  app.post('/auth/verify', { config: SIGN_IN_OPERATIONS.verify }, async (request, reply) => {
    const { token, password, newPassword } = validateBody(VERIFY_EMAIL_BODY, request.body);
    if (password !== undefined && newPassword !== undefined) {
      throw new MillraceError('invalid-body', "Send 'password' or 'newPassword', not both");
    }
    const user = await accountOf(authenticator, request);
    await emailProof.confirm(token, { user, password, newPassword }, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/auth/reset', { config: SIGN_IN_OPERATIONS.reset }, async (request, reply) => {
    const { email } = validateBody(REQUEST_PASSWORD_RESET_BODY, request.body);
    await recovery.requestReset(email, preferredLanguage(request));
    return reply.code(202).send();
  });

  app.post('/auth/reset/confirm', { config: SIGN_IN_OPERATIONS.resetConfirm }, async (request, reply) => {
    const { token, password } = validateBody(CONFIRM_PASSWORD_RESET_BODY, request.body);
    await recovery.reset(token, password, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/setup', { config: SIGN_IN_OPERATIONS.setUp }, async (request, reply) => {
    const { token, email, password } = validateBody(SETUP_BODY, request.body);
    return reply.code(201).send(await firstAdmin.setUp(token, email, password, sessionOriginOf(request)));
  });

  app.get('/auth/providers', { config: SIGN_IN_OPERATIONS.providers }, async (request) => {
    const base = publicUrl ?? requestBaseUrl(request);
    const providers = providerSignIn.listAvailable().map(({ name, kind }) => {
      return { name, kind, title: TITLES[kind] ?? name, url: `${base}/auth/providers/${name}` };
    });
    return { password: true, magicLink: magicLinkSignIn.isOn, registration: signIn.registration, providers };
  });

  app.post('/auth/exchange', { config: PROVIDER_SIGN_IN_OPERATIONS.exchange }, async (request) => {
    const { code, codeVerifier } = validateBody(CODE_EXCHANGE_BODY, request.body);
    return codes.exchange(code, codeVerifier, sessionOriginOf(request));
  });

  // Caches may store this response, and its headers contain the origin that may read it: hence `Vary`.
  app.get('/.well-known/jwks.json', { config: SIGN_IN_OPERATIONS.publicKeys }, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=60')
      .header('vary', 'Origin')
      .send({ keys: signingKeys.publicKeys() }),
  );
}

/**
 * The user whose session a request has; null without one. An ended session is rejected: without it, the request would
 * end what its client wants to keep.
 * @throws MillraceError `invalid-token`
 */
async function accountOf(authenticator: Authenticator, { headers }: FastifyRequest): Promise<string | null> {
  const { authorization = '' } = headers;
  if (!/^bearer /i.test(authorization)) return null;
  const principal = await authenticator.authenticate(authorization);
  return principal.kind === 'user' || principal.kind === 'admin' ? principal.id : null;
}
