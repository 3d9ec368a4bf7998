/**
 * One subscriber of a benchmark: its documents, the numbered writes it has received, how late, and errors. After a
 * break it reconnects and resumes at its position, as clients of the protocol do.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LiveSocket } from './live-socket.ts';

export interface Wish {
  readonly base: string;
  readonly collection: string;
  readonly query: object;
  /** The position to resume from. */
  readonly since?: string;
  /** Whether it stops reading as soon as it is live. */
  readonly silent?: boolean;
}

/** A document of a benchmark: its number, and the planned time of its write in milliseconds since 1970. */
interface Numbered {
  readonly id: string;
  readonly n: number;
  readonly at: number;
}

interface Frame {
  readonly type: string;
  readonly op?: string;
  readonly documentId?: string;
  readonly document?: Numbered;
  readonly documents?: readonly Numbered[];
  readonly event?: string;
  readonly position?: string;
  readonly problem?: object;
}

/** Milliseconds since 1970, with fractions. */
export const now = (): number => performance.timeOrigin + performance.now();

export class Watcher {
  readonly #wish: Wish;
  #socket: LiveSocket | null = null;
  #position: string | undefined;
  #event = 0;
  #closed = false;
  readonly held = new Map<string, number>();
  /** Numbers of the writes that it has received. */
  readonly reported = new Set<number>();
  /** Milliseconds from the planned time of each write to its message. */
  delays: number[] = [];
  changes = 0;
  repeated = 0;
  resets: Record<string, number> = {};
  closes: Record<string, number> = {};
  issues: string[] = [];
  live = false;

  constructor(wish: Wish) {
    this.#wish = wish;
    this.#position = wish.since;
  }

  async open(): Promise<void> {
    const { base, collection, query } = this.#wish;
    const socket = await LiveSocket.open(base);
    this.#socket = socket;
    socket.onMessage = (json) => this.#take(JSON.parse(json.toString()), socket);
    socket.onClose = (code) => this.#lost(code);
    socket.send({ type: 'hello' });
    const since = this.#position === undefined ? {} : { since: this.#position };
    socket.send({ type: 'subscribe', id: 's', collection, query, ...since });
  }

  resume(): void {
    this.#socket?.resume();
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
  }

  #lost(code: number): void {
    if (this.#closed) return;
    this.live = false;
    this.closes[code] = (this.closes[code] ?? 0) + 1;
    pause(Math.random() * 1_000)
      .then(() => this.open())
      .catch((error: unknown) => this.issues.push(String(error)));
  }

  #take(frame: Frame, socket: LiveSocket): void {
    switch (frame.type) {
      case 'change':
        this.#change(frame);
        break;
      case 'transaction':
        this.issues.push('a transaction');
        break;
      case 'snapshot':
        for (const { id, n } of frame.documents ?? []) this.held.set(id, n);
        this.#position = frame.position ?? this.#position;
        break;
      case 'reset':
        this.held.clear();
        this.live = false;
        this.resets[reasonOf(frame)] = (this.resets[reasonOf(frame)] ?? 0) + 1;
        break;
      case 'live':
        this.#position = frame.position;
        if (this.#wish.silent && !this.live && this.changes === 0) socket.pause();
        this.live = true;
        break;
      case 'ping':
        if (this.live) this.#position = frame.position;
        socket.send({ type: 'pong' });
        break;
      case 'error':
      case 'unsubscribed':
        this.issues.push(JSON.stringify(frame.problem));
        break;
    }
  }

  #change({ op, documentId = '', document, event = '' }: Frame): void {
    this.changes += 1;
    const number = Number(event.split('-')[1]);
    if (number <= this.#event) this.repeated += 1;
    this.#event = number;
    this.#position = event;
    if (op === 'leave' || document === undefined) {
      this.held.delete(documentId);
      return;
    }
    this.held.set(documentId, document.n);
    this.reported.add(document.n);
    this.delays.push(now() - document.at);
  }
}

const reasonOf = (frame: Frame): string => ('reason' in frame ? String(frame.reason) : '');
