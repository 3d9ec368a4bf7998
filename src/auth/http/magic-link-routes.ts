/** Routes of magic links. Registered where credentials are not checked. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerMode } from '../../config/config.ts';
import { isAppUrl } from '../../config/redirects.ts';
import { cookieScopeOf } from '../../lib/cookie-scope.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requestBaseUrl } from '../../lib/request.ts';
import { magicLinkDisabled } from '../identity/auth-errors.ts';
import type { MagicLinkSignIn } from '../magic-link/magic-link.ts';
import { createMagicLinkCookie, readMagicLinkCookie } from '../magic-link/magic-link-cookie.ts';
import { redirectNotAllowed } from '../oauth/provider-errors.ts';
import { SIGN_IN_PATH } from '../oauth/provider-sign-in.ts';
import type { RedirectAllowlist } from '../providers/redirect-allowlist.ts';
import { CONFIRM_MAGIC_LINK_BODY, MAGIC_LINK_OPERATIONS, MAGIC_LINK_REQUEST_BODY } from './magic-link-openapi.ts';
import { preferredLanguage, rejectQueryParameters, sessionOriginOf } from './request-context.ts';
import { OPEN_APP_PATH } from './verify-and-reset-pages.ts';

/** Pages of this server that a link may open. */
const OWN_PAGES = [SIGN_IN_PATH, '/dashboard/link'] as const;

export interface MagicLinkRoutesOptions {
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly redirects: Pick<RedirectAllowlist, 'allows'>;
  readonly mode: ServerMode;
  readonly publicUrl: string | undefined;
  /** The public URL of this server, as e-mails contain it. */
  readonly base: string;
}

export async function magicLinkRoutes(app: FastifyInstance, options: MagicLinkRoutesOptions): Promise<void> {
  const { magicLinkSignIn, redirects, mode, publicUrl, base } = options;
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  rejectQueryParameters(app);
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(publicUrl ?? requestBaseUrl(request));
  // In production an attacker may choose the host of a request, and e-mails must not link to it.
  const baseOf = (request: FastifyRequest) => (mode === 'development' ? (publicUrl ?? requestBaseUrl(request)) : base);

  const pageOf = (request: FastifyRequest, requested: string | undefined, hasChallenge: boolean) => {
    const own = baseOf(request);
    if (requested === undefined) return `${own}${SIGN_IN_PATH}`;
    const bases = [own, requestBaseUrl(request)];
    const ownPage = OWN_PAGES.find((page) => bases.some((one) => requested === `${one}${page}`));
    if (ownPage !== undefined) return `${own}${ownPage}`;
    if (!redirects.allows(requested)) throw redirectNotAllowed();
    if (hasChallenge)
      return isAppUrl(requested) ? `${own}${OPEN_APP_PATH}?to=${encodeURIComponent(requested)}` : requested;
    const detail = 'A redirect to an app requires it: the app does not receive the cookie of this server';
    throw new MillraceError('invalid-body', "The field 'codeChallenge' is missing", {
      issues: [{ pointer: '/codeChallenge', code: 'invalid-body', detail }],
    });
  };

  app.post('/auth/magic-link', { config: MAGIC_LINK_OPERATIONS.request }, async (request, reply) => {
    const { email, redirect, codeChallenge: challenge } = validateBody(MAGIC_LINK_REQUEST_BODY, request.body);
    if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
    const page = pageOf(request, redirect, challenge !== undefined);
    const language = preferredLanguage(request);
    const origin = sessionOriginOf(request);
    if (challenge !== undefined) {
      await magicLinkSignIn.request(email, page, { browser: null, challenge }, language, origin);
      return reply.code(202).send();
    }
    const known = readMagicLinkCookie(request.headers.cookie, scopeOf(request));
    const browser = known ?? randomBytes(32).toString('base64url');
    await magicLinkSignIn.request(email, page, { browser, challenge: null }, language, origin);
    return reply
      .code(202)
      .header('set-cookie', createMagicLinkCookie(browser, scopeOf(request)))
      .send();
  });

  app.post('/auth/magic-link/verify', { config: MAGIC_LINK_OPERATIONS.confirm }, async (request) => {
    const body = validateBody(CONFIRM_MAGIC_LINK_BODY, request.body);
    if (!magicLinkSignIn.isOn) throw magicLinkDisabled();
    const origin = sessionOriginOf(request);
    if ('email' in body) return magicLinkSignIn.verifyOtp(body.email, body.code, origin);
    const browser = readMagicLinkCookie(request.headers.cookie, scopeOf(request));
    return magicLinkSignIn.verifyLink(body.token, { browser, verifier: body.codeVerifier ?? null }, origin);
  });
}
