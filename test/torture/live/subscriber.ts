/**
 * A subscriber of the live torture: keeps every frame as it came, remembers only what the protocol says a client has to
 * remember, and comes back with that, to any of the servers, whenever its line ends. It judges nothing (judge.ts).
 */
import { type ClientRequest, get } from 'node:http';
import { WebSocket } from 'ws';
import type { Random } from '../../helpers/random.ts';
import type { Question } from './questions.ts';

/** One line from its beginning to its end. */
export interface Line {
  /** What each question was asked to go on from. */
  readonly since: readonly (string | null)[];
  /** Texts of messages, or blocks of a stream. */
  readonly frames: string[];
}

/** All that one subscriber was told. */
export interface Journal {
  readonly name: string;
  readonly wire: 'socket' | 'stream';
  readonly questions: readonly Question[];
  readonly lines: Line[];
  /** How lines ended that should not have: refusals and close codes that forbid to come back. */
  readonly refusals: string[];
}

export interface SubscriberOptions {
  readonly name: string;
  readonly questions: readonly Question[];
  readonly random: Random;
  /** Addresses of the servers, dead ones too. */
  readonly servers: () => readonly string[];
  /** It cuts its own line about once in so many frames, in the middle of what it is sent; 0 for never. */
  readonly cutEvery: number;
  /** It comes back about once in so many times without what it had, as a newcomer; 0 for never. */
  readonly forgetEvery: number;
}

/** A frame as both kinds of lines tell it. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  /** What a stream remembers: the line's own `id`. */
  readonly place?: string;
  readonly [member: string]: unknown;
}

const SILENT_MS = 10_000;
const LOOK_MS = 1_000;

export abstract class Subscriber {
  readonly journal: Journal;
  /** Where each question stands, as its client knows; null where it has to begin anew. */
  readonly positions: (string | null)[];
  readonly live: boolean[];
  protected readonly options: SubscriberOptions;
  protected line: Line = { since: [], frames: [] };
  #turn = 0;
  #heardAt = 0;
  #stopped = false;
  #looking: NodeJS.Timeout | undefined;

  constructor(wire: Journal['wire'], options: SubscriberOptions) {
    const { name, questions } = options;
    this.options = options;
    this.journal = { name, wire, questions, lines: [], refusals: [] };
    this.positions = questions.map(() => null);
    this.live = questions.map(() => false);
  }

  start(): void {
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#connect();
  }

  /** Opens a line; frames go to `hear`, its end to `end`, each with the turn. */
  protected abstract open(server: string, turn: number): void;
  /** Cuts the line without a word. */
  protected abstract cut(): void;
  protected abstract read(text: string): Frame;
  /** Notes what the frame means for coming back. */
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
    // A database that is away for a moment ends a subscription, which may be asked for again.
    const over = frame.type === 'unsubscribed' && frame['retryable'] === true;
    if (over || (this.options.cutEvery > 0 && this.options.random.once(this.options.cutEvery))) this.#leave();
  }

  protected end(turn: number, refusal: string | null): void {
    if (turn !== this.#turn) return;
    if (refusal !== null) this.journal.refusals.push(refusal);
    this.#leave();
  }

  /** Nothing more is heard of this line, whatever has been sent already. */
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
      for (const [index, question] of this.options.questions.entries()) {
        const since = this.positions[index] ?? null;
        const wish =
          question.kind === 'events'
            ? { events: question.types, filter: question.filter }
            : { collection: question.collection, query: question.query };
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

/** What a browser's EventSource does, without the browser: the last `id` it was told is what it comes back with. */
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
        this.end(turn, statusCode < 500 ? `answered with ${statusCode}` : null);
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

  protected note({ type, place }: Frame): void {
    if (place !== undefined) this.positions[0] = place;
    if (type === 'reset' || type === 'subscribed') this.live[0] = false;
    if (type === 'live') this.live[0] = true;
  }

  #path(): string {
    const [question] = this.options.questions;
    if (question?.kind !== 'documents') throw new TypeError('A stream asks for documents');
    const { filter, sort, limit, fields } = question.query;
    const parameters = new URLSearchParams({ filter: JSON.stringify(filter) });
    if (sort !== undefined) parameters.set('sort', sort);
    if (limit !== undefined) parameters.set('limit', String(limit));
    if (fields !== undefined) parameters.set('fields', fields.join());
    return `/api/${question.collection}?${parameters}`;
  }
}

/** One block of a stream as a frame of the one subscription there is. */
export function readBlock(text: string): Frame {
  const fields = new Map(text.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
  const place = fields.get('id');
  const type = fields.get('event') ?? '';
  return { ...JSON.parse(fields.get('data') ?? '{}'), type, id: 's0', ...(place === undefined ? {} : { place }) };
}

/** The frames inside of a transaction's. */
export function changesOf(frame: Frame): readonly Frame[] {
  return Array.isArray(frame['changes']) ? frame['changes'] : [];
}

export function eventOf(frame: Frame): { readonly id: string; readonly [member: string]: unknown } {
  const { event } = frame;
  if (typeof event !== 'object' || event === null || !('id' in event)) throw new TypeError('No event');
  return { ...event, id: String(event.id) };
}
