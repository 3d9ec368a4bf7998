/**
 * Routes of sign-in with a provider: the two requests of a browser. An error that cannot be sent to a redirect URL is
 * shown as a page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters, queryString, requestBaseUrl, requireMediaType } from '../../lib/request.ts';
import type { BrowserRedirect } from '../oauth/client-redirect.ts';
import type { BrowserRequest, ProviderSignIn } from '../oauth/provider-sign-in.ts';
import type { ProviderLogOut } from '../oauth/rp-logout.ts';
import { PROVIDER_SIGN_IN_OPERATIONS } from './oauth-openapi.ts';
import { escapeHtml, type HostedPage, renderHostedPage } from './page-template.ts';
import { sessionOriginOf } from './request-helpers.ts';

const FORM = 'application/x-www-form-urlencoded';
/** Responses of users in many groups reach hundreds of kilobytes. Other forms are small (http/body-parsers.ts). */
const MAX_SAML_BYTES = 1_048_576;

export interface ProviderSignInRoutesOptions {
  readonly providerSignIn: ProviderSignIn;
  readonly providerLogOut: ProviderLogOut;
  readonly publicUrl: string | undefined;
}

interface OfProvider {
  Params: { provider: string };
}

/** Register it where forms are parsed (http/body-parsers.ts). */
export async function providerSignInRoutes(app: FastifyInstance, options: ProviderSignInRoutesOptions): Promise<void> {
  const { providerSignIn, providerLogOut, publicUrl } = options;
  const browserOf = (request: FastifyRequest): BrowserRequest => ({
    base: publicUrl ?? requestBaseUrl(request),
    cookies: request.headers.cookie,
    origin: sessionOriginOf(request),
  });

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store');
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const isShown = error instanceof MillraceError && request.headers.accept?.includes('text/html') === true;
    // The handler of all routes responds with a problem document.
    if (!isShown) throw error;
    request.refusal = error;
    const { html, policy } = errorPage(error, request.id);
    return reply
      .code(error.status)
      .headers(error.headers)
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(html);
  });

  app.get<OfProvider>(
    '/auth/providers/:provider',
    { config: PROVIDER_SIGN_IN_OPERATIONS.begin },
    async (request, reply) => {
      const known = ['redirect', 'code_challenge', 'code_challenge_method', 'state', 'link_ticket'];
      const requested = parseQueryParameters(request, known);
      const wish = {
        redirect: requested.get('redirect'),
        challenge: requested.get('code_challenge'),
        method: requested.get('code_challenge_method'),
        state: requested.get('state'),
        linkTicket: requested.get('link_ticket'),
      };
      return send(reply, await providerSignIn.begin(request.params.provider, wish, browserOf(request)));
    },
  );

  // Providers add parameters of their own.
  app.get<OfProvider>(
    '/auth/providers/:provider/callback',
    { config: PROVIDER_SIGN_IN_OPERATIONS.finish },
    async (request, reply) => {
      const result = new URLSearchParams(queryString(request));
      return send(reply, await providerSignIn.finish(request.params.provider, result, browserOf(request)));
    },
  );

  app.post<OfProvider>(
    '/auth/providers/:provider/callback',
    { config: PROVIDER_SIGN_IN_OPERATIONS.finishPosted },
    async (request, reply) => {
      requireMediaType(request, [FORM]);
      const { body } = request;
      const result = body instanceof URLSearchParams ? body : new URLSearchParams();
      return send(reply, await providerSignIn.finish(request.params.provider, result, browserOf(request)));
    },
  );

  app.get<OfProvider>(
    '/auth/saml/:provider/metadata',
    { config: PROVIDER_SIGN_IN_OPERATIONS.samlMetadata },
    async (request, reply) => {
      parseQueryParameters(request, []);
      const xml = await providerSignIn.metadata(request.params.provider, browserOf(request).base);
      return reply.type('application/samlmetadata+xml').send(xml);
    },
  );

  const response = { config: PROVIDER_SIGN_IN_OPERATIONS.samlResponse, bodyLimit: MAX_SAML_BYTES };
  app.post<OfProvider>('/auth/saml/:provider/acs', response, async (request, reply) => {
    parseQueryParameters(request, []);
    requireMediaType(request, [FORM]);
    const { body } = request;
    const result = body instanceof URLSearchParams ? body : new URLSearchParams();
    return send(reply, await providerSignIn.finish(request.params.provider, result, browserOf(request), true));
  });

  app.get<OfProvider>(
    '/auth/saml/:provider/slo',
    { config: PROVIDER_SIGN_IN_OPERATIONS.samlLogOut },
    async (request, reply) => {
      const query = queryString(request);
      const { provider } = request.params;
      const location = await providerLogOut.receive(provider, logOutQuery(request), query, browserOf(request));
      return send(reply, { location, cookies: [] });
    },
  );

  app.post<OfProvider>(
    '/auth/saml/:provider/slo',
    { config: PROVIDER_SIGN_IN_OPERATIONS.samlLogOutPosted },
    async (request, reply) => {
      parseQueryParameters(request, []);
      requireMediaType(request, [FORM]);
      const { body } = request;
      const message = body instanceof URLSearchParams ? body : new URLSearchParams();
      const location = await providerLogOut.receive(request.params.provider, message, null, browserOf(request));
      return send(reply, { location, cookies: [] });
    },
  );
}

function logOutQuery(request: FastifyRequest): URLSearchParams {
  return parseQueryParameters(request, [
    'SAMLRequest',
    'SAMLResponse',
    'RelayState',
    'SigAlg',
    'Signature',
    'SAMLEncoding',
  ]);
}

function send(reply: FastifyReply, { location, form, cookies }: BrowserRedirect): FastifyReply {
  if (cookies.length > 0) reply.header('set-cookie', [...cookies]);
  if (form !== undefined) {
    const { html, policy } = autoSubmitPage(location, form);
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(html);
  }
  return reply.code(302).header('location', location).send();
}

const AUTO_SUBMIT_SCRIPT = 'document.forms[0].submit()';

/**
 * A page that posts fields to another server by itself, as the POST binding of SAML requires. Without scripts, the user
 * presses its button.
 */
function autoSubmitPage(address: string, fields: Readonly<Record<string, string>>): HostedPage {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const form = `<form method="post" action="${escapeHtml(address)}">${inputs.join('')}<button>Continue</button></form>`;
  const { html, policy } = renderHostedPage('Continue to sign-in', form, AUTO_SUBMIT_SCRIPT);
  // Browsers apply the same rule to the provider's redirect after the post.
  return { html, policy: policy.replace("form-action 'none'", 'form-action http: https:') };
}

/** For a sign-in that cannot continue and has no known redirect URL. Programs get the problem document instead. */
function errorPage({ message, hint, code }: MillraceError, request: string): HostedPage {
  const advice = hint === undefined ? '' : `<p>${escapeHtml(hint)}.</p>`;
  return renderHostedPage(
    'Sign-in failed',
    `<p>${escapeHtml(message)}.</p>${advice}<p><small>${escapeHtml(code)} · ${escapeHtml(request)}</small></p>`,
  );
}
