/**
 * Closes connections when the server stops: at once if no response is pending, otherwise after the last byte of the
 * response. Node's `server.close()` treats a response as finished once it is buffered, and would cut off slow readers.
 * It would also keep a connection whose response came later for as long as the client did.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

/** Register it before anything listens. */
export const drainConnections = fp(
  async (app) => {
    /** Number of pending responses of each connection. */
    const owed = new Map<Socket, number>();
    let closing = false;

    const count = (socket: Socket, change: 1 | -1): void => {
      const before = owed.get(socket);
      if (before === undefined) return;
      owed.set(socket, before + change);
      if (closing && before + change === 0) socket.destroySoon();
    };
    app.server.on('connection', (socket: Socket) => {
      owed.set(socket, 0);
      socket.once('close', () => owed.delete(socket));
    });
    app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      count(socket, 1);
      response.once('close', () => count(socket, -1));
    });
    app.server.on('upgrade', ({ socket }: IncomingMessage) => owed.delete(socket));
    // Both Fastify and Node call it when they close.
    app.server.closeIdleConnections = () => {
      closing = true;
      for (const [socket, responses] of owed) if (responses === 0) socket.destroy();
    };
  },
  { name: 'draining' },
);
