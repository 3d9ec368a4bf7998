/**
 * A client with several subscriptions that loses its connection and reconnects: it continues from each subscription's
 * position, as docs/protocol.md says. live-state.ts applies the frames.
 */
import type { Test } from 'tap';
import type { LiveQuery } from '../../helpers/live/live-model.ts';
import { LiveState, numberOf } from '../../helpers/live/live-state.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';

export interface Requested {
  readonly query: LiveQuery;
  readonly state: LiveState;
}

export interface LiveClientOptions {
  readonly url: string;
  readonly collection: string;
  readonly queries: readonly LiveQuery[];
  readonly token?: string;
  /**
   * Whether it restarts after a connection that the server has closed: it cannot know of policies that are not in the
   * log.
   */
  readonly forgets?: boolean;
}

export class LiveClient {
  readonly requested: readonly Requested[];
  readonly #t: Test;
  readonly #options: LiveClientOptions;
  readonly #begun = new Set<Requested>();
  #socket: TestSocket | null = null;

  constructor(t: Test, options: LiveClientOptions) {
    this.#t = t;
    this.#options = options;
    this.requested = options.queries.map((query, index) => ({
      query,
      state: new LiveState(`s${index}`, query.sort),
    }));
  }

  /** Opens a connection and continues the subscriptions. */
  async open(): Promise<void> {
    const { url, token } = this.#options;
    const socket = await openSocket(this.#t, url, { hello: { type: 'hello', ...(token ? { token } : {}) } });
    this.#socket = socket;
    socket.onFrame = (frame) => {
      for (const { state } of this.requested) state.take(frame);
      socket.frames.length = 0;
    };
    // A machine under load may be too slow for the short heartbeat of a test.
    socket.socket.once('close', () => {
      if (this.#socket !== socket) return;
      for (const { state } of this.requested) this.#options.forgets ? state.again() : state.interrupt();
      this.open().catch((error: unknown) => socket.socket.emit('error', error));
    });
    for (const requested of this.#begun) if (!requested.state.ended) this.begin(requested);
  }

  /** Subscribes, from its last position. */
  begin(requested: Requested): void {
    this.#begun.add(requested);
    const { state, query } = requested;
    const since = state.position === null ? {} : { since: state.position };
    const collection = this.#options.collection;
    this.#socket?.send({ type: 'subscribe', id: state.id, collection, query: query, ...since });
  }

  /** Loses the connection and reconnects. */
  async comeBack(): Promise<void> {
    this.close();
    await this.open();
  }

  /** Whether every subscription that has not ended has received everything up to a row. */
  reached(number: number): boolean {
    return this.requested.every(
      ({ state }) => state.settled && (!state.live || numberOf(state.position ?? '') >= number),
    );
  }

  /** The position of each subscription, for people. */
  logCursor(): string {
    const each = this.requested.map(({ state }) => {
      const { id, live, ended, position, issues } = state;
      return `${id}: ${live ? 'live' : ended ? 'ended' : 'not live'} at ${position} ${issues.join(' ')}`;
    });
    return `socket ${this.#socket?.socket.readyState}, ${each.join(', ')}`;
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) {
      socket.onFrame = () => {};
      socket.socket.terminate();
    }
    for (const { state } of this.requested) state.interrupt();
  }
}
