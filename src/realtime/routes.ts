/** The route for WebSockets: it checks origin, subprotocol and limits, and authenticates by header or ticket. */
import websocket from '@fastify/websocket';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { ServerConfig } from '../config/config.ts';
import { isOriginAllowed } from '../config/origin-check.ts';
import { MillraceError } from '../lib/errors.ts';
import { queryString } from '../lib/request.ts';
import { excludeFromOpenApi } from '../openapi/operation.ts';
import { CONNECTION_OVERHEAD_BYTES } from './client/realtime-client.ts';
import { SocketClient } from './client/socket-client.ts';
import type { Realtime } from './realtime.ts';
import { CLOSE_CODES, SUBPROTOCOL } from './wire/protocol.ts';
import { SendQueue } from './wire/send-queue.ts';

/**
 * Above the limit of a frame, so that our own check rejects a frame that is too big, with a close code that says so.
 */
const MAX_PAYLOAD = 4 * 65_536;

/** OpenAPI cannot describe a WebSocket. */
const NOT_HTTP = excludeFromOpenApi('docs/protocol.md describes the messages of the WebSocket');

export interface RealtimeRoutesOptions {
  readonly realtime: Realtime;
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins' | 'publicUrl'>;
}

export async function realtimeRoutes(app: FastifyInstance, { realtime, config }: RealtimeRoutesOptions): Promise<void> {
  await app.register(websocket, {
    options: {
      maxPayload: MAX_PAYLOAD,
      perMessageDeflate: false,
      clientTracking: false,
      // Accept an unknown subprotocol so that we can close with a close code; if we rejected the handshake, browsers
      // would not see the reason.
      handleProtocols: (offered: Set<string>) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
    },
    errorHandler: (_error: Error, socket: WebSocket) => socket.terminate(),
    preClose: (done: () => void) => {
      realtime.closeAllClients();
      done();
    },
  });

  app.route({ method: 'GET', url: '/realtime', config: NOT_HTTP, handler: refuseOthers, wsHandler: open });

  function open(socket: WebSocket, request: FastifyRequest): void {
    const refusal = refusalOf(request, socket);
    if (refusal !== null) {
      socket.close(...refusal);
      return;
    }
    const { deps } = realtime;
    const line = request.raw.socket;
    const account = realtime.accountOf(request.ip);
    if (!account.hasRoom(CONNECTION_OVERHEAD_BYTES)) {
      socket.close(CLOSE_CODES.overloaded, 'Clients use too much memory');
      return;
    }
    const connection = new SocketClient(deps, new SendQueue(line, deps.flushScheduler, account), socket);
    const leave = realtime.take(connection);
    line.setTimeout(connection.idleTimeoutMs, () => connection.handleStall());
    socket.on('message', (message, isBinary) => connection.handleMessage(toBuffer(message), isBinary));
    socket.on('ping', () => connection.handleControlFrame());
    socket.on('pong', () => connection.handleControlFrame());
    socket.on('close', leave);
    const credential = request.headers.authorization ?? null;
    const ticket = ticketOf(request);
    if (credential !== null) connection.welcome(request.principal, credential);
    else if (ticket !== null) connection.redeemTicket(ticket);
  }

  function refusalOf(request: FastifyRequest, socket: WebSocket): [code: number, reason: string] | null {
    const { origin, host } = request.headers;
    if (!isOriginAllowed(origin, host, config)) return [CLOSE_CODES.origin, 'The origin is not allowed'];
    const offered = request.headers['sec-websocket-protocol'];
    if (offered !== undefined && socket.protocol !== SUBPROTOCOL)
      return [CLOSE_CODES.unknownVersion, `Use ${SUBPROTOCOL}`];
    if (!realtime.hasRoom)
      return realtime.closing ? [CLOSE_CODES.restarting, 'Restarting'] : [CLOSE_CODES.overloaded, 'Overloaded'];
    return null;
  }
}

/** The response to a request without an upgrade: it had none, or a proxy has removed the headers. */
async function refuseOthers(): Promise<never> {
  throw new MillraceError('upgrade-required', 'This endpoint only accepts WebSocket connections', {
    hint: 'If the client did open a WebSocket, a proxy in between must forward the headers Upgrade and Connection',
    headers: { upgrade: 'websocket', connection: 'upgrade' },
  });
}

function ticketOf(request: FastifyRequest): string | null {
  return new URLSearchParams(queryString(request)).get('ticket');
}

function toBuffer(message: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Buffer.isBuffer(message)) return message;
  return Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message);
}
