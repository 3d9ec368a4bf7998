/** Routes of magic links. Registered where credentials are not checked. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Mode } from '../../config/config.ts';
import { opensApp } from '../../config/redirects.ts';
import { cookieScopeOf } from '../../lib/cookie-scope.ts';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import { requestBase } from '../../lib/request.ts';
import { magicLinkDisabled } from '../identity/auth-errors.ts';
import type { MagicLinkSignIn } from '../magic-link/magic-link.ts';
import { browserSecret, linkCookie } from '../magic-link/magic-link-cookie.ts';
import { redirectNotAllowed } from '../oauth/provider-errors.ts';
import { SIGN_IN_PATH } from '../oauth/provider-sign-in.ts';
import type { Redirects } from '../providers/redirect-allowlist.ts';
import { CONFIRM_LINK, LINKS, REQUEST_LINK } from './magic-link-openapi.ts';
import { preferredLanguage, refuseParameters, sessionOriginOf } from './request-context.ts';
import { OPEN_APP_PATH } from './verify-and-reset-pages.ts';

/** Pages of this server that a link may open. */
const OWN_PAGES = [SIGN_IN_PATH, '/dashboard/link'] as const;

export interface LinkRoutesOptions {
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly redirects: Pick<Redirects, 'allows'>;
  readonly mode: Mode;
  readonly publicUrl: string | undefined;
  /** The public URL of this server, as e-mails contain it. */
  readonly base: string;
}

export async function linkRoutes(app: FastifyInstance, options: LinkRoutesOptions): Promise<void> {
  const { magicLinkSignIn, redirects, mode, publicUrl, base } = options;
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  refuseParameters(app);
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(publicUrl ?? requestBase(request));
  // In production an attacker may choose the host of a request, and e-mails must not link to it.
  const baseOf = (request: FastifyRequest) => (mode === 'development' ? (publicUrl ?? requestBase(request)) : base);

  const pageOf = (request: FastifyRequest, requested: string | undefined, hasChallenge: boolean) => {
    const own = baseOf(request);
    if (requested === undefined) return `${own}${SIGN_IN_PATH}`;
    const bases = [own, requestBase(request)];
    const ownPage = OWN_PAGES.find((page) => bases.some((one) => requested === `${one}${page}`));
    if (ownPage !== undefined) return `${own}${ownPage}`;
    if (!redirects.allows(requested)) throw redirectNotAllowed();
    if (hasChallenge)
      return opensApp(requested) ? `${own}${OPEN_APP_PATH}?to=${encodeURIComponent(requested)}` : requested;
    const detail = 'A redirect to an app requires it: the app does not receive the cookie of this server';
    throw new MillraceError('invalid-body', "The field 'codeChallenge' is missing", {
      issues: [{ pointer: '/codeChallenge', code: 'invalid-body', detail }],
    });
  };

  app.post('/auth/magic-link', { config: LINKS.request }, async (request, reply) => {
    const { email, redirect, codeChallenge: challenge } = checked(REQUEST_LINK, request.body);
    if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
    const page = pageOf(request, redirect, challenge !== undefined);
    const language = preferredLanguage(request);
    const origin = sessionOriginOf(request);
    if (challenge !== undefined) {
      await magicLinkSignIn.request(email, page, { browser: null, challenge }, language, origin);
      return reply.code(202).send();
    }
    const known = browserSecret(request.headers.cookie, scopeOf(request));
    const browser = known ?? randomBytes(32).toString('base64url');
    await magicLinkSignIn.request(email, page, { browser, challenge: null }, language, origin);
    return reply
      .code(202)
      .header('set-cookie', linkCookie(browser, scopeOf(request)))
      .send();
  });

  app.post('/auth/magic-link/verify', { config: LINKS.confirm }, async (request) => {
    const body = checked(CONFIRM_LINK, request.body);
    if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
    const origin = sessionOriginOf(request);
    if ('email' in body) return magicLinkSignIn.verifyOtp(body.email, body.code, origin);
    const browser = browserSecret(request.headers.cookie, scopeOf(request));
    return magicLinkSignIn.enter(body.token, { browser, verifier: body.codeVerifier ?? null }, origin);
  });
}
