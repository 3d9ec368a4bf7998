/**
 * `/dashboard` and everything below it: one page, which shows what its address names, and its scripts and styles. Not here:
 * the session of the person at it (session-routes.ts), the page itself (the folder `dashboard`).
 */
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { outsideContract } from '../contract/operation.ts';
import { MillraceError } from '../kernel/errors.ts';
import { BUILT, BuiltPage } from './built-pages.ts';

const PAGE = outsideContract('A page for people');

/** Built again with another name when its content changes. */
const ASSET = /^[\w.-]+$/;

/** A script loads it again: browsers do not follow `http-equiv="refresh"` where the address has a fragment, as set-up links have. */
function beingBuilt(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Millrace</title>
<p>The dashboard is being built. This page loads again by itself.</p>
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
  const built = new BuiltPage();
  await app.register(fastifyStatic, { root: BUILT, serve: false, preCompressed: true });

  app.get<{ Params: { name: string } }>('/dashboard/assets/:name', { config: PAGE }, async (request, reply) => {
    const { name } = request.params;
    const isThere = ASSET.test(name) && (await stat(`${BUILT}assets/${name}`).catch(() => null)) !== null;
    if (!isThere) throw new MillraceError('route-not-found', 'The dashboard has no such file. Load its page again');
    return reply.sendFile(name, `${BUILT}assets`, { maxAge: 31_536_000_000, immutable: true });
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
