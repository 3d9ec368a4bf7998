/**
 * In production the server answers under the host of `MILLRACE_PUBLIC_URL` alone: a page whose own name was pointed to this
 * server (DNS rebinding) would be of one origin with it, and a browser inside a private network would let it read
 * everything. Names of this machine and routes of health pass. Not here: development mode (development-guard.ts).
 */
import fp from 'fastify-plugin';
import { hostName } from '../kernel/config/addresses.ts';
import type { ServerConfig } from '../kernel/config/config.ts';
import { isLoopback } from '../kernel/config/loopback.ts';
import { MillraceError } from '../kernel/errors.ts';

export interface PublicHostOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'publicUrl'>;
}

/** Refuses requests for another host with `misdirected-request`; passes all where no public URL is set. */
export const publicHost = fp<PublicHostOptions>(
  async (app, { config }) => {
    if (config.mode !== 'production' || config.publicUrl === undefined) return;
    const { host: spelled } = new URL(config.publicUrl);
    const own = hostName(spelled);
    app.addHook('onRequest', (request, _reply, done) => {
      // Of a trusted proxy it is X-Forwarded-Host, where it sends one.
      const { host } = request;
      if (host === spelled || request.routeOptions.config?.anyHost === true) {
        done();
        return;
      }
      const name = hostName(host);
      done(name !== null && (name === own || isLoopback(name)) ? undefined : misdirected(host));
    });
  },
  { name: 'public-host' },
);

function misdirected(host: string): MillraceError {
  return new MillraceError('misdirected-request', `The server does not answer as '${host.slice(0, 80)}'`, {
    hint:
      'Ask under the address that MILLRACE_PUBLIC_URL names; a proxy has to pass Host on, or to send X-Forwarded-Host ' +
      'and be named in MILLRACE_TRUST_PROXY',
  });
}
