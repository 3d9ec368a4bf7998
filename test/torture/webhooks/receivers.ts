/**
 * The receivers of the test: one server, one path for each endpoint. The first attempts of some deliveries fail in
 * random ways: refused, redirected, answered with Retry-After, never answered, cut off after the request was read, cut
 * off in the middle of the response. Every request is recorded before the response.
 */
import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../helpers/random.ts';

/** One line of `received.jsonl`. */
export interface ReceivedLine {
  readonly endpoint: string;
  readonly id: string;
  /** Milliseconds since the start, by one clock. */
  readonly at: number;
  readonly fate: Fate;
  readonly body: string;
}

export type Fate = 'fine' | 'refuse' | 'redirect' | 'wait' | 'hang' | 'cut' | 'lie';

const BAD: readonly Fate[] = ['refuse', 'refuse', 'redirect', 'wait', 'hang', 'cut', 'cut', 'lie'];
/** Maximum failures of a delivery, so that its attempts suffice. */
const MOST_FAILURES = 2;

export class Receivers {
  url = '';
  received = 0;
  readonly #random: Random;
  readonly #file: number;
  readonly #failures = new Map<string, number>();
  readonly #open = new Set<string>();
  readonly #response: { readonly key: string; readonly at: number }[] = [];
  readonly #server = createServer((request, response) => this.#read(request, response));

  readonly #idInBody: boolean;

  /** @param idInBody whether only the body identifies the event */
  constructor(folder: string, random: Random, idInBody: boolean) {
    this.#idInBody = idInBody;
    this.#random = random;
    this.#file = openSync(`${folder}/received.jsonl`, 'a');
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * Deliveries that a process may have sent, and not have recorded, at this moment.
   * @param ms milliseconds after which a response has surely been recorded
   */
  inFlight(ms: number): readonly string[] {
    const since = performance.now() - ms;

    return [...new Set([...this.#open, ...this.#response.filter(({ at }) => at >= since).map(({ key }) => key)])];
  }

  #read(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    const endpoint = (request.url ?? '').slice(1);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const id = this.#idInBody ? JSON.parse(body).id : String(request.headers['webhook-id']);
      const key = `${endpoint} ${id}`;
      this.#open.add(key);
      response.once('close', () => this.#open.delete(key));
      const fate = this.#fateOf(key);
      const line: ReceivedLine = { endpoint, id, at: performance.now(), fate, body };
      this.received += 1;
      writeSync(this.#file, `${JSON.stringify(line)}\n`);
      if (fate === 'fine') this.#response.push({ key, at: line.at });
      result(fate, response);
    });
  }

  #fateOf(key: string): Fate {
    const failures = this.#failures.get(key) ?? 0;
    if (failures >= MOST_FAILURES || !this.#random.once(8)) return 'fine';
    this.#failures.set(key, failures + 1);
    return this.#random.pick(BAD);
  }
}

function result(fate: Fate, response: ServerResponse): void {
  switch (fate) {
    case 'fine':
      response.writeHead(200).end('ok');
      return;
    case 'refuse':
      response.writeHead(500).end('no');
      return;
    case 'redirect':
      response.writeHead(302, { location: '/elsewhere' }).end();
      return;
    case 'wait':
      response.writeHead(503, { 'retry-after': '1' }).end();
      return;
    case 'hang':
      return;
    case 'cut':
      response.destroy();
      return;
    case 'lie':
      // The announced length is larger than the body.
      response.writeHead(500, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
      return;
    default:
      throw new Error(fate satisfies never);
  }
}
