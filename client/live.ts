/** One live answer of an application: its query, its documents so far, and the listener to call. */
import { Followed, type Frame, type LiveStatus, type Stored } from './followed.ts';
import { LiveAnswer } from './live-answer.ts';
import type { Problem } from './problem.ts';
import type { Query } from './query.ts';

export interface LiveState<T> {
  readonly status: LiveStatus;
  /** In the order of the query; empty once it has ended. */
  readonly documents: readonly T[];
  readonly problem: Problem | null;
}

/** The order of a list without a sort. It is sent as a sort, because only subscriptions with a sort get sort keys. */
const BY_ID = 'id';

export class Live extends Followed {
  readonly collection: string;
  readonly query: Query;
  readonly #onState: (state: LiveState<Stored>) => void;
  readonly #answer: LiveAnswer;

  constructor(id: string, collection: string, query: Query, onState: (state: LiveState<Stored>) => void) {
    super(id);
    this.collection = collection;
    this.query = query;
    this.#onState = onState;
    this.#answer = new LiveAnswer(query.sort ?? BY_ID);
  }

  request(resume: boolean): object {
    const { filter, sort = BY_ID, limit, fields, as } = this.query;
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
      ...(as === undefined ? {} : { as }),
      ...(since === null ? {} : { since }),
    };
  }

  /** Whether the filter names the current time: then it means something else each time it is sent. */
  get #moves(): boolean {
    return JSON.stringify(this.query.filter ?? {}).includes('"$now');
  }

  take(frame: Frame): void {
    this.#answer.apply(frame);
    if (this.#answer.live) this.answered();
  }

  passed(position: string): void {
    this.#answer.passed(position);
  }

  override interrupt(): void {
    this.#answer.interrupt();
    super.interrupt();
  }

  /** Ends the answer with a problem. Its documents are dropped: the principal may no longer be allowed to see them. */
  override end(problem: Problem): void {
    this.#answer.clear();
    super.end(problem);
  }

  protected call(): void {
    this.#onState({ status: this.status, documents: this.#answer.documents(), problem: this.problem });
  }
}
