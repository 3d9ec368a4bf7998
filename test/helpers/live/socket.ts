/**
 * A simple client of live data for tests: it records every raw frame in order and can wait for one.
 */
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { until } from '../until.ts';

/** A frame as received. */
export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export class TestSocket {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  closed: Closed | null = null;
  /** Whether pings get pongs. */
  responses = true;
  onFrame: (frame: Frame) => void = () => {};

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (message) => {
      const frame: Frame = JSON.parse(String(message));
      this.frames.push(frame);
      if (frame.type === 'ping' && this.responses) this.send({ type: 'pong' });
      this.onFrame(frame);
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
    });
    socket.on('error', () => {});
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Frames of a subscription. */
  of(id: string): Frame[] {
    return this.frames.filter((frame) => frame['id'] === id);
  }

  /** The first matching frame. It may already have arrived. */
  async frame(fits: Partial<Record<string, unknown>> | ((frame: Frame) => boolean), from = 0): Promise<Frame> {
    const test = typeof fits === 'function' ? fits : (frame: Frame) => matches(frame, fits);
    const find = () => this.frames.slice(from).find(test);
    await until(() => find() !== undefined || this.closed !== null, `a frame ${JSON.stringify(fits)}`);
    const found = find();
    if (found === undefined) throw new Error(`Closed with ${JSON.stringify(this.closed)}: ${JSON.stringify(fits)}`);
    return found;
  }

  /** Waits for the close. Returns its code and reason. */
  async end(): Promise<Closed> {
    await until(() => this.closed !== null, 'the socket is closed');
    if (this.closed === null) throw new Error('Not closed');
    return this.closed;
  }
}

function matches(frame: Frame, requested: Partial<Record<string, unknown>>): boolean {
  return Object.entries(requested).every(([name, value]) => frame[name] === value);
}

/** Opens a socket; it is cut off at the end of `t`. */
export async function openSocket(
  t: Test,
  url: string,
  options: { path?: string; protocols?: string[]; headers?: Record<string, string>; hello?: object | null } = {},
): Promise<TestSocket> {
  const { path = '/realtime', protocols = [], headers = {}, hello = { type: 'hello' } } = options;
  const socket = new TestSocket(new WebSocket(`${url.replace('http', 'ws')}${path}`, protocols, { headers }));
  t.teardown(() => socket.socket.terminate());
  await new Promise<void>((resolve, reject) => {
    socket.socket.once('open', () => resolve());
    socket.socket.once('error', reject);
  });
  if (hello !== null) socket.send(hello);
  return socket;
}
