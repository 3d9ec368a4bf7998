/** One live question of an application: what it asks, the answer so far, and who is told of it. */
import { type Frame, LiveAnswer, type Stored } from './live-answer.ts';
import type { Problem } from './problem.ts';
import type { Query } from './query.ts';

/** `live`: everything is here. `offline`: there is no line; what is here may be old, it goes on by itself. `ended`: `problem` says why. */
export type LiveStatus = 'connecting' | 'live' | 'offline' | 'ended';

export interface LiveState<T> {
  readonly status: LiveStatus;
  /** In the order of the query; none once it has ended. */
  readonly documents: readonly T[];
  readonly problem: Problem | null;
}

/** What a list without a sort comes in; named, since keys to order by are sent only to those who ask for an order. */
const BY_ID = 'id';

export class Live {
  readonly id: string;
  readonly collection: string;
  readonly query: Query;
  readonly #onState: (state: LiveState<Stored>) => void;
  readonly #answer: LiveAnswer;
  #status: LiveStatus = 'connecting';
  #problem: Problem | null = null;
  #telling = false;
  #closed = false;
  /** How often in a row the server could not answer it. */
  failures = 0;

  constructor(id: string, collection: string, query: Query, onState: (state: LiveState<Stored>) => void) {
    this.id = id;
    this.collection = collection;
    this.query = query;
    this.#onState = onState;
    this.#answer = new LiveAnswer(query.sort ?? BY_ID);
  }

  /** The frame that asks for it; from where it was, or from the beginning. */
  request(resume: boolean): object {
    const { filter, sort = BY_ID, limit, fields } = this.query;
    const since = resume && !this.#moves ? this.#answer.position : null;
    return {
      type: 'subscribe',
      id: this.id,
      collection: this.collection,
      query: {
        ...(filter === undefined ? {} : { filter }),
        sort,
        ...(limit === undefined ? {} : { limit }),
        ...(fields === undefined ? {} : { fields }),
      },
      ...(since === null ? {} : { since }),
    };
  }

  /** A filter that names the moment is another one each time it is asked. */
  get #moves(): boolean {
    return JSON.stringify(this.query.filter ?? {}).includes('"$now');
  }

  take(frame: Frame): void {
    this.#answer.apply(frame);
    if (!this.#answer.live) return;
    this.failures = 0;
    this.#status = 'live';
    this.#tell();
  }

  passed(position: string): void {
    this.#answer.passed(position);
  }

  interrupt(): void {
    this.#answer.interrupt();
    if (this.#status === 'offline') return;
    this.#status = 'offline';
    this.#tell();
  }

  /** The answer is over: its documents may no longer be what the principal may see, so none are told any more. */
  end(problem: Problem): void {
    this.#answer.clear();
    this.#status = 'ended';
    this.#problem = problem;
    this.#tell();
  }

  /** Nobody is told any more. */
  close(): void {
    this.#closed = true;
  }

  /** Frames come in bursts: the application draws once for all that came together. */
  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      if (this.#closed) return;
      this.#onState({ status: this.#status, documents: this.#answer.documents(), problem: this.#problem });
    });
  }
}
