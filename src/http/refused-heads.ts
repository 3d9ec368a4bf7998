/**
 * Answers what Node's parser refuses before there is a request: what is not HTTP, and heads that are too large or arrive too
 * slowly.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { type ErrorCode, MillraceError } from '../kernel/errors.ts';
import { type AllowsOrigin, preflightHeaders, readableBy } from './cors.ts';
import { PROBLEM_TYPE, toProblem } from './problem.ts';
import { SECURITY_HEADERS } from './protection.ts';

/**
 * Texts of HTTP's status codes. Not by `import`, which reads everything that `node:http` exports: then Node loads what `WebSocket` and
 * `fetch` need, a twentieth of the time that the program takes to load.
 */
const { STATUS_CODES } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

const OVERFLOW = 'HPE_HEADER_OVERFLOW';

const PARSER_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  [OVERFLOW]: ['headers-too-large', 'The request headers are larger than this server accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request headers took too long to arrive'],
};

/** How much of a head that is too large is read to find its origin, in bytes, and for how long, in milliseconds. */
const MAX_READ = 1_048_576;
const READ_MS = 1_000;
/** Characters of a packet that are kept to find an origin that two packets share. */
const OVERLAP = 512;

/** An error of Node's parser; with the packet in which it occurred. */
type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** What the packet in which the parser failed shows of a head, and of a head that is too large what follows, too. */
interface LargeHead {
  isPreflight: boolean;
  origin: string | undefined;
  bytes: number;
  /** Its last characters. */
  end: string;
}

/**
 * Makes the function that answers such requests and closes the connection. A head that is too large is read on to its end, so
 * that the page that sent it may read the answer, and no reset overtakes the answer on its way.
 * @param nextId makes the id of a request
 */
export function refuseConnection(
  nextId: () => string,
  allows: AllowsOrigin,
): (error: ParserError, socket: Socket) => void {
  const heads = new WeakMap<Socket, LargeHead>();

  const answer = (socket: Socket, code: string | undefined, packet = ''): void => {
    if (!socket.writable) return;
    const { origin = originIn(packet), isPreflight: asks = false } = heads.get(socket) ?? {};
    const id = nextId();
    const [error, message] = PARSER_ERRORS[code ?? ''] ?? ['malformed-request', 'The request is not valid HTTP'];
    const problem = toProblem(new MillraceError(error, message), '', id);
    const isRead = origin !== undefined && allows(origin);
    const isPreflight = isRead && asks;
    const body = isPreflight ? '' : JSON.stringify({ ...problem, instance: undefined });
    const status = isPreflight ? 204 : problem.status;
    const headers = {
      ...(isPreflight ? preflightHeaders('*, Authorization') : { 'content-type': PROBLEM_TYPE }),
      ...SECURITY_HEADERS,
      // The origin may have come in a packet before, which the parser does not give out. The body says nothing about this server's
      // data, so pages of every origin may read it then.
      ...(isRead ? readableBy(origin) : origin === undefined ? readableBy('*') : {}),
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
      answer(socket, known === undefined ? code : OVERFLOW, packet);
      return;
    }
    const head = known ?? { isPreflight: false, origin: undefined, bytes: 0, end: '' };
    const text = head.end + packet;
    head.origin ??= originIn(text);
    head.isPreflight ||= /\r\naccess-control-request-method:/i.test(text);
    head.bytes += rawPacket.length;
    head.end = text.slice(-OVERLAP);
    heads.set(socket, head);
    if (text.includes('\r\n\r\n') || head.bytes > MAX_READ) answer(socket, code);
    else if (known === undefined) setTimeout(() => answer(socket, code), READ_MS).unref();
  };
}

function originIn(head: string): string | undefined {
  return /\r\norigin:([^\r\n]*)\r\n/i.exec(head)?.[1]?.trim();
}
