/**
 * In production the server responds only under the host of `MILLRACE_PUBLIC_URL`. Otherwise a page whose host name was
 * pointed to this server (DNS rebinding) would have the same origin, and a browser inside a private network would let
 * it read everything. Names of this machine and health routes are exempt.
 */
import fp from 'fastify-plugin';
import { parseHostHeader } from '../config/addresses.ts';
import type { ServerConfig } from '../config/config.ts';
import { isLoopback } from '../config/loopback.ts';
import { MillraceError } from '../lib/errors.ts';

export interface HostValidationOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'publicUrl'>;
}

/** Rejects requests for another host with `misdirected-request`; without a public URL all requests pass. */
export const hostValidation = fp<HostValidationOptions>(
  async (app, { config }) => {
    if (config.mode !== 'production' || config.publicUrl === undefined) return;
    const { host: spelled } = new URL(config.publicUrl);
    const own = parseHostHeader(spelled);
    app.addHook('onRequest', (request, _reply, done) => {
      // Behind a trusted proxy this is X-Forwarded-Host, if the proxy sends it.
      const { host } = request;
      if (host === spelled || request.routeOptions.config?.anyHost === true) {
        done();
        return;
      }
      const name = parseHostHeader(host);
      done(name !== null && (name === own || isLoopback(name)) ? undefined : misdirected(host));
    });
  },
  { name: 'public-host' },
);

function misdirected(host: string): MillraceError {
  return new MillraceError(
    'misdirected-request',
    `The server does not accept requests for the host '${host.slice(0, 80)}'`,
    {
      hint:
        'Use the URL of MILLRACE_PUBLIC_URL; a proxy must forward Host, or send X-Forwarded-Host ' +
        'and be listed in MILLRACE_TRUST_PROXY',
    },
  );
}
