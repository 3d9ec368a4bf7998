/** A server that receives deliveries, records them, and responds as a test specifies. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Test } from 'tap';

export interface Received {
  /** `webhook-id`, or what the test uses as the id. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time of arrival, by the monotonic clock. */
  readonly at: number;
}

/** Responds to a request: a status, or any use of the response object; nothing lets the request hang. */
export type ApiResponse = (received: Received, response: ServerResponse) => number | undefined;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** In the order of their arrival. */
  readonly received: Received[];
  response: ApiResponse;
}

/** The ids of received deliveries. */
export type IdOf = (received: Omit<Received, 'id'>) => string;

const webhookId: IdOf = ({ headers }) => headers['webhook-id'] ?? '';

/** Starts a receiver at this machine, which responds with 204 until that is changed. It ends with the test. */
export async function startReceiver(t: Pick<Test, 'teardown'>, idOf: IdOf = webhookId): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    void take(request).then((got) => {
      const one = { ...got, id: idOf(got) };
      receiver.received.push(one);
      const status = receiver.response(one, response);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port');
  const { port } = address;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/hook`, port, received: [], response: () => 204 };
  return receiver;
}

async function take(request: IncomingMessage): Promise<Omit<Received, 'id'>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  return { headers, body: Buffer.concat(parts).toString(), at: performance.now() };
}
