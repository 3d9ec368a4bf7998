/** A server that receives deliveries, remembers them, and answers as a test wants. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Test } from 'tap';

export interface Received {
  /** `webhook-id`, or what the test takes for the id. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** When it had arrived, by the monotonic clock. */
  readonly at: number;
}

/** Answers a request: a status, or whatever it does with the response; nothing lets the request hang. */
export type Answer = (received: Received, response: ServerResponse) => number | undefined;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** In the order of their arrival. */
  readonly received: Received[];
  answer: Answer;
}

/** The id of what has arrived. */
export type IdOf = (received: Omit<Received, 'id'>) => string;

const webhookId: IdOf = ({ headers }) => headers['webhook-id'] ?? '';

/** Starts a receiver at this machine, which answers 204 until it is told otherwise. It ends with the test. */
export async function startReceiver(t: Pick<Test, 'teardown'>, idOf: IdOf = webhookId): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    void take(request).then((got) => {
      const one = { ...got, id: idOf(got) };
      receiver.received.push(one);
      const status = receiver.answer(one, response);
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
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/hook`, port, received: [], answer: () => 204 };
  return receiver;
}

async function take(request: IncomingMessage): Promise<Omit<Received, 'id'>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  return { headers, body: Buffer.concat(parts).toString(), at: performance.now() };
}
