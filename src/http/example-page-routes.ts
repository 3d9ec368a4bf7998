/**
 * The examples, and the client that they use, for a browser. Only in development mode: they are for learning, not part
 * of a product.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../lib/errors.ts';
import { excludeFromOpenApi } from '../openapi/operation.ts';
import { readBrowserFile } from './browser-modules.ts';

/** A page may load files from its own server only, and connect only to it. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGES = excludeFromOpenApi('Pages for a browser');

/** Redirects for URLs without a page of their own. */
const LEADS: Readonly<Record<string, string>> = {
  '/': '/docs',
  '/examples': '/examples/board/',
  '/examples/': '/examples/board/',
};

export async function exampleRoutes(app: FastifyInstance): Promise<void> {
  for (const [url, to] of Object.entries(LEADS)) {
    app.get(url, { config: PAGES }, (_request, reply) => reply.redirect(to, 302));
  }

  app.get<{ Params: { example: string } }>('/examples/:example', { config: PAGES }, (request, reply) =>
    reply.redirect(`/examples/${encodeURIComponent(request.params.example)}/`, 308),
  );

  for (const route of ['/examples/*', '/client/*']) {
    app.get(route, { config: PAGES }, async (request, reply) => {
      const path = request.url.slice(1).split('?', 1)[0] ?? '';
      const file = await readBrowserFile(path.endsWith('/') ? `${path}index.html` : path);
      if (file === null) throw new MillraceError('route-not-found', `There is no '/${path.slice(0, 200)}'`);
      return reply
        .type(file.type)
        .header('content-security-policy', PAGE_POLICY)
        .header('cache-control', 'no-cache')
        .send(file.text);
    });
  }
}
