/** Serves the pages behind links in letters, and the one to sign in at. Not here: their content (…-page.ts). */
import type { FastifyInstance } from 'fastify';
import { outsideContract } from '../../contract/operation.ts';
import { SIGN_IN_PATH } from '../flows/provider-sign-in.ts';
import { LINK_PAGES } from './link-pages.ts';
import { SIGN_IN_PAGE } from './sign-in-page.ts';

export async function pageRoutes(app: FastifyInstance): Promise<void> {
  // The address that set-up links had before. Browsers keep what stands after `#`, where the secret is.
  app.get('/setup', { config: outsideContract('A page for a browser') }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').redirect('/dashboard/setup', 302),
  );
  for (const [path, { html, policy }] of Object.entries({ ...LINK_PAGES, [SIGN_IN_PATH]: SIGN_IN_PAGE })) {
    app.get(path, { config: outsideContract('A page for a browser') }, async (_request, reply) =>
      reply
        .header('content-security-policy', policy)
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(html),
    );
  }
}
