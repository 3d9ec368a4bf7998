/**
 * Routes of sign-in: operations that need no credential. Registered where credentials are not checked, so that an
 * expired one does not prevent getting a new one. Only the verification of an e-mail address reads one, by itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import { requestBase } from '../../lib/request.ts';
import type { Authenticator } from '../authenticator.ts';
import type { MagicLinkSignIn } from '../magic-link/magic-link.ts';
import type { OneTimeCodes } from '../oauth/authorization-codes.ts';
import type { ClaimRenewals } from '../oauth/claim-refresh.ts';
import type { ProviderSignIn } from '../oauth/provider-sign-in.ts';
import type { Provider } from '../providers/provider.ts';
import type { EmailProof } from '../sign-in/email-proof.ts';
import type { Recovery } from '../sign-in/email-verification.ts';
import type { FirstAdmin } from '../sign-in/first-admin.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { SigningKeySet } from '../tokens/signing-keys.ts';
import { BY_PROVIDER } from './oauth-openapi.ts';
import { preferredLanguage, refuseParameters, requireSmall, sessionOriginOf } from './request-context.ts';
import { EXCHANGE, LOGIN, REFRESH, REGISTER, RESET, RESET_CONFIRM, SETUP, VERIFY } from './request-schemas.ts';
import { SIGN_IN } from './sign-in-openapi.ts';

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
  readonly emailProof: EmailProof;
  readonly authenticator: Authenticator;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly firstAdmin: FirstAdmin;
  readonly signingKeys: SigningKeySet;
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
  readonly claimRenewals: ClaimRenewals;
  readonly publicUrl: string | undefined;
}

export async function signInRoutes(app: FastifyInstance, options: SignInRoutesOptions): Promise<void> {
  const { signIn, recovery, emailProof, authenticator, magicLinkSignIn, firstAdmin, signingKeys } = options;
  const { providerSignIn, codes, claimRenewals, publicUrl } = options;
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  refuseParameters(app);

  app.post('/auth/register', { config: SIGN_IN.register }, async (request, reply) => {
    const body = checked(REGISTER, request.body);
    requireSmall('profile', body.profile);
    return reply.code(201).send(await signIn.register(body, sessionOriginOf(request), preferredLanguage(request)));
  });

  app.post('/auth/login', { config: SIGN_IN.login }, async (request) => {
    const { username, password, code } = checked(LOGIN, request.body);
    return signIn.login(username, password, code, sessionOriginOf(request));
  });

  app.post('/auth/refresh', { config: SIGN_IN.refresh }, async (request) => {
    const { refreshToken } = checked(REFRESH, request.body);
    const origin = sessionOriginOf(request);
    return signIn.refresh(refreshToken, origin, (identity) => claimRenewals.begin(identity, origin));
  });

  app.post('/auth/verify', { config: SIGN_IN.verify }, async (request, reply) => {
    const { token, password, newPassword } = checked(VERIFY, request.body);
    if (password !== undefined && newPassword !== undefined) {
      throw new MillraceError('invalid-body', "Send 'password' or 'newPassword', not both");
    }
    const user = await accountOf(authenticator, request);
    await emailProof.confirm(token, { user, password, newPassword }, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/auth/reset', { config: SIGN_IN.reset }, async (request, reply) => {
    const { email } = checked(RESET, request.body);
    await recovery.requestReset(email, preferredLanguage(request));
    return reply.code(202).send();
  });

  app.post('/auth/reset/confirm', { config: SIGN_IN.resetConfirm }, async (request, reply) => {
    const { token, password } = checked(RESET_CONFIRM, request.body);
    await recovery.reset(token, password, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/setup', { config: SIGN_IN.setUp }, async (request, reply) => {
    const { token, email, password } = checked(SETUP, request.body);
    return reply.code(201).send(await firstAdmin.setUp(token, email, password, sessionOriginOf(request)));
  });

  app.get('/auth/providers', { config: SIGN_IN.providers }, async (request) => {
    const base = publicUrl ?? requestBase(request);
    const providers = providerSignIn.usable().map(({ name, kind }) => {
      return { name, kind, title: TITLES[kind] ?? name, url: `${base}/auth/providers/${name}` };
    });
    return { password: true, magicLink: magicLinkSignIn.isOn, registration: signIn.registration, providers };
  });

  app.post('/auth/exchange', { config: BY_PROVIDER.exchange }, async (request) => {
    const { code, codeVerifier } = checked(EXCHANGE, request.body);
    return codes.exchange(code, codeVerifier, sessionOriginOf(request));
  });

  // Caches may store this response, and its headers contain the origin that may read it: hence `Vary`.
  app.get('/.well-known/jwks.json', { config: SIGN_IN.publicKeys }, async (_request, reply) =>
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
