/**
 * The HTTP face of signing in: operations that need no credential. Registered where no credential is looked at, so that
 * an expired one does not prevent getting a new one. Only the confirmation of an address reads one, by itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { requestBase } from '../../kernel/request.ts';
import type { Authenticator } from '../authenticator.ts';
import type { LinkSignIn } from '../by-letter/link-sign-in.ts';
import type { ClaimRenewals } from '../flows/claim-renewals.ts';
import type { OneTimeCodes } from '../flows/one-time-codes.ts';
import type { ProviderSignIn } from '../flows/provider-sign-in.ts';
import type { Provider } from '../providers/provider.ts';
import type { AddressProof } from '../sign-in/address-proof.ts';
import type { Owners } from '../sign-in/owners.ts';
import type { Recovery } from '../sign-in/recovery.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import { BY_PROVIDER } from './flow-operations.ts';
import { preferredLanguage, refuseParameters, requireSmall, sessionOriginOf } from './requests.ts';
import { EXCHANGE, LOGIN, REFRESH, REGISTER, RESET, RESET_CONFIRM, SETUP, VERIFY } from './schema.ts';
import { SIGN_IN } from './sign-in-operations.ts';

/** How people know the kinds of providers; of OpenID Connect there may be several, each with a name of its own. */
const TITLES: Readonly<Partial<Record<Provider['kind'], string>>> = {
  google: 'Google',
  facebook: 'Facebook',
  apple: 'Apple',
  github: 'GitHub',
};

export interface SignInRoutesOptions {
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly addressProof: AddressProof;
  readonly authenticator: Authenticator;
  readonly linkSignIn: LinkSignIn;
  readonly owners: Owners;
  readonly keyRing: KeyRing;
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
  readonly claimRenewals: ClaimRenewals;
  readonly publicUrl: string | undefined;
}

export async function signInRoutes(app: FastifyInstance, options: SignInRoutesOptions): Promise<void> {
  const { signIn, recovery, addressProof, authenticator, linkSignIn, owners, keyRing } = options;
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
    const account = await accountOf(authenticator, request);
    await addressProof.confirm(token, { account, password, newPassword }, sessionOriginOf(request));
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
    return reply.code(201).send(await owners.setUp(token, email, password, sessionOriginOf(request)));
  });

  app.get('/auth/providers', { config: SIGN_IN.providers }, async (request) => {
    const base = publicUrl ?? requestBase(request);
    const providers = providerSignIn.usable().map(({ name, kind }) => {
      return { name, kind, title: TITLES[kind] ?? name, address: `${base}/auth/${name}` };
    });
    return { password: true, link: linkSignIn.isOn, registration: signIn.registration, providers };
  });

  app.post('/auth/exchange', { config: BY_PROVIDER.exchange }, async (request) => {
    const { code, codeVerifier } = checked(EXCHANGE, request.body);
    return codes.exchange(code, codeVerifier, sessionOriginOf(request));
  });

  // Caches may keep this answer, and its headers name the origin that may read it: hence `Vary`.
  app.get('/.well-known/jwks.json', { config: SIGN_IN.publicKeys }, async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').header('vary', 'Origin').send({ keys: keyRing.publicKeys() }),
  );
}

/**
 * The account whose session a request has; null without one. A session that has ended is refused: without it, the request would
 * end what its client wants to keep.
 * @throws MillraceError `invalid-credential`
 */
async function accountOf(authenticator: Authenticator, { headers }: FastifyRequest): Promise<string | null> {
  const { authorization = '' } = headers;
  if (!/^bearer /i.test(authorization)) return null;
  const principal = await authenticator.authenticate(authorization);
  return principal.kind === 'user' || principal.kind === 'owner' ? principal.id : null;
}
