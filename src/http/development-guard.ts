/**
 * Development mode lets everybody do everything, so nobody but this machine may ask: it listens on loopback, and here the
 * pages of other sites are kept out, which a browser on this machine would let in. It sends their writes by itself
 * (cross-site request forgery), and reads for them under any name that leads to loopback (DNS rebinding).
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../kernel/config/config.ts';
import { isLoopback } from '../kernel/config/loopback.ts';
import { isOriginAllowed } from '../kernel/config/origin.ts';
import { MillraceError } from '../kernel/errors.ts';
import { asksForSocket } from './protection.ts';

export interface DevelopmentGuardOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins' | 'publicUrl'>;
}

/** Refuses what asks under another name than this machine's, or for a page of elsewhere, with `forbidden`. */
export const developmentGuard = fp<DevelopmentGuardOptions>(
  async (app, { config }) => {
    if (config.mode !== 'development') return;
    const publicHost = config.publicUrl === undefined ? null : new URL(config.publicUrl).hostname;
    app.addHook('onRequest', (request, _reply, done) => {
      const { host, origin } = request.headers;
      const name = host?.replace(/:\d*$/, '').toLowerCase();
      if (name !== undefined && name !== publicHost && !isLoopback(name)) {
        done(
          refused(`The server is not '${name.slice(0, 80)}'`, 'set MILLRACE_PUBLIC_URL to the name it is reached by'),
        );
      } else if (!asksForSocket(request.headers) && !isOriginAllowed(origin, host, config)) {
        // Sockets are refused with a code of their own (realtime/routes.ts); no page can say that it asks for one.
        done(
          origin === 'null'
            ? refused(
                'Pages with no origin of their own may not ask',
                'this one is a file, or in a sandbox: open it from a server, such as http://localhost:5173',
              )
            : refused(`Pages of ${origin?.slice(0, 80)} may not ask`, 'name their origin in MILLRACE_CORS_ORIGINS'),
        );
      } else done();
    });
  },
  { name: 'own-machine' },
);

function refused(message: string, hint: string): MillraceError {
  return new MillraceError('forbidden', message, { hint: `Development mode answers this machine only; ${hint}` });
}
