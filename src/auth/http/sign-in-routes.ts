/**
 * Routes of sign-in: operations that need no credential. Registered where credentials are not checked, so that an
 * expired one does not prevent getting a new one. Only the verification of an e-mail address reads one, by itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requestBaseUrl } from '../../lib/request.ts';
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
import { preferredLanguage, rejectQueryParameters, requireMetadataSize, sessionOriginOf } from './request-context.ts';
import {
  CODE_EXCHANGE_BODY,
  CONFIRM_PASSWORD_RESET_BODY,
  LOGIN_BODY,
  PASSWORD_RESET_BODY,
  REFRESH_BODY,
  REGISTER_BODY,
  SETUP_BODY,
  VERIFY_EMAIL_BODY,
} from './request-schemas.ts';
import { SIGN_IN_OPERATIONS } from './sign-in-openapi.ts';

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
  rejectQueryParameters(app);

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
    const { email } = validateBody(PASSWORD_RESET_BODY, request.body);
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
