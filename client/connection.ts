/**
 * The single socket of all subscriptions of a client. It opens with the first and closes with the last, and after a disconnect it
 * reconnects and resumes each at its position.
 */

import type { LiveSubscription, ServerFrame } from './live-subscription.ts';
import { OutgoingFrameThrottle } from './outgoing-frame-throttle.ts';
import { MillraceError } from './problem.ts';
import { retryDelayMs, watchNetwork } from './reconnect-timing.ts';
import type { Session } from './session.ts';
import { isSocketOpen, requireWebSocket, type WebSocketClass, type WebSocketLike } from './websocket-like.ts';

/** A shorter connection counts as a failure: the delay before the next attempt grows each time. */
const STABLE_MS = 10_000;
/** The largest frame that the server accepts, less some room for a position. */
const MAX_FRAME_BYTES = 65_000;
/** Close codes from 4400 on refuse the client; those from 4500 on ask it to reconnect. */
const [REFUSED, COME_BACK] = [4400, 4500];
const NOT_AUTHENTICATED = 4401;
/** The client's hello came too late, for example because the machine slept. Nothing was rejected. */
const NO_HELLO = 4408;

export class Connection {
  readonly #url: string;
  readonly #session: Session;
  readonly #Socket: WebSocketClass | undefined;
  readonly #queries = new Map<string, LiveSubscription>();
  /** Queries that the server could not run at the moment, each with its retry timer. */
  readonly #later = new Map<LiveSubscription, ReturnType<typeof setTimeout>>();
  #socket: WebSocketLike | null = null;
  #pace: OutgoingFrameThrottle | null = null;
  #welcomed = false;
  #welcomedAt: number | null = null;
  /** Whether the token was replaced since the last welcome: a second rejection ends everything. */
  #replaced = false;
  #count = 0;
  #heartbeatMs = 30_000;
  #failures = 0;
  #retryAfterMs: number | null = null;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #silence: ReturnType<typeof setTimeout> | null = null;
  /** Stops watching the network; null while there are no subscriptions. */
  #unwatch: (() => void) | null = null;
  /** The principal of all positions, null if several: no other one can resume from them. */
  #principal: string | null = null;

  /** @param WebSocket the class of sockets; undefined if neither the runtime nor the application has one */
  constructor(base: string, session: Session, WebSocket: WebSocketClass | undefined) {
    this.#url = `${base.replace(/^http/, 'ws')}/realtime`;
    this.#session = session;
    this.#Socket = WebSocket;
    session.onChange(() => void this.#authenticate());
  }

  /**
   * @param make creates the subscription under an id that is new on this connection
   * @returns a function that ends it
   * @throws TypeError if there is no WebSocket class
   */
  follow(make: (id: string) => LiveSubscription): () => void {
    requireWebSocket(this.#Socket);
    const live = make(`s${++this.#count}`);
    if (this.#session.ended !== null) {
      live.end(this.#session.ended);
      return () => live.close();
    }
    if (new TextEncoder().encode(JSON.stringify(live.request(false))).length > MAX_FRAME_BYTES) {
      const title = 'The live query is too long';
      live.end(
        new MillraceError({ status: 400, code: 'subscription-result-too-large', title, hint: 'Use a shorter filter' }),
      );
      return () => live.close();
    }
    this.#queries.set(live.id, live);
    this.#unwatch ??= watchNetwork({ offline: () => this.#again(), online: () => this.#now() });
    if (this.#welcomed) this.#send(live.request(false));
    else this.#open();
    return () => this.#stop(live);
  }

  /** Ends all live queries, without calling their listeners, and closes the socket. The next one opens a new socket. */
  close(): void {
    for (const live of this.#queries.values()) live.close();
    this.#queries.clear();
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    this.#unwatch?.();
    this.#unwatch = null;
    this.#drop();
  }

  #open(): void {
    if (this.#socket !== null || this.#retry !== null) return;
    const WebSocket = requireWebSocket(this.#Socket);
    const socket = new WebSocket(this.#url, 'millrace.v1');
    this.#socket = socket;
    this.#pace = new OutgoingFrameThrottle((text) => {
      if (isSocketOpen(socket)) socket.send(text);
    });
    // A server may accept the connection and then send nothing: the timer treats that as a lost connection.
    this.#listen();
    socket.addEventListener('open', () => void this.#hello(socket));
    socket.addEventListener('message', ({ data }) => {
      if (socket === this.#socket) this.#hear(JSON.parse(String(data)) as ServerFrame);
    });
    socket.addEventListener('close', ({ code }) => void this.#lost(socket, code));
    // Every error is followed by a close, which is handled.
    socket.addEventListener('error', () => undefined);
  }

  #stop(live: LiveSubscription): void {
    live.close();
    if (!this.#queries.delete(live.id)) return;
    this.#cancel(live);
    if (this.#welcomed) this.#send({ type: 'unsubscribe', id: live.id });
    // Waits a moment: an application that replaces its query keeps the same socket.
    queueMicrotask(() => {
      if (this.#queries.size === 0) this.close();
    });
  }

  async #hello(socket: WebSocketLike): Promise<void> {
    try {
      const token = await this.#session.token();
      if (socket === this.#socket) this.#send(token === null ? { type: 'hello' } : { type: 'hello', token });
    } catch {
      socket.close();
    }
  }

  /** Called at sign-in, at sign-out, before the token expires, and when the session ends, which ends all live queries. */
  async #authenticate(): Promise<void> {
    if (this.#session.ended !== null) {
      this.#end(this.#session.ended);
      return;
    }
    if (this.#socket === null) return;
    const token = await this.#session.token().catch(() => null);
    if (token !== null && this.#welcomed) this.#send({ type: 'authenticate', token });
    else this.#again();
  }

  #hear(frame: ServerFrame): void {
    this.#listen(frame.heartbeatMs);
    switch (frame.type) {
      case 'welcome':
        this.#welcome(frame);
        return;
      case 'ping':
        // A client without read permission gets no position.
        if (frame.position !== undefined) for (const live of this.#queries.values()) live.passed(frame.position);
        this.#send({ type: 'pong' });
        return;
      case 'transaction':
        // Inside a transaction, changes have no `type`; events have theirs.
        for (const change of frame.changes ?? [])
          this.#queries.get(change.id ?? '')?.handleFrame({ type: 'change', ...change });
        return;
      case 'expiring':
        if (!this.#session.renewable) return;
        void this.#session.refresh().then(
          () => this.#authenticate(),
          () => undefined,
        );
        return;
      case 'bye':
        this.#retryAfterMs = frame.retryAfterMs ?? null;
        return;
      case 'unsubscribed':
        this.#refused(frame);
        return;
      default:
        this.#queries.get(frame.id ?? '')?.handleFrame(frame);
    }
  }

  #welcome({ principal }: ServerFrame): void {
    const who = `${principal?.kind}:${principal?.id ?? ''}`;
    this.#replaced = false;
    // A second welcome is the response to `authenticate`: the live queries continue.
    if (this.#welcomed) {
      if (this.#principal !== who) this.#principal = null;
      return;
    }
    const resume = this.#principal === who;
    this.#principal = who;
    this.#welcomed = true;
    this.#welcomedAt = performance.now();
    for (const live of this.#queries.values()) this.#send(live.request(resume));
  }

  #refused({ id = '', problem, retryable }: ServerFrame): void {
    const live = this.#queries.get(id);
    if (live === undefined || problem === undefined) return;
    if (retryable === true) {
      live.interrupt();
      const again = () => {
        this.#later.delete(live);
        this.#send(live.request(this.#principal !== null));
      };
      this.#cancel(live);
      this.#later.set(live, setTimeout(again, retryDelayMs(live.failures++)));
      return;
    }
    this.#queries.delete(id);
    this.#cancel(live);
    live.end(new MillraceError(problem));
  }

  #cancel(live: LiveSubscription): void {
    clearTimeout(this.#later.get(live));
    this.#later.delete(live);
  }

  /** After two heartbeats without any message the connection counts as lost, even if the socket looks open. */
  #listen(heartbeatMs?: number): void {
    if (heartbeatMs !== undefined) this.#heartbeatMs = heartbeatMs;
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#again(), 2 * this.#heartbeatMs);
  }

  async #lost(socket: WebSocketLike, code: number): Promise<void> {
    if (socket !== this.#socket) return;
    this.#drop();
    const refused = code >= REFUSED && code < COME_BACK && code !== NO_HELLO;
    if (refused && !(code === NOT_AUTHENTICATED && (await this.#renewed()))) {
      this.#end(closedWith(code));
      return;
    }
    if (this.#socket === null) this.#again();
  }

  /** Whether another attempt makes sense, with a new token instead of the rejected one. */
  async #renewed(): Promise<boolean> {
    if (!this.#session.renewable || this.#replaced) return false;
    try {
      await this.#session.refresh();
      this.#replaced = true;
      return true;
    } catch (error) {
      // While the network is down, nothing is decided.
      return !(error instanceof MillraceError && error.status === 401);
    }
  }

  /** Ends all live queries with a reason, and closes the socket. */
  #end(problem: MillraceError): void {
    const ended = [...this.#queries.values()];
    this.#queries.clear();
    this.close();
    for (const live of ended) live.end(problem);
  }

  /** Drops the connection and opens a new one after a pause. */
  #again(): void {
    this.#drop();
    if (this.#queries.size === 0 || this.#retry !== null) return;
    if (this.#welcomedAt !== null && performance.now() - this.#welcomedAt > STABLE_MS) this.#failures = 0;
    this.#welcomedAt = null;
    const wait = retryDelayMs(this.#failures++);
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#open();
    }, this.#retryAfterMs ?? wait);
    this.#retryAfterMs = null;
  }

  /** Reconnects immediately if a reconnect is pending. */
  #now(): void {
    if (this.#retry === null) return;
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#failures = 0;
    this.#open();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#welcomed = false;
    this.#pace?.end();
    this.#pace = null;
    for (const live of [...this.#later.keys()]) this.#cancel(live);
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = null;
    socket?.close();
    for (const live of this.#queries.values()) live.interrupt();
  }

  #send(frame: object): void {
    this.#pace?.send(frame);
  }
}

function closedWith(code: number): MillraceError {
  const title = `The server closed the connection with ${code}`;
  return code === NOT_AUTHENTICATED
    ? new MillraceError({ status: 401, code: 'not-authenticated', title })
    : new MillraceError({ status: 400, code: 'connection-rejected', title });
}
