/**
 * Load on one server over kept-alive connections: each sends its next request after the last response. It counts
 * responses, their times, and the CPU time that the server's process used for them. It speaks HTTP/1.1 over plain
 * sockets and parses as little as possible: a full HTTP client would take more CPU time than the server.
 */
import { connect, type Socket } from 'node:net';
import { cpuSeconds } from './usage.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: string;
  /** An access token. */
  readonly token?: string;
}

export interface Figures {
  readonly perSecond: number;
  /** Microseconds of the server's CPU time for one request. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * @param next the next call to send
 * @param pid the server's process
 */
export async function load(
  base: string,
  pid: number,
  connections: number,
  forMs: number,
  next: () => Call,
): Promise<Figures> {
  const { hostname, port } = new URL(base);
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.to(hostname, Number(port))));
  // Node accepts one connection in each turn of its event loop, so the first response times include waiting to be
  // accepted. They are not counted.
  await Promise.all(open.map((connection) => connection.send(next())));
  const times: number[] = [];
  const cpuBefore = cpuSeconds(pid);
  const start = performance.now();
  const end = start + forMs;
  const worker = async (connection: Connection) => {
    while (performance.now() < end) {
      const call = next();
      const sent = performance.now();
      await connection.send(call);
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(open.map(worker));
  const seconds = (performance.now() - start) / 1000;
  const used = cpuSeconds(pid) - cpuBefore;
  for (const connection of open) connection.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { perSecond: times.length / seconds, cpu: (used * 1e6) / times.length, p50: at(0.5), p99: at(0.99) };
}

/** One kept-alive connection with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #response = new ResponseEnd();
  #settle: { resolve: () => void; reject: (error: Error) => void } | null = null;
  #call: Call | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('The server closed the connection')));
    socket.on('data', (chunk) => this.#read(chunk));
  }

  static async to(host: string, port: number): Promise<Connection> {
    const socket = connect(port, host);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket);
  }

  /** Resolves when the whole response has arrived; rejects if its status is not a success. */
  send(call: Call): Promise<void> {
    const { method, path, body = '', token } = call;
    const credential = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    const type = body === '' ? '' : 'Content-Type: application/json\r\n';
    const length = method === 'GET' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    this.#call = call;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${credential}${type}${length}\r\n${body}`);
    });
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const status = this.#response.take(chunk);
    if (status === null) return;
    const settle = this.#settle;
    this.#settle = null;
    if (status < 300) settle?.resolve();
    else settle?.reject(new Error(`${this.#call?.method} ${this.#call?.path} answered ${status}`));
  }
}

/**
 * Finds the ends of consecutive responses, by their length or by the last of their chunks (RFC 9112, sections 6 and 7).
 */
class ResponseEnd {
  #head = '';
  #status = 0;
  /** Bytes that are still to come; null if the response is chunked, -1 before its head is complete. */
  #left: number | null = -1;
  #tail = '';

  /** The status of the response that this chunk completes, or null. */
  take(chunk: Buffer): number | null {
    let body = chunk;
    if (this.#left === -1) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return null;
      const head = this.#head.slice(0, end);
      body = chunk.subarray(chunk.length - (this.#head.length - end - 4));
      this.#status = Number(head.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      this.#left = length === undefined ? null : Number(length);
    }
    if (this.#left === null) {
      this.#tail = (this.#tail + body.subarray(-5).toString('latin1')).slice(-5);
      if (this.#tail !== '0\r\n\r\n') return null;
    } else {
      this.#left -= body.length;
      if (this.#left > 0) return null;
    }
    this.#head = '';
    this.#tail = '';
    this.#left = -1;
    return this.#status;
  }
}
