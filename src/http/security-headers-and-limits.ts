/**
 * The cheap guards of every request: security headers, and a limit of connections per IP address. They use one frozen
 * object and callback hooks: the usual plugins cost several times as much as the request itself.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { clientNetwork, forwardedAddresses, trustedProxyMatcher } from '../config/addresses.ts';
import type { ServerConfig } from '../config/config.ts';
import { MillraceError } from '../lib/errors.ts';

/** Headers of every response; routes of files and pages replace some of them. */
export const SECURITY_HEADERS = Object.freeze({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
});

/**
 * For responses that pages of other origins may embed: if a browser cannot load an error, it only reports that
 * something was blocked.
 */
const EMBEDDABLE_HEADERS = Object.freeze({ ...SECURITY_HEADERS, 'cross-origin-resource-policy': 'cross-origin' });

export interface ProtectionOptions {
  readonly config: Pick<ServerConfig, 'connectionsPerAddress' | 'trustProxy'>;
}

/** Largest head of a request: its URL, and the names and values of its headers. */
export const MAX_REQUEST_HEAD_BYTES = 16_384;

/** Rejects heads that are too large. Register it after CORS, so that pages can read the reason. */
export const requestHeadLimit = fp(
  async (app) => {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      const { url = '', rawHeaders } = raw;
      let size = url.length;
      for (const text of rawHeaders) size += text.length;
      if (size <= MAX_REQUEST_HEAD_BYTES) done();
      else if (url.length > MAX_REQUEST_HEAD_BYTES)
        done(new MillraceError('uri-too-long', 'The URL of the request is too long'));
      else done(new MillraceError('headers-too-large', 'The request headers are larger than this server accepts'));
    });
  },
  { name: 'bounded-head', dependencies: ['cors'] },
);

/** Guards every context; register it first. */
export const requestProtection = fp<ProtectionOptions>(
  async (app, { config }) => {
    const isProxy = trustedProxyMatcher(config.trustProxy);
    app.addHook('onRequest', (request, reply, done) => {
      if (request.headers['x-forwarded-for'] !== undefined) cleanForwarded(request.raw, isProxy);
      const embeddable = request.routeOptions.config?.embeddable === true;
      reply.headers(embeddable ? EMBEDDABLE_HEADERS : SECURITY_HEADERS).header('x-request-id', request.id);
      done(
        lacksHost(request.raw) ? new MillraceError('malformed-request', 'The request has no Host header') : undefined,
      );
    });
    // An unknown `Expect` may be ignored (RFC 9110 section 10.1.1); Node would reject it in another format.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
    // If a client requested a socket and got a response instead, nothing reads from that connection any more.
    app.addHook('onResponse', (request, _reply, done) => {
      if (isWebSocketUpgrade(request.headers)) request.raw.socket.destroySoon();
      done();
    });
    boundConnections(app.server, config.connectionsPerAddress, isProxy);
  },
  { name: 'protection' },
);

/** Writes what a trusted proxy forwarded in its plain form, before anything reads the IP address of the client. */
function cleanForwarded({ headers, socket }: IncomingMessage, isProxy: (address: string) => boolean): void {
  if (!isProxy(socket.remoteAddress ?? '')) return;
  const addresses = forwardedAddresses(String(headers['x-forwarded-for']));
  if (addresses === undefined) delete headers['x-forwarded-for'];
  else headers['x-forwarded-for'] = addresses;
}

/**
 * True if a request is a WebSocket upgrade. Any other upgrade is an offer that a server may ignore (RFC 9110 section
 * 7.8), and some clients send one with every request: Java's with `h2c`.
 */
export function isWebSocketUpgrade({ upgrade }: IncomingHttpHeaders): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}

/**
 * RFC 9112 section 3.2; HTTP/1.0 has no such header. Node's own check is disabled, because its error has another
 * format.
 */
function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion !== '1.0';
}

/**
 * Closes a connection at once if its IP address, or its IPv6 network, has too many open ones. Connections of a proxy
 * belong to many clients: the proxy itself must limit each of them.
 */
function boundConnections(server: NodeJS.EventEmitter, limit: number, isProxy: (address: string) => boolean): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (isProxy(socket.remoteAddress ?? '')) return;
    const address = clientNetwork(socket.remoteAddress ?? '');
    const count = (open.get(address) ?? 0) + 1;
    if (count > limit) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

/** Fastify accepts IP addresses, or a function of the IP address and its distance in hops. */
export function trustedProxies(
  trusted: ServerConfig['trustProxy'],
): false | string[] | ((address: string, hop: number) => boolean) {
  if (trusted === false) return false;
  return typeof trusted === 'number' ? (_address, hop) => hop < trusted : [...trusted];
}
