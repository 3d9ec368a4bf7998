/**
 * A subscriber of the torture test: keeps every frame as it came, remembers only what the protocol requires of a
 * client, and reconnects with that, to any of the servers, whenever its connection ends. judge.ts checks the frames.
 */
import { type ClientRequest, get } from 'node:http';
import { WebSocket } from 'ws';
import type { Random } from '../../helpers/random.ts';
import type { Query } from './questions.ts';

/** One connection from its beginning to its end. */
export interface Line {
  /** The position from which each query asked to resume. */
  readonly since: readonly (string | null)[];
  /** Texts of messages, or blocks of a stream. */
  readonly frames: string[];
}

/** Everything that one subscriber received. */
export interface Journal {
  readonly name: string;
  readonly wire: 'socket' | 'stream';
  readonly queries: readonly Query[];
  readonly lines: Line[];
  /** How connections ended that should not have: rejections and close codes that forbid to reconnect. */
  readonly refusals: string[];
}

export interface SubscriberOptions {
  readonly name: string;
  readonly queries: readonly Query[];
  readonly random: Random;
  /** URLs of the servers, dead ones too. */
  readonly servers: () => readonly string[];
  /** It cuts its own connection about once in this many frames, in the middle of what it receives; 0 for never. */
  readonly cutEvery: number;
  /** It reconnects about once in this many times without its state; 0 for never. */
  readonly forgetEvery: number;
}

/** A frame of either transport. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  /** What a stream remembers: the line's own `id`. */
  readonly eventId?: string;
  readonly [field: string]: unknown;
}

const SILENT_MS = 10_000;
const LOOK_MS = 1_000;

export abstract class Subscriber {
  readonly journal: Journal;
  /** The known position of each query; null if it has to restart. */
  readonly positions: (string | null)[];
  readonly live: boolean[];
  protected readonly options: SubscriberOptions;
  protected line: Line = { since: [], frames: [] };
  #turn = 0;
  #heardAt = 0;
  #stopped = false;
  #looking: NodeJS.Timeout | undefined;

  constructor(wire: Journal['wire'], options: SubscriberOptions) {
    const { name, queries } = options;
    this.options = options;
    this.journal = { name, wire, queries, lines: [], refusals: [] };
    this.positions = queries.map(() => null);
    this.live = queries.map(() => false);
  }

  start(): void {
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#connect();
  }

  /** Opens a connection; frames go to `hear`, its end to `end`, each with the turn. */
  protected abstract open(server: string, turn: number): void;
  /** Cuts the connection without a close frame. */
  protected abstract cut(): void;
  protected abstract read(text: string): Frame;
  /** Records what the frame means for reconnecting. */
  protected abstract note(frame: Frame): void;

  stop(): void {
    this.#stopped = true;
    this.#turn += 1;
    clearInterval(this.#looking);
    this.cut();
  }

  protected begin(): void {
    this.line = { since: [...this.positions], frames: [] };
    this.journal.lines.push(this.line);
  }

  protected hear(turn: number, text: string): void {
    if (turn !== this.#turn) return;
    this.#heardAt = performance.now();
    this.line.frames.push(text);
    const frame = this.read(text);
    this.note(frame);
    // A temporarily unavailable database ends a subscription, which may be requested again.
    const over = frame.type === 'unsubscribed' && frame['retryable'] === true;
    if (over || (this.options.cutEvery > 0 && this.options.random.once(this.options.cutEvery))) this.#leave();
  }

  protected end(turn: number, refusal: string | null): void {
    if (turn !== this.#turn) return;
    if (refusal !== null) this.journal.refusals.push(refusal);
    this.#leave();
  }

  /** This connection is ignored from now on, whatever has been sent already. */
  #leave(): void {
    this.#turn += 1;
    this.cut();
    this.live.fill(false);
    setTimeout(() => this.#connect(), 30 + this.options.random.below(150));
  }

  #connect(): void {
    if (this.#stopped) return;
    this.#heardAt = performance.now();
    const { forgetEvery, random } = this.options;
    if (forgetEvery > 0 && random.once(forgetEvery)) this.positions.fill(null);
    this.open(this.options.random.pick(this.options.servers()), this.#turn);
  }

  #look(): void {
    if (performance.now() - this.#heardAt > SILENT_MS) this.end(this.#turn, null);
  }
}

export class SocketSubscriber extends Subscriber {
  #socket: WebSocket | null = null;

  constructor(options: SubscriberOptions) {
    super('socket', options);
  }

  protected open(server: string, turn: number): void {
    const socket = new WebSocket(`${server.replace('http', 'ws')}/realtime`);
    this.#socket = socket;
    socket.on('open', () => {
      this.begin();
      socket.send('{"type":"hello"}');
      for (const [index, query] of this.options.queries.entries()) {
        const since = this.positions[index] ?? null;
        const wish =
          query.kind === 'events'
            ? { events: query.types, filter: query.filter }
            : { collection: query.collection, query: query.query };
        const from = since === null ? {} : { since };
        socket.send(JSON.stringify({ type: 'subscribe', id: `s${index}`, ...wish, ...from }));
      }
    });
    socket.on('message', (bytes) => this.hear(turn, String(bytes)));
    socket.on('error', () => {});
    socket.on('close', (code) => this.end(turn, code >= 4400 && code < 4500 ? `closed with ${code}` : null));
  }

  protected cut(): void {
    this.#socket?.terminate();
  }

  protected read(text: string): Frame {
    return JSON.parse(text);
  }

  protected note(frame: Frame): void {
    if (frame.type === 'ping') this.#socket?.send('{"type":"pong"}');
    for (const index of this.positions.keys()) this.#noteOf(index, frame);
  }

  #noteOf(index: number, frame: Frame): void {
    const mine = `s${index}`;
    const { type } = frame;
    if (type === 'ping' && this.live[index]) this.#at(index, frame['position']);
    if (type === 'transaction' && changesOf(frame).some(({ id }) => id === mine)) this.#at(index, frame['event']);
    if (frame.id !== mine) return;
    if (type === 'reset' || (type === 'subscribed' && frame['from'] === 'snapshot')) {
      this.positions[index] = null;
      this.live[index] = false;
    }
    if (type === 'snapshot' && frame['last'] === true) this.#at(index, frame['position']);
    if (type === 'change') this.#at(index, frame['event']);
    if (type === 'event') this.#at(index, eventOf(frame).id);
    if (type !== 'live') return;
    this.live[index] = true;
    this.#at(index, frame['position']);
  }

  #at(index: number, position: unknown): void {
    this.positions[index] = String(position);
  }
}

/** Does what a browser's EventSource does, without the browser: it reconnects with the last `id` that it received. */
export class StreamSubscriber extends Subscriber {
  #request: ClientRequest | null = null;

  constructor(options: SubscriberOptions) {
    super('stream', options);
  }

  protected open(server: string, turn: number): void {
    const [last = null] = this.positions;
    const headers = { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) };
    const request = get(`${server}${this.#path()}`, { headers, agent: false }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode !== 200) {
        response.resume();
        this.end(turn, statusCode < 500 ? `rejected with ${statusCode}` : null);
        return;
      }
      this.begin();
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const blocks = (text + chunk).split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) this.hear(turn, block);
      });
      response.on('close', () => this.end(turn, null));
      response.on('error', () => {});
    });
    this.#request = request;
    request.on('error', () => this.end(turn, null));
  }

  protected cut(): void {
    this.#request?.destroy();
  }

  protected read(text: string): Frame {
    return readBlock(text);
  }

  protected note({ type, eventId }: Frame): void {
    if (eventId !== undefined) this.positions[0] = eventId;
    if (type === 'reset' || type === 'subscribed') this.live[0] = false;
    if (type === 'live') this.live[0] = true;
  }

  #path(): string {
    const [query] = this.options.queries;
    if (query?.kind !== 'documents') throw new TypeError('A stream subscribes to documents');
    const { filter, sort, limit, fields } = query.query;
    const parameters = new URLSearchParams({ filter: JSON.stringify(filter) });
    if (sort !== undefined) parameters.set('sort', sort);
    if (limit !== undefined) parameters.set('limit', String(limit));
    if (fields !== undefined) parameters.set('fields', fields.join());
    return `/api/${query.collection}?${parameters}`;
  }
}

/** One block of a stream as a frame of its only subscription. */
export function readBlock(text: string): Frame {
  const fields = new Map(text.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
  const eventId = fields.get('id');
  const type = fields.get('event') ?? '';
  return {
    ...JSON.parse(fields.get('data') ?? '{}'),
    type,
    id: 's0',
    ...(eventId === undefined ? {} : { eventId }),
  };
}

/** The frames inside of a transaction's. */
export function changesOf(frame: Frame): readonly Frame[] {
  return Array.isArray(frame['changes']) ? frame['changes'] : [];
}

export function eventOf(frame: Frame): { readonly id: string; readonly [field: string]: unknown } {
  const { event } = frame;
  if (typeof event !== 'object' || event === null || !('id' in event)) throw new TypeError('No event');
  return { ...event, id: String(event.id) };
}
