/**
 * A client with several subscriptions that loses its connection and comes back: it goes on from where each of them
 * stood, as docs/protocol.md says. What it makes of frames is live-state.ts.
 */
import type { Test } from 'tap';
import type { LiveQuestion } from '../../helpers/live/live-model.ts';
import { LiveState, numberOf } from '../../helpers/live/live-state.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';

export interface Asked {
  readonly question: LiveQuestion;
  readonly state: LiveState;
}

export interface LiveClientOptions {
  readonly url: string;
  readonly collection: string;
  readonly questions: readonly LiveQuestion[];
  readonly token?: string;
  /** Whether it begins anew after a line that the server has cut: it cannot know of policies that the log does not tell. */
  readonly forgets?: boolean;
}

export class LiveClient {
  readonly asked: readonly Asked[];
  readonly #t: Test;
  readonly #options: LiveClientOptions;
  readonly #begun = new Set<Asked>();
  #socket: TestSocket | null = null;

  constructor(t: Test, options: LiveClientOptions) {
    this.#t = t;
    this.#options = options;
    this.asked = options.questions.map((question, index) => ({
      question,
      state: new LiveState(`s${index}`, question.sort),
    }));
  }

  /** Opens a connection and goes on with what was begun. */
  async open(): Promise<void> {
    const { url, token } = this.#options;
    const socket = await openSocket(this.#t, url, { hello: { type: 'hello', ...(token ? { token } : {}) } });
    this.#socket = socket;
    socket.onFrame = (frame) => {
      for (const { state } of this.asked) state.take(frame);
      socket.frames.length = 0;
    };
    // A machine under load may be too slow for the short heartbeat of a test.
    socket.socket.once('close', () => {
      if (this.#socket !== socket) return;
      for (const { state } of this.asked) this.#options.forgets ? state.again() : state.interrupt();
      this.open().catch((error: unknown) => socket.socket.emit('error', error));
    });
    for (const asked of this.#begun) if (!asked.state.ended) this.begin(asked);
  }

  /** Subscribes, from where it stood. */
  begin(asked: Asked): void {
    this.#begun.add(asked);
    const { state, question } = asked;
    const since = state.position === null ? {} : { since: state.position };
    const collection = this.#options.collection;
    this.#socket?.send({ type: 'subscribe', id: state.id, collection, query: question, ...since });
  }

  /** Loses the connection and comes back. */
  async comeBack(): Promise<void> {
    this.close();
    await this.open();
  }

  /** Whether everything up to a row has been told to every subscription that has not ended. */
  reached(number: number): boolean {
    return this.asked.every(({ state }) => state.settled && (!state.live || numberOf(state.position ?? '') >= number));
  }

  /** Where each subscription stands, to be read by a person. */
  stand(): string {
    const each = this.asked.map(({ state }) => {
      const { id, live, ended, position, faults } = state;
      return `${id}: ${live ? 'live' : ended ? 'ended' : 'not live'} at ${position} ${faults.join(' ')}`;
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
    for (const { state } of this.asked) state.interrupt();
  }
}
