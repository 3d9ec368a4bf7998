/** Serves the pages behind links in e-mails, and the sign-in page. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { opensApp } from '../../config/redirects.ts';
import { parameters } from '../../lib/request.ts';
import { outsideOpenApi } from '../../openapi/operation.ts';
import { redirectNotAllowed } from '../oauth/provider-errors.ts';
import { SIGN_IN_PATH } from '../oauth/provider-sign-in.ts';
import type { Redirects } from '../providers/redirect-allowlist.ts';
import type { SmallPage } from './page-template.ts';
import { SIGN_IN_PAGE } from './sign-in-page.ts';
import { LINK_PAGES, OPEN_APP_PATH, openAppPage } from './verify-and-reset-pages.ts';

export interface PageRoutesOptions {
  readonly redirects: Pick<Redirects, 'allows'>;
}

export async function pageRoutes(app: FastifyInstance, { redirects }: PageRoutesOptions): Promise<void> {
  const config = outsideOpenApi('A page for a browser');
  // The address that setup links had before. Browsers keep what stands after `#`, where the secret is.
  app.get('/setup', { config }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').redirect('/dashboard/setup', 302),
  );
  for (const [path, page] of Object.entries({ ...LINK_PAGES, [SIGN_IN_PATH]: SIGN_IN_PAGE })) {
    app.get(path, { config }, async (_request, reply) => send(reply, page));
  }
  app.get(OPEN_APP_PATH, { config }, async (request, reply) => {
    const url = parameters(request, ['to']).get('to') ?? '';
    if (!opensApp(url) || !redirects.allows(url)) throw redirectNotAllowed();
    return send(reply, openAppPage(url));
  });
}

function send(reply: FastifyReply, { html, policy }: SmallPage): FastifyReply {
  return reply
    .header('content-security-policy', policy)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(html);
}
