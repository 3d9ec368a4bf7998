/** Serves the pages behind links in letters and logs. Not here: their content (link-pages.ts). */
import type { FastifyInstance } from 'fastify';
import { outsideContract } from '../../contract/operation.ts';
import { LINK_PAGES } from './link-pages.ts';

export async function pageRoutes(app: FastifyInstance): Promise<void> {
  for (const [path, { html, policy }] of Object.entries(LINK_PAGES)) {
    app.get(path, { config: outsideContract('A page for a browser') }, async (_request, reply) =>
      reply
        .header('content-security-policy', policy)
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(html),
    );
  }
}
