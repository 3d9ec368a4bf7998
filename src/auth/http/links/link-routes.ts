/**
 * The HTTP face of signing in by a letter. Registered where no credential is looked at. Not here: what it does
 * (by-letter/link-sign-in.ts), and the session of the dashboard (dashboard/session-routes.ts).
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Mode } from '../../../kernel/config/config.ts';
import { opensApp } from '../../../kernel/config/redirects.ts';
import { cookieScopeOf } from '../../../kernel/cookie-scope.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import { checked } from '../../../kernel/parse-body.ts';
import { requestBase } from '../../../kernel/request.ts';
import { browserSecret, linkCookie } from '../../by-letter/link-cookie.ts';
import type { LinkSignIn } from '../../by-letter/link-sign-in.ts';
import { redirectNotAllowed } from '../../flows/provider-refusal.ts';
import { SIGN_IN_PATH } from '../../flows/provider-sign-in.ts';
import { linkSignInOff } from '../../identity/refusals.ts';
import type { Redirects } from '../../providers/redirects.ts';
import { OPEN_APP_PATH } from '../link-pages.ts';
import { preferredLanguage, refuseParameters, sessionOriginOf } from '../requests.ts';
import { ASK_LINK, CONFIRM_LINK, LINKS } from './link-operations.ts';

/** Pages of this server that a link may open. */
const OWN_PAGES = [SIGN_IN_PATH, '/dashboard/link'] as const;

export interface LinkRoutesOptions {
  readonly linkSignIn: LinkSignIn;
  readonly redirects: Pick<Redirects, 'allows'>;
  readonly mode: Mode;
  readonly publicUrl: string | undefined;
  /** Where people reach this server, as letters say it. */
  readonly base: string;
}

export async function linkRoutes(app: FastifyInstance, options: LinkRoutesOptions): Promise<void> {
  const { linkSignIn, redirects, mode, publicUrl, base } = options;
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  refuseParameters(app);
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(publicUrl ?? requestBase(request));
  // In production the host that a request names may be anybody's, and letters must not lead there.
  const baseOf = (request: FastifyRequest) => (mode === 'development' ? (publicUrl ?? requestBase(request)) : base);

  const pageOf = (request: FastifyRequest, wanted: string | undefined, hasChallenge: boolean) => {
    const own = baseOf(request);
    if (wanted === undefined) return `${own}${SIGN_IN_PATH}`;
    const bases = [own, requestBase(request)];
    const ownPage = OWN_PAGES.find((page) => bases.some((one) => wanted === `${one}${page}`));
    if (ownPage !== undefined) return `${own}${ownPage}`;
    if (!redirects.allows(wanted)) throw redirectNotAllowed();
    if (hasChallenge) return opensApp(wanted) ? `${own}${OPEN_APP_PATH}?to=${encodeURIComponent(wanted)}` : wanted;
    const detail = 'A redirect to an app needs it: the cookie of this server does not reach the app';
    throw new MillraceError('invalid-body', "The member 'codeChallenge' is missing", {
      faults: [{ pointer: '/codeChallenge', code: 'invalid-body', detail }],
    });
  };

  app.post('/auth/link', { config: LINKS.ask }, async (request, reply) => {
    const { email, redirect, codeChallenge: challenge } = checked(ASK_LINK, request.body);
    if (!linkSignIn.isOn) throw linkSignInOff();
    const page = pageOf(request, redirect, challenge !== undefined);
    const language = preferredLanguage(request);
    const origin = sessionOriginOf(request);
    if (challenge !== undefined) {
      await linkSignIn.request(email, page, { browser: null, challenge }, language, origin);
      return reply.code(202).send();
    }
    const known = browserSecret(request.headers.cookie, scopeOf(request));
    const browser = known ?? randomBytes(32).toString('base64url');
    await linkSignIn.request(email, page, { browser, challenge: null }, language, origin);
    return reply
      .code(202)
      .header('set-cookie', linkCookie(browser, scopeOf(request)))
      .send();
  });

  app.post('/auth/link/confirm', { config: LINKS.confirm }, async (request) => {
    const body = checked(CONFIRM_LINK, request.body);
    if (!linkSignIn.isOn) throw linkSignInOff();
    const origin = sessionOriginOf(request);
    if ('email' in body) return linkSignIn.enterByCode(body.email, body.code, origin);
    const browser = browserSecret(request.headers.cookie, scopeOf(request));
    return linkSignIn.enter(body.token, { browser, verifier: body.codeVerifier ?? null }, origin);
  });
}
