/**
 * `/dashboard/session`: the only routes that read and set a cookie of a session. They answer with an access token, which the
 * pages keep in memory and send as any client does. Only pages of this server may ask (`Origin`).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { refuseParameters, sessionOriginOf } from '../auth/http/request-context.ts';
import { invalidToken, magicLinkDisabled } from '../auth/identity/auth-errors.ts';
import { ANONYMOUS } from '../auth/identity/principal.ts';
import type { MagicLinkSignIn } from '../auth/magic-link/magic-link.ts';
import { browserSecret } from '../auth/magic-link/magic-link-cookie.ts';
import type { FactorSignIn } from '../auth/mfa/complete.ts';
import type { OneTimeCodes } from '../auth/oauth/authorization-codes.ts';
import type { ClaimRenewals } from '../auth/oauth/claim-refresh.ts';
import type { PasskeySignIn } from '../auth/passkeys/passkey-sign-in.ts';
import type { Sessions, Tokens } from '../auth/sessions/sessions.ts';
import type { FirstAdmin } from '../auth/sign-in/first-admin.ts';
import type { SignIn } from '../auth/sign-in/sign-in.ts';
import type { ServerConfig } from '../config/config.ts';
import { isOriginAllowed } from '../config/origin.ts';
import { cookieScopeOf } from '../lib/cookie-scope.ts';
import { MillraceError } from '../lib/errors.ts';
import { checked } from '../lib/parse-body.ts';
import { requestBase } from '../lib/request.ts';
import type { Policies } from '../policies/policies.ts';
import { endedCookie, sessionCookie, tokenOf } from './session-cookie.ts';
import { DASHBOARD_SESSION, OPEN_SESSION } from './session-operations.ts';

export interface SessionRoutesOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'publicUrl'>;
  readonly policies: Policies;
  readonly signIn: SignIn;
  readonly factorSignIn: FactorSignIn;
  readonly passkeySignIn: PasskeySignIn;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly sessions: Sessions;
  readonly firstAdmin: FirstAdmin;
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
    magicLinkSignIn,
    sessions,
    firstAdmin,
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
      throw new MillraceError('forbidden', 'Only the dashboard itself can use its session');
    }
  });
  refuseParameters(app);

  app.get('/dashboard/session', { config: DASHBOARD_SESSION.look }, async (request) => ({
    signedIn: held(request) !== null,
    open: config.mode === 'development' && policies.find(ANONYMOUS, 'read', '_admin') !== null,
    needsAdmin: config.mode === 'production' && !(await firstAdmin.exists()),
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
        if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
        if ('email' in body) return magicLinkSignIn.verifyOtp(body.email, body.code, origin);
        const browser = browserSecret(request.headers.cookie, scopeOf(request));
        return magicLinkSignIn.enter(body.linkToken, { browser, verifier: null }, origin);
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
    if (token === null) throw invalidToken();
    const origin = sessionOriginOf(request);
    const renewed = sessions.refresh(token, origin, (identity) => claimRenewals.begin(identity, origin));
    const { tokens } = await renewed.catch((error: unknown) => {
      // A cookie of an ended session would be sent for ever.
      if (error instanceof MillraceError && error.code === 'invalid-token')
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
