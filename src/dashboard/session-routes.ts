/**
 * `/dashboard/session`: the only routes that read and set a cookie of a session. They answer with an access token, which the
 * pages keep in memory and send as any client does. Only pages of this server may ask (`Origin`). Not here: what signing
 * in does (auth/sign-in), the cookie (session-cookie.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { browserSecret } from '../auth/by-letter/link-cookie.ts';
import type { LinkSignIn } from '../auth/by-letter/link-sign-in.ts';
import type { FactorSignIn } from '../auth/factors/factor-sign-in.ts';
import type { PasskeySignIn } from '../auth/factors/passkey-sign-in.ts';
import type { ClaimRenewals } from '../auth/flows/claim-renewals.ts';
import type { OneTimeCodes } from '../auth/flows/one-time-codes.ts';
import { refuseParameters, sessionOriginOf } from '../auth/http/requests.ts';
import { ANONYMOUS } from '../auth/identity/principal.ts';
import { invalidCredential, linkSignInOff } from '../auth/identity/refusals.ts';
import type { Owners } from '../auth/sign-in/owners.ts';
import type { SignIn } from '../auth/sign-in/sign-in.ts';
import type { Sessions, Tokens } from '../auth/tokens/sessions.ts';
import type { ServerConfig } from '../kernel/config/config.ts';
import { isOriginAllowed } from '../kernel/config/origin.ts';
import { cookieScopeOf } from '../kernel/cookie-scope.ts';
import { MillraceError } from '../kernel/errors.ts';
import { checked } from '../kernel/parse-body.ts';
import { requestBase } from '../kernel/request.ts';
import type { Policies } from '../policies/policies.ts';
import { endedCookie, sessionCookie, tokenOf } from './session-cookie.ts';
import { DASHBOARD_SESSION, OPEN_SESSION } from './session-operations.ts';

export interface SessionRoutesOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'publicUrl'>;
  readonly policies: Policies;
  readonly signIn: SignIn;
  readonly factorSignIn: FactorSignIn;
  readonly passkeySignIn: PasskeySignIn;
  readonly linkSignIn: LinkSignIn;
  readonly sessions: Sessions;
  readonly owners: Owners;
  readonly codes: OneTimeCodes;
  readonly claimRenewals: ClaimRenewals;
  readonly version: string;
}

export async function sessionRoutes(app: FastifyInstance, options: SessionRoutesOptions): Promise<void> {
  const {
    config,
    policies,
    signIn,
    factorSignIn,
    passkeySignIn,
    linkSignIn,
    sessions,
    owners,
    codes,
    claimRenewals,
    version,
  } = options;
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(config.publicUrl ?? requestBase(request));
  const held = (request: FastifyRequest) => tokenOf(request.headers.cookie, scopeOf(request));

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { origin, host } = request.headers;
    if (request.method !== 'GET' && !isOriginAllowed(origin, host, { ...config, corsOrigins: [] })) {
      throw new MillraceError('forbidden', 'Only the dashboard itself may use its session');
    }
  });
  refuseParameters(app);

  app.get('/dashboard/session', { config: DASHBOARD_SESSION.look }, async (request) => ({
    signedIn: held(request) !== null,
    open: config.mode === 'development' && policies.find(ANONYMOUS, 'read', 'admin') !== null,
    needsOwner: config.mode === 'production' && !(await owners.exists()),
    mode: config.mode,
    version,
  }));

  app.post('/dashboard/session', { config: DASHBOARD_SESSION.open }, async (request, reply) => {
    const body = checked(OPEN_SESSION, request.body);
    const origin = sessionOriginOf(request);
    const open = () => {
      if ('ticket' in body) {
        const { ticket, ...proof } = body;
        return factorSignIn.enter(ticket, proof, origin);
      }
      if ('linkToken' in body || 'email' in body) {
        if (!linkSignIn.isOn) throw linkSignInOff();
        if ('email' in body) return linkSignIn.enterByCode(body.email, body.code, origin);
        const browser = browserSecret(request.headers.cookie, scopeOf(request));
        return linkSignIn.enter(body.linkToken, { browser, verifier: null }, origin);
      }
      if ('credential' in body) return passkeySignIn.enter(body.credential, origin);
      if ('codeVerifier' in body) return codes.exchange(body.code, body.codeVerifier, origin);
      return signIn.login(body.username, body.password, body.code, origin);
    };
    const tokens = await open();
    return reply.header('set-cookie', sessionCookie(tokens.refreshToken, scopeOf(request))).send(access(tokens));
  });

  app.put('/dashboard/session', { config: DASHBOARD_SESSION.renew }, async (request, reply) => {
    const token = held(request);
    if (token === null) throw invalidCredential();
    const origin = sessionOriginOf(request);
    const renewed = sessions.refresh(token, origin, (identity) => claimRenewals.begin(identity, origin));
    const { tokens } = await renewed.catch((error: unknown) => {
      // A cookie of an ended session would be sent for ever.
      if (error instanceof MillraceError && error.code === 'invalid-credential')
        reply.header('set-cookie', endedCookie(scopeOf(request)));
      throw error;
    });
    return reply.header('set-cookie', sessionCookie(tokens.refreshToken, scopeOf(request))).send(access(tokens));
  });

  app.delete('/dashboard/session', { config: DASHBOARD_SESSION.end }, async (request, reply) => {
    const token = held(request);
    if (token !== null) await sessions.endBy(token, sessionOriginOf(request));
    return reply
      .code(204)
      .header('set-cookie', endedCookie(scopeOf(request)))
      .send();
  });
}

function access({ accessToken, expiresIn }: Tokens) {
  return { accessToken, expiresIn };
}
