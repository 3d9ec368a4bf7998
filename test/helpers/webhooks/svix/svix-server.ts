/**
 * A counterpart of Svix: an HTTP server that implements the part of Svix's API that Millrace uses, checks every request
 * and response against the published document, really delivers messages, and can be made to fail.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Test } from 'tap';
import { SvixOpenApi } from './svix-contract.ts';
import { type ApiResponse, issue, responseTo } from './svix-operations.ts';
import { SvixState } from './svix-state.ts';

/**
 * What happens to a request. `lost`: done, and the connection breaks before the response. `silent`: done, and no
 * response. `conflict`: done, with the response 409. `busy`: not done, with the response 409, as while another request
 * with the same key is running. A number: not done, with this status.
 */
export type Fate = 'fine' | 'lost' | 'silent' | 'conflict' | 'busy' | 413 | 422 | 429 | 500 | 502;

export interface SvixServerOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Time for one call of an endpoint, in milliseconds. */
  readonly timeoutMs?: number;
  /** Pauses between attempts, in milliseconds. */
  readonly schedule?: readonly number[];
}

export class SvixServer {
  readonly token = 'testsk_0123456789abcdef.eu';
  readonly openApi = new SvixOpenApi();
  readonly state: SvixState;
  /** Requests by operation. */
  readonly requested = new Map<string, number>();
  /** Decides on each request, by the id of its operation. */
  fate: (operation: string) => Fate = () => 'fine';
  /** Whether the token is accepted. */
  takesToken = true;
  #server: Server | null = null;
  #port = 0;
  readonly #sockets = new Set<Socket>();
  /** Responses by key, as in its cache. It is lost with the server. */
  #keys = new Map<string, Promise<ApiResponse>>();

  constructor({ now = Date.now, timeoutMs = 1_000, schedule }: SvixServerOptions = {}) {
    this.state = new SvixState(now, timeoutMs, schedule);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts, the second time at the same port, with what it had stored. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Stops like a killed process: connections break, and the queue in memory is lost. */
  async die(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.state.die();
    this.#keys = new Map();
    for (const socket of this.#sockets) socket.destroy();
    if (server === null) return;
    server.close();
    await once(server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part);
    } catch {
      return;
    }
    const text = Buffer.concat(parts).toString();
    const { method = '', headers } = request;
    const body = text === '' ? undefined : JSON.parse(text);
    const matched = this.openApi.request({ method, url: new URL(request.url ?? '', this.url), headers, body });
    if (matched === null) {
      response.writeHead(404).end('{}');
      return;
    }
    const { operationId } = matched.operation;
    this.requested.set(operationId, (this.requested.get(operationId) ?? 0) + 1);
    const fate = this.fate(operationId);
    const send = ({ status, body: result }: ApiResponse) => {
      this.openApi.response(matched, status, result);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(status === 204 ? undefined : JSON.stringify(result));
    };
    if (headers.authorization !== `Bearer ${this.token}` || !this.takesToken) {
      send(issue(401, 'authentication_failed', 'Invalid token'));
      return;
    }
    if (typeof fate === 'number') {
      const detail = [{ loc: ['body'], msg: 'As the test wants', type: 'scripted' }];
      send(fate === 422 ? { status: fate, body: { detail } } : issue(fate, 'scripted', 'As the test wants'));
      return;
    }
    if (fate === 'busy') {
      send(issue(409, 'conflict', 'A request with this key is under way'));
      return;
    }
    const query = new URL(request.url ?? '', this.url).searchParams;
    const reply = await this.#once(operationId, headers['idempotency-key'], () =>
      responseTo(this.state, { operationId, path: matched.path, query, body }),
    );
    if (fate === 'lost') request.socket.destroy();
    else if (fate === 'conflict') send(issue(409, 'conflict', 'Already exists'));
    else if (fate !== 'silent') send(reply);
  }

  /** A used key gets its response again, if that was a success. */
  async #once(operation: string, key: unknown, work: () => ApiResponse): Promise<ApiResponse> {
    if (typeof key !== 'string') return work();
    const known = this.#keys.get(`${operation} ${key}`);
    if (known !== undefined) return await known;
    const response = work();
    if (response.status < 300) this.#keys.set(`${operation} ${key}`, Promise.resolve(response));
    return response;
  }
}

/** Starts a counterpart that ends with the test, which fails on any deviation from Svix's document. */
export async function startSvix(t: Test, options: SvixServerOptions = {}): Promise<SvixServer> {
  const svix = new SvixServer(options);
  await svix.start();
  t.teardown(async () => {
    await svix.die();
    const { issues } = svix.openApi;
    if (issues.length > 0) throw new Error(`Not as Svix's document says:\n${issues.slice(0, 10).join('\n')}`);
  });
  return svix;
}
