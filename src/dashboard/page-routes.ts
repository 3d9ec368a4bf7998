/**
 * `/dashboard` and everything below it: one page, which shows what its address names, and its scripts and styles.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../lib/errors.ts';
import { excludeFromOpenApi } from '../openapi/operation.ts';
import { BuiltPage, readBuiltAsset } from './built-pages.ts';

const PAGE = excludeFromOpenApi('A page for people');

/** A script loads it again: browsers do not follow `http-equiv="refresh"` where the address has a fragment, as setup links have. */
function beingBuilt(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Millrace</title>
<p>The dashboard is being built. This page reloads automatically.</p>
<script nonce="${nonce}">setTimeout(() => location.reload(), 2000)</script>
`;
}

/** Scripts of this server only; styles too, and those that carry the nonce. Files are shown from memory (`blob:`). */
function policyOf(nonce: string, scripts = "'self'"): string {
  return [
    "default-src 'none'",
    `script-src ${scripts}`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export async function dashboardRoutes(app: FastifyInstance): Promise<void> {
  const built = new BuiltPage(app.basePath ?? '');

  app.get<{ Params: { name: string } }>('/dashboard/assets/:name', { config: PAGE }, async (request, reply) => {
    const asset = await readBuiltAsset(request.params.name, String(request.headers['accept-encoding']));
    if (asset === null) throw new MillraceError('route-not-found', 'The dashboard has no such file. Reload the page');
    if (asset.encoding !== null) reply.header('content-encoding', asset.encoding);
    return reply
      .header('vary', 'Accept-Encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type(asset.type)
      .send(asset.bytes);
  });

  for (const url of ['/dashboard', '/dashboard/*']) {
    app.get(url, { config: PAGE }, async (_request, reply) => {
      const nonce = randomBytes(16).toString('base64');
      const html = await built.html(nonce);
      return reply
        .code(html === null ? 503 : 200)
        .header('content-security-policy', policyOf(nonce, html === null ? `'nonce-${nonce}'` : undefined))
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(html ?? beingBuilt(nonce));
    });
  }
}
