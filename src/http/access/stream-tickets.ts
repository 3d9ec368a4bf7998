/**
 * Tickets of streams: a browser's EventSource cannot send a header, so the parameter `?ticket=` identifies the
 * principal. A ticket works once, but EventSource reconnects with the same URL: a pass then replaces the used ticket. A
 * page of this server sends it as a cookie. A page of another origin sends no cookies, but the last event id, which
 * contains the pass, too. Only streaming routes accept a ticket. Sockets redeem their tickets themselves, because only
 * a close code can report an invalid one there.
 */

import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { RequestPrincipal } from '../../auth/identity/principal.ts';
import { type ReconnectTokenBinding, STREAM_LIFETIME_MS } from '../../auth/tokens/stream-reconnect-tokens.ts';
import { queryString } from '../../lib/request.ts';
import { parseLastEventId } from '../../lib/streaming/stream-ids.ts';
import { isWebSocketUpgrade } from '../security-headers-and-limits.ts';
import { setPrincipal } from './authentication.ts';
import type { BadCredentialThrottle } from './rate-limit.ts';

const COOKIE = 'millrace-stream';
const MAX_AGE_S = STREAM_LIFETIME_MS / 1_000;

export interface StreamTicketsOptions {
  readonly authenticator: Pick<Authenticator, 'openStream' | 'resumeStream'>;
  readonly badCredentials: BadCredentialThrottle;
}

/** Register it after authentication. */
export const streamTickets = fp<StreamTicketsOptions>(
  async (app, { authenticator, badCredentials }) => {
    app.decorateRequest('streamPass', null);
    app.addHook('onRequest', (request, reply, done) => {
      const ticket = ticketOf(request);
      if (ticket === null) {
        done();
        return;
      }
      badCredentials
        .verifyThrottled(request.ip, () => open(ticket, request))
        .then(({ principal, pass }) => {
          setPrincipal(request, principal);
          if (pass !== null && request.headers.origin !== undefined) request.streamPass = pass;
          else if (pass !== null) reply.header('set-cookie', cookie(request, pass));
          done();
        }, done);
    });

    async function open(
      ticket: string,
      request: FastifyRequest,
    ): Promise<{ principal: RequestPrincipal; pass: string | null }> {
      const { origin, cookie: cookies } = request.headers;
      const use: ReconnectTokenBinding = { ticket, origin, path: pathOf(request) };
      const pass = parseLastEventId(request.headers['last-event-id']).pass ?? passOf(cookies);
      const principal = pass === null ? null : await authenticator.resumeStream(pass, use);
      return principal === null ? authenticator.openStream(use) : { principal, pass };
    }
  },
  { name: 'stream-tickets', dependencies: ['authentication'] },
);

function ticketOf(request: FastifyRequest): string | null {
  const { headers, method, routeOptions } = request;
  if (routeOptions.config?.streams !== true) return null;
  if (method !== 'GET' || headers.authorization !== undefined || isWebSocketUpgrade(headers)) return null;
  if (headers.accept?.includes('text/event-stream') !== true) return null;
  return new URLSearchParams(queryString(request)).get('ticket');
}

function passOf(cookies: string | undefined): string | null {
  for (const pair of cookies?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE && value !== undefined) return value;
  }
  return null;
}

/**
 * The cookie for exactly this path. Characters that would end the path, or that a header cannot contain, are escaped
 * (RFC 6265 4.1.1).
 */
function cookie(request: FastifyRequest, pass: string): string {
  const path = pathOf(request).replace(/[^\w.~!$&'()*+,=:@/%-]/gu, encodeURIComponent);
  const below = request.server.basePath ?? '';
  const secure = request.protocol === 'https' ? '; Secure' : '';
  return `${COOKIE}=${pass}; Path=${below}${path}; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Strict${secure}`;
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '/';
}
