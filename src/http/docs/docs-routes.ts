/**
 * The API reference for people, at `/docs`. The page is the same for every reader and contains no data of the server:
 * it fetches `/openapi.json` with the rights of its reader.
 */
import type { FastifyInstance } from 'fastify';
import { excludeFromOpenApi } from '../../openapi/operation.ts';
import { apiReferenceScript, apiReferenceVersion } from './api-reference-script.ts';
import { DOCS_PAGE_FILES, renderDocsPage } from './docs-page.ts';

const PAGE = excludeFromOpenApi('A page for people');

/** Scripts and requests only from this server. The reference creates its styles in the page. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function docsRoutes(app: FastifyInstance): Promise<void> {
  const reference = `/docs/reference-${await apiReferenceVersion()}.js`;
  const page = renderDocsPage(reference);

  app.get('/docs', { config: PAGE }, async (_request, reply) =>
    reply
      .header('content-security-policy', PAGE_POLICY)
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(page),
  );

  for (const [path, { type, text }] of Object.entries(DOCS_PAGE_FILES)) {
    app.get(path, { config: PAGE }, async (_request, reply) =>
      reply.header('cache-control', 'no-cache').type(type).send(text),
    );
  }

  app.get(reference, { config: PAGE }, async (request, reply) => {
    const gzipped = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (gzipped) reply.header('content-encoding', 'gzip');
    return reply
      .header('vary', 'Accept-Encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/javascript; charset=utf-8')
      .send(await apiReferenceScript(gzipped));
  });
}
