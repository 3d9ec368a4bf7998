/**
 * A small web server for the stand-ins of identity providers. It is reached as `localhost`, another site than the
 * `127.0.0.1` of Millrace, so that cookies depend on it.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Test } from 'tap';

export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as a form. */
  readonly form: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | object;
}

/** Writes a custom response. */
export type Rudely = (response: ServerResponse) => void;
/** Responds to a request; null is 404. */
export type Responding = (request: Received) => Promise<Reply | Rudely | null> | Reply | Rudely | null;

export interface Site {
  readonly origin: string;
  /** All requests, oldest first. */
  readonly requests: Received[];
}

export async function startSite(t: Test, result: Responding): Promise<Site> {
  const requests: Received[] = [];
  const origin = await listenAsSite(
    t,
    createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const body = Buffer.concat(parts).toString();
      const { method = '', headers } = request;
      const received = {
        method,
        headers,
        body,
        url: new URL(request.url ?? '/', origin),
        form: new URLSearchParams(body),
      };
      requests.push(received);
      const reply = await result(received);
      if (typeof reply === 'function') reply(response);
      else send(response, reply ?? { status: 404, body: 'Not Found' });
    }),
  );
  return { origin, requests };
}

/**
 * Listens until the test ends.
 * @returns its origin
 */
export async function listenAsSite(t: Test, server: ReturnType<typeof createServer>): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return `http://localhost:${port}`;
}

function send(response: ServerResponse, { status = 200, headers = {}, body = '' }: Reply): void {
  const isJson = typeof body === 'object';
  const type = isJson ? 'application/json' : 'text/html; charset=utf-8';
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...headers });
  response.end(isJson ? JSON.stringify(body) : body);
}

export function redirectTo(url: string | URL): Reply {
  return { status: 302, headers: { location: String(url) } };
}

/** Responses that a client must survive, at any URL. */
export const RUDE: Readonly<Record<'never' | 'huge' | 'redirect' | 'garbage' | 'html' | 'error', Rudely>> = {
  never: () => undefined,
  huge: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const [part, size] = ['x'.repeat(65_536), 200 * 1024 ** 2];
    let sent = 0;
    const more = () => {
      while (sent < size && !response.destroyed) {
        sent += part.length;
        if (!response.write(part)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  },
  redirect: (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  garbage: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
  html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Maintenance</h1>'),
  error: (response) => response.writeHead(500, { 'content-type': 'text/plain' }).end('out of order'),
};

/** A page with one form. Names and values must need no escaping except that of HTML. */
export function formPage(
  title: string,
  action: string,
  fields: Readonly<Record<string, string>>,
  { requested = [], buttons = {}, submits = false }: FormOptions = {},
): Reply {
  const inputs = [
    ...Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`),
    ...requested.map((name) => `<label>${name} <input name="${name}" value=""></label>`),
    ...Object.entries(buttons).map(([name, value]) => `<button name="${name}" value="${value}">${value}</button>`),
  ];
  const script = submits ? '<script>document.forms[0].submit()</script>' : '';
  return {
    body: `<!doctype html><title>${title}</title><h1>${title}</h1>
<form method="post" action="${escaped(action)}">
${inputs.join('\n')}
<button type="submit">Continue</button>
</form>${script}`,
  };
}

interface FormOptions {
  /** Fields that the user fills in. */
  readonly requested?: readonly string[];
  /** Other buttons, by name, with their value. */
  readonly buttons?: Readonly<Record<string, string>>;
  /** Whether the page sends the form by itself. */
  readonly submits?: boolean;
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
