/**
 * Responds to what Node's parser rejects before there is a request: input that is not HTTP, and heads that are too
 * large or arrive too slowly.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { type ErrorCode, MillraceError } from '../lib/errors.ts';
import { corsResponseHeaders, type OriginMatcher, preflightHeaders } from './cors.ts';
import { PROBLEM_CONTENT_TYPE, toProblemDocument } from './problem.ts';
import { SECURITY_HEADERS } from './security-headers-and-limits.ts';

/**
 * Texts of HTTP's status codes. Not by `import`, which reads everything that `node:http` exports: then Node loads what
 * `WebSocket` and `fetch` need, a twentieth of the program's load time.
 */
const { STATUS_CODES } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

const OVERFLOW = 'HPE_HEADER_OVERFLOW';

const PARSER_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  [OVERFLOW]: ['headers-too-large', 'The request headers are larger than this server accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request headers took too long to arrive'],
};

/** How much of an oversized head is read to find its origin, in bytes, and for how long, in milliseconds. */
const MAX_READ = 1_048_576;
const READ_MS = 1_000;
/** Characters of a packet that are kept to find an origin split over two packets. */
const OVERLAP = 512;

/** An error of Node's parser; with the packet in which it occurred. */
type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** The part of a head in the packet in which the parser failed, and of an oversized head what follows, too. */
interface LargeHead {
  isPreflight: boolean;
  origin: string | undefined;
  bytes: number;
  /** Its last characters. */
  end: string;
}

/**
 * Creates the function that responds to such requests and closes the connection. An oversized head is read to its end,
 * so that the page that sent it can read the response, and no reset overtakes the response on its way.
 * @param nextId generates the id of a request
 */
export function createClientErrorHandler(
  nextId: () => string,
  allows: OriginMatcher,
): (error: ParserError, socket: Socket) => void {
  const heads = new WeakMap<Socket, LargeHead>();

  const response = (socket: Socket, code: string | undefined, packet = ''): void => {
    if (!socket.writable) return;
    const { origin = originIn(packet), isPreflight: requests = false } = heads.get(socket) ?? {};
    const id = nextId();
    const [error, message] = PARSER_ERRORS[code ?? ''] ?? ['malformed-request', 'The request is not valid HTTP'];
    const problem = toProblemDocument(new MillraceError(error, message), '', id);
    const isRead = origin !== undefined && allows(origin);
    const isPreflight = isRead && requests;
    const body = isPreflight ? '' : JSON.stringify({ ...problem, instance: undefined });
    const status = isPreflight ? 204 : problem.status;
    const headers = {
      ...(isPreflight ? preflightHeaders('*, Authorization') : { 'content-type': PROBLEM_CONTENT_TYPE }),
      ...SECURITY_HEADERS,
      // The origin may have come in an earlier packet, which the parser does not expose. The body contains nothing
      // about this server's data, so pages of every origin may read it then.
      ...(isRead ? corsResponseHeaders(origin) : origin === undefined ? corsResponseHeaders('*') : {}),
      'x-request-id': id,
      ...(isPreflight ? {} : { 'content-length': Buffer.byteLength(body) }),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };

  return ({ code, rawPacket }, socket) => {
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const known = heads.get(socket);
    const packet = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '';
    if (code !== OVERFLOW || !Buffer.isBuffer(rawPacket)) {
      response(socket, known === undefined ? code : OVERFLOW, packet);
      return;
    }
    const head = known ?? { isPreflight: false, origin: undefined, bytes: 0, end: '' };
    const text = head.end + packet;
    head.origin ??= originIn(text);
    head.isPreflight ||= /\r\naccess-control-request-method:/i.test(text);
    head.bytes += rawPacket.length;
    head.end = text.slice(-OVERLAP);
    heads.set(socket, head);
    if (text.includes('\r\n\r\n') || head.bytes > MAX_READ) response(socket, code);
    else if (known === undefined) setTimeout(() => response(socket, code), READ_MS).unref();
  };
}

function originIn(head: string): string | undefined {
  return /\r\norigin:([^\r\n]*)\r\n/i.exec(head)?.[1]?.trim();
}
