/** Serves the pages behind links in e-mails, and the sign-in page. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { isCustomSchemeUrl } from '../../config/redirect-url-check.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { excludeFromOpenApi } from '../../openapi/operation.ts';
import { redirectNotAllowed } from '../oauth/provider-errors.ts';
import { SIGN_IN_PAGE_PATH } from '../oauth/provider-sign-in.ts';
import type { RedirectAllowlist } from '../providers/redirect-allowlist.ts';
import type { HostedPage } from './page-template.ts';
import { SIGN_IN_PAGE } from './sign-in-page.ts';
import { EMAIL_LINK_PAGES, OPEN_APP_PATH, openAppPage } from './verify-and-reset-pages.ts';

export interface HostedPageRoutesOptions {
  readonly redirects: Pick<RedirectAllowlist, 'allows'>;
}

export async function hostedPageRoutes(app: FastifyInstance, { redirects }: HostedPageRoutesOptions): Promise<void> {
  const config = excludeFromOpenApi('A page for a browser');
  // The address that setup links had before. Browsers keep what stands after `#`, where the secret is.
  app.get('/setup', { config }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').redirect('/dashboard/setup', 302),
  );
  for (const [path, page] of Object.entries({ ...EMAIL_LINK_PAGES, [SIGN_IN_PAGE_PATH]: SIGN_IN_PAGE })) {
    app.get(path, { config }, async (_request, reply) => send(reply, page));
  }
  app.get(OPEN_APP_PATH, { config }, async (request, reply) => {
    const url = parseQueryParameters(request, ['to']).get('to') ?? '';
    if (!isCustomSchemeUrl(url) || !redirects.allows(url)) throw redirectNotAllowed();
    return send(reply, openAppPage(url));
  });
}

function send(reply: FastifyReply, { html, policy }: HostedPage): FastifyReply {
  return reply
    .header('content-security-policy', policy)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(html);
}
