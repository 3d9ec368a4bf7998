/** A small local HTTP server that receives deliveries during development. */
import { createServer, type IncomingMessage, type Server } from 'node:http';

export interface ReceivedWebhook {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WebhookReceiver {
  /** Where it listens, with a trailing slash. */
  readonly url: string;
  /** Stops it, with all connections. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
/** More than four times the largest body of a delivery. */
const MAX_BODY_BYTES = 1_048_576;

/**
 * @param port 0 chooses a free one
 * @throws Error when the port is unavailable
 */
export async function startWebhookReceiver(
  port: number,
  reply: (call: ReceivedWebhook) => Promise<WebhookReply>,
): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    const result = async () => {
      const body = await bodyOf(request);
      if (body === null) return response.writeHead(413, { connection: 'close' }).end();
      const { status, headers, body: text } = await reply({ ...headOf(request), body });
      return response.writeHead(status, headers).end(text);
    };
    // The client has disconnected, or the response cannot be written: there is nothing to report it to.
    result().catch(() => response.destroy());
  });
  await listening(server, port);
  const address = server.address();
  const taken = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${HOST}:${taken}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message;
      reject(new Error(`Port ${port} cannot be used: ${why}. Use another one, such as: listen ${port + 1}`));
    });
    server.listen(port, HOST, resolve);
  });
}

function headOf({ method = '', url = '', headers }: IncomingMessage): Omit<ReceivedWebhook, 'body'> {
  const flat = Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')] as const);
  return { method, path: url, headers: Object.fromEntries(flat) };
}

/** The body as text; null if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAX_BODY_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
