/**
 * The end of connections when the server closes: at once where nothing is under way, else behind the last byte of the answer.
 * Node takes an answer for given as soon as it was handed over, and cut what slow readers had not taken yet; and a connection
 * whose answer came later it kept for as long as its client did. Sockets of live data say goodbye themselves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fp from 'fastify-plugin';

/** Register it before anything listens. */
export const draining = fp(
  async (app) => {
    /** How many answers each connection owes. */
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
      for (const [socket, answers] of owed) if (answers === 0) socket.destroy();
    };
  },
  { name: 'draining' },
);
