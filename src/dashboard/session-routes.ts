/**
 * `/dashboard/session`: the only routes that read and set a cookie of a session. They answer with an access token, which the
 * pages keep in memory and send as any client does. Only pages of this server may ask (`Origin`).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectAllQueryParameters, sessionOriginOf } from '../auth/http/request-helpers.ts';
import { invalidToken, magicLinkDisabled } from '../auth/identity/auth-errors.ts';
import { ANONYMOUS } from '../auth/identity/principal.ts';
import type { MagicLinkSignIn } from '../auth/magic-link/magic-link.ts';
import { readMagicLinkCookie } from '../auth/magic-link/magic-link-cookie.ts';
import type { FactorSignIn } from '../auth/mfa/factor-sign-in.ts';
import type { AuthorizationCodes } from '../auth/oauth/authorization-codes.ts';
import type { ClaimRenewals } from '../auth/oauth/claim-refresh.ts';
import type { PasskeySignIn } from '../auth/passkeys/passkey-sign-in.ts';
import type { Sessions, SessionTokens } from '../auth/sessions/sessions.ts';
import type { FirstAdmin } from '../auth/sign-in/first-admin.ts';
import type { SignIn } from '../auth/sign-in/sign-in.ts';
import type { ServerConfig } from '../config/config.ts';
import { isOriginAllowed } from '../config/origin-check.ts';
import { cookieScopeOf } from '../lib/cookie-scope.ts';
import { MillraceError } from '../lib/errors.ts';
import { validateBody } from '../lib/parse-body.ts';
import { requestBaseUrl } from '../lib/request.ts';
import type { Policies } from '../policies/policies.ts';
import { clearedSessionCookie, readRefreshToken, serializeSessionCookie } from './session-cookie.ts';
import { CREATE_SESSION_BODY, DASHBOARD_SESSION_OPERATIONS } from './session-openapi.ts';

export interface SessionRoutesOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'publicUrl'>;
  readonly policies: Policies;
  readonly signIn: SignIn;
  readonly factorSignIn: FactorSignIn;
  readonly passkeySignIn: PasskeySignIn;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly sessions: Sessions;
  readonly firstAdmin: FirstAdmin;
  readonly codes: AuthorizationCodes;
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
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(config.publicUrl ?? requestBaseUrl(request));
  const held = (request: FastifyRequest) => readRefreshToken(request.headers.cookie, scopeOf(request));

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { origin, host } = request.headers;
    if (request.method !== 'GET' && !isOriginAllowed(origin, host, { ...config, corsOrigins: [] })) {
      throw new MillraceError('forbidden', 'Only the dashboard itself can use its session');
    }
  });
  rejectAllQueryParameters(app);

  app.get('/dashboard/session', { config: DASHBOARD_SESSION_OPERATIONS.get }, async (request) => ({
    signedIn: held(request) !== null,
    open: config.mode === 'development' && policies.find(ANONYMOUS, 'read', '_admin') !== null,
    needsAdmin: config.mode === 'production' && !(await firstAdmin.exists()),
    mode: config.mode,
    version,
  }));

  app.post('/dashboard/session', { config: DASHBOARD_SESSION_OPERATIONS.open }, async (request, reply) => {
    const body = validateBody(CREATE_SESSION_BODY, request.body);
    const origin = sessionOriginOf(request);
    const open = () => {
      if ('ticket' in body) {
        const { ticket, ...proof } = body;
        return factorSignIn.complete(ticket, proof, origin);
      }
      if ('linkToken' in body || 'email' in body) {
        if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
        if ('email' in body) return magicLinkSignIn.verifyOtp(body.email, body.code, origin);
        const browser = readMagicLinkCookie(request.headers.cookie, scopeOf(request));
        return magicLinkSignIn.verifyLink(body.linkToken, { browser, verifier: null }, origin);
      }
      if ('credential' in body) return passkeySignIn.signInWithPasskey(body.credential, origin);
      if ('codeVerifier' in body) return codes.exchange(body.code, body.codeVerifier, origin);
      return signIn.login(body.username, body.password, body.code, origin);
    };
    const tokens = await open();
    return reply
      .header('set-cookie', serializeSessionCookie(tokens.refreshToken, scopeOf(request)))
      .send(access(tokens));
  });

  app.put('/dashboard/session', { config: DASHBOARD_SESSION_OPERATIONS.renew }, async (request, reply) => {
    const token = held(request);
    if (token === null) throw invalidToken();
    const origin = sessionOriginOf(request);
    const renewed = sessions.refresh(token, origin, (identity) => claimRenewals.begin(identity, origin));
    const { tokens } = await renewed.catch((error: unknown) => {
      // A cookie of an ended session would be sent for ever.
      if (error instanceof MillraceError && error.code === 'invalid-token')
        reply.header('set-cookie', clearedSessionCookie(scopeOf(request)));
      throw error;
    });
    return reply
      .header('set-cookie', serializeSessionCookie(tokens.refreshToken, scopeOf(request)))
      .send(access(tokens));
  });

  app.delete('/dashboard/session', { config: DASHBOARD_SESSION_OPERATIONS.end }, async (request, reply) => {
    const token = held(request);
    if (token !== null) await sessions.endByRefreshToken(token, sessionOriginOf(request));
    return reply
      .code(204)
      .header('set-cookie', clearedSessionCookie(scopeOf(request)))
      .send();
  });
}

function access({ accessToken, expiresIn }: SessionTokens) {
  return { accessToken, expiresIn };
}
