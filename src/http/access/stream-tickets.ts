/**
 * Tickets of streams: a browser's EventSource cannot send a header, so the parameter `?ticket=` names the principal. A
 * ticket works once, but EventSource reconnects with the same address: after that a cookie, valid for ten minutes,
 * replaces the used ticket. Only routes that stream look at a ticket. Sockets redeem their tickets themselves, because
 * only a close code can report a bad one there.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ClientPrincipal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { queryText } from '../../kernel/request.ts';
import { asksForSocket } from '../protection.ts';
import { enter } from './authentication.ts';
import type { BadCredentials } from './bad-credentials.ts';

const COOKIE = 'millrace-stream';
const MAX_AGE_S = 600;

export interface StreamTicketsOptions {
  readonly authenticator: Pick<Authenticator, 'redeemTicket' | 'issuePass' | 'byPass'>;
  readonly badCredentials: BadCredentials;
}

/** Register it after authentication. */
export const streamTickets = fp<StreamTicketsOptions>(
  async (app, { authenticator, badCredentials }) => {
    app.addHook('onRequest', (request, reply, done) => {
      const ticket = ticketOf(request);
      if (ticket === null) {
        done();
        return;
      }
      badCredentials
        .look(request.ip, () => redeem(ticket, request))
        .then(([principal, pass]) => {
          enter(request, principal);
          if (pass !== null) reply.header('set-cookie', cookie(request, pass));
          done();
        }, done);
    });

    /** The principal of the ticket; with a pass if the ticket was used just now. */
    async function redeem(ticket: string, request: FastifyRequest): Promise<[ClientPrincipal, string | null]> {
      try {
        const principal = await authenticator.redeemTicket(ticket);
        return [principal, principal.kind === 'anonymous' ? null : await authenticator.issuePass(principal, ticket)];
      } catch (error) {
        const pass = passOf(request.headers.cookie);
        if (pass === null || !(error instanceof MillraceError) || error.code !== 'invalid-credential') throw error;
        return [await authenticator.byPass(pass, ticket), null];
      }
    }
  },
  { name: 'stream-tickets', dependencies: ['authentication'] },
);

function ticketOf(request: FastifyRequest): string | null {
  const { headers, method, routeOptions } = request;
  if (routeOptions.config?.streams !== true) return null;
  if (method !== 'GET' || headers.authorization !== undefined || asksForSocket(headers)) return null;
  if (headers.accept?.includes('text/event-stream') !== true) return null;
  return new URLSearchParams(queryText(request)).get('ticket');
}

function passOf(cookies: string | undefined): string | null {
  for (const pair of cookies?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE && value !== undefined) return value;
  }
  return null;
}

/**
 * The cookie for exactly this path. Characters that would end the path, or that no header may hold, are escaped (RFC
 * 6265 4.1.1).
 */
function cookie(request: FastifyRequest, pass: string): string {
  const path = request.url.split('?', 1)[0]?.replace(/[^\w.~!$&'()*+,=:@/%-]/gu, encodeURIComponent) ?? '/';
  const below = request.server.basePath ?? '';
  const secure = request.protocol === 'https' ? '; Secure' : '';
  return `${COOKIE}=${pass}; Path=${below}${path}; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Strict${secure}`;
}
