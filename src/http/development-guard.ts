/**
 * In development mode every request may do everything, so only this machine may send one. The server listens on
 * loopback; this guard rejects pages of other sites, which a browser on this machine would let through. Such a page can
 * send writes (cross-site request forgery), and can read under any name that resolves to loopback (DNS rebinding).
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../config/config.ts';
import { isLoopback } from '../config/loopback.ts';
import { isOriginAllowed } from '../config/origin-check.ts';
import { MillraceError } from '../lib/errors.ts';
import { isWebSocketUpgrade } from './security-headers-and-limits.ts';

/**
 * Routes to which providers let the browser post the end of a sign-in, or of a session, from their own pages. Some of
 * those hide their origin (`Referrer-Policy: no-referrer`). A cookie of the flow, or a signature, protects these
 * routes.
 */
const POSTED_FROM_PROVIDERS: ReadonlySet<string | undefined> = new Set([
  '/auth/providers/:provider/callback',
  '/auth/saml/:provider/acs',
  '/auth/saml/:provider/slo',
]);

export interface DevelopmentGuardOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins' | 'publicUrl'>;
}

/**
 * Rejects, with `forbidden`, requests under another host name than this machine's and requests from pages of other
 * sites.
 */
export const developmentGuard = fp<DevelopmentGuardOptions>(
  async (app, { config }) => {
    if (config.mode !== 'development') return;
    const publicHost = config.publicUrl === undefined ? null : new URL(config.publicUrl).hostname;
    app.addHook('onRequest', (request, _reply, done) => {
      const { host, origin } = request.headers;
      const name = host?.replace(/:\d*$/, '').toLowerCase();
      if (name !== undefined && name !== publicHost && !isLoopback(name)) {
        done(
          refused(`The server is not '${name.slice(0, 80)}'`, 'set MILLRACE_PUBLIC_URL to the URL that clients use'),
        );
      } else if (POSTED_FROM_PROVIDERS.has(request.routeOptions.url)) done();
      else if (!isWebSocketUpgrade(request.headers) && !isOriginAllowed(origin, host, config)) {
        // Sockets are rejected with their own close code (realtime/routes.ts); a page cannot fake an upgrade request.
        done(
          origin === 'null'
            ? refused(
                'Pages without an origin must not send requests',
                'this page is a file, or in a sandbox: serve it from a server, such as http://localhost:5173',
              )
            : refused(
                `Pages of ${origin?.slice(0, 80)} are not allowed to send requests`,
                'list their origin in MILLRACE_CORS_ORIGINS',
              ),
        );
      } else done();
    });
  },
  { name: 'own-machine' },
);

function refused(message: string, hint: string): MillraceError {
  return new MillraceError('forbidden', message, {
    hint: `Development mode accepts requests from this machine only; ${hint}`,
  });
}
