/** Routes of magic links. Registered where credentials are not checked. */

import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { ServerMode } from '../../config/config.ts';
import { isCustomSchemeUrl } from '../../config/redirect-url-check.ts';
import { cookieScopeOf } from '../../lib/cookie-scope.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { requestBaseUrl } from '../../lib/request.ts';
import { declareOperation, jsonBody, jsonResponse, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { magicLinkDisabled } from '../identity/auth-errors.ts';
import type { MagicLinkSignIn } from '../magic-link/magic-link.ts';
import { createMagicLinkCookie, readMagicLinkCookie } from '../magic-link/magic-link-cookie.ts';
import { redirectNotAllowed } from '../oauth/provider-errors.ts';
import { SIGN_IN_PAGE_PATH } from '../oauth/provider-sign-in.ts';
import type { RedirectAllowlist } from '../providers/redirect-allowlist.ts';
import { preferredLanguage, rejectAllQueryParameters, sessionOriginOf } from './request-helpers.ts';
import { EMAIL_SCHEMA, TOKEN_STRING_SCHEMA } from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE } from './response-schemas.ts';
import { OPEN_APP_PATH } from './verify-and-reset-pages.ts';

const tag = 'auth';
const closed = { additionalProperties: false } as const;

const MAGIC_LINK_REQUEST_BODY = Type.Object(
  {
    email: EMAIL_SCHEMA,
    redirect: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        description:
          'The page that the link opens, with the secret after `#`: a listed URL, with `codeChallenge`. ' +
          'By default the page `/signin` of this server.',
      }),
    ),
    codeChallenge: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description:
          'SHA-256 of a verifier that the client stores, in base64url (RFC 7636). It binds the link to the client; ' +
          'without it a cookie does.',
      }),
    ),
  },
  closed,
);

/** Digits as the e-mail shows them, or without the space. */
const EMAIL_CODE = Type.String({ minLength: 8, maxLength: 12, pattern: '^[0-9 -]+$', description: 'Eight digits.' });

export const VERIFY_OTP_BODY = Type.Object({ email: EMAIL_SCHEMA, code: EMAIL_CODE }, closed);

const CONFIRM_MAGIC_LINK_BODY = Type.Union([
  Type.Object(
    {
      token: TOKEN_STRING_SCHEMA,
      codeVerifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$' })),
    },
    closed,
  ),
  VERIFY_OTP_BODY,
]);

const MAGIC_LINK_OPERATIONS = {
  request: declareOperation({
    id: 'sendMagicLink',
    tag,
    summary: 'Request an e-mail with a magic link and a code',
    description:
      'The response is the same whether or not a user has the e-mail address. A newer e-mail invalidates the older one.',
    body: jsonBody(MAGIC_LINK_REQUEST_BODY),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: [...VALIDATION_ERRORS, 'redirect-not-allowed', 'magic-link-disabled', 'overloaded'],
  }),
  confirm: declareOperation({
    id: 'verifyMagicLink',
    tag,
    summary: 'Sign in with the secret or the code from an e-mail',
    description: 'The secret works in the browser that requested it, the code in any; each once.',
    body: jsonBody(CONFIRM_MAGIC_LINK_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'link-expired', 'invalid-credentials', 'mfa-required', 'magic-link-disabled'],
  }),
};

/** Pages of this server that a link may open. */
const OWN_PAGES = [SIGN_IN_PAGE_PATH, '/dashboard/link'] as const;

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
  rejectAllQueryParameters(app);
  const scopeOf = (request: FastifyRequest) => cookieScopeOf(publicUrl ?? requestBaseUrl(request));
  // In production an attacker may choose the host of a request, and e-mails must not link to it.
  const baseOf = (request: FastifyRequest) => (mode === 'development' ? (publicUrl ?? requestBaseUrl(request)) : base);

  const pageOf = (request: FastifyRequest, requested: string | undefined, hasChallenge: boolean) => {
    const own = baseOf(request);
    if (requested === undefined) return `${own}${SIGN_IN_PAGE_PATH}`;
    const bases = [own, requestBaseUrl(request)];
    const ownPage = OWN_PAGES.find((page) => bases.some((one) => requested === `${one}${page}`));
    if (ownPage !== undefined) return `${own}${ownPage}`;
    if (!redirects.allows(requested)) throw redirectNotAllowed();
    if (hasChallenge)
      return isCustomSchemeUrl(requested) ? `${own}${OPEN_APP_PATH}?to=${encodeURIComponent(requested)}` : requested;
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
