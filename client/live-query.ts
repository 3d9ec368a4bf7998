/** One live query of an application: its query, its documents so far, and its listener. */

import { LiveResult } from './live-result.ts';
import { type LiveStatus, LiveSubscription, type StoredDocument, type SubscriptionFrame } from './live-subscription.ts';
import type { MillraceError } from './problem.ts';
import type { Query } from './query.ts';

export interface LiveState<T> {
  readonly status: LiveStatus;
  /** In the order of the query; empty once it has ended. */
  readonly documents: readonly T[];
  readonly problem: MillraceError | null;
}

/** The order of a list without a sort. It is sent as a sort, because only subscriptions with a sort get sort keys. */
const BY_ID = 'id';

export class LiveQuery extends LiveSubscription {
  readonly collection: string;
  readonly query: Query;
  readonly #onState: (state: LiveState<StoredDocument>) => void;
  readonly #response: LiveResult;

  constructor(id: string, collection: string, query: Query, onState: (state: LiveState<StoredDocument>) => void) {
    super(id);
    this.collection = collection;
    this.query = query;
    this.#onState = onState;
    this.#response = new LiveResult(query.sort ?? BY_ID);
  }

  request(resume: boolean): object {
    const { filter, sort = BY_ID, limit, fields, as } = this.query;
    const since = resume && !this.#moves ? this.#response.position : null;
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

  /** Whether the filter uses the current time: then each request has a different meaning. */
  get #moves(): boolean {
    return JSON.stringify(this.query.filter ?? {}).includes('"$now');
  }

  handleFrame(frame: SubscriptionFrame): void {
    this.#response.apply(frame);
    if (this.#response.live) this.response();
  }

  passed(position: string): void {
    this.#response.passed(position);
  }

  override interrupt(): void {
    this.#response.interrupt();
    super.interrupt();
  }

  /** Ends the query with a problem. Its documents are dropped: the principal may no longer be allowed to see them. */
  override end(problem: MillraceError): void {
    this.#response.clear();
    super.end(problem);
  }

  protected notifyListener(): void {
    this.#onState({ status: this.status, documents: this.#response.documents(), problem: this.problem });
  }
}
