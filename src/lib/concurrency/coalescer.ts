/**
 * Combines calls of the same kind into shared ones: one batch per key is active at a time, and calls that arrive during
 * it form the next one (group commit). A call with an idle key runs at once, so a single caller loses nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * A batch waits for more requests during this many turns of the event loop at most; this many turns without a request
 * end the wait.
 */
const GATHERING_TURNS = 16;
const IDLE_TURNS = 2;

/** Does the work of one batch. Results come in the order of the requests, with an Error for each that failed. */
export type RunBatch<Request, Result> = (
  key: string,
  requests: readonly Request[],
) => Promise<readonly (Result | Error)[]>;

export interface BatchLimits<Request> {
  /** Maximum number of requests in one batch. */
  readonly count: number;
  /** Maximum bytes of one batch; a single larger request goes alone. */
  readonly bytes: number;
  /** Size of one request in bytes. */
  readonly bytesOf: (request: Request) => number;
}

interface Waiter<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class RequestCoalescer<Request, Result> {
  readonly #run: RunBatch<Request, Result>;
  readonly #limits: BatchLimits<Request>;
  /** The requests that wait for the next batch, by key; a key without an entry is idle. */
  readonly #waiting = new Map<string, Waiter<Request, Result>[]>();

  constructor(run: RunBatch<Request, Result>, limits: BatchLimits<Request>) {
    this.#run = run;
    this.#limits = limits;
  }

  /**
   * Joins the next batch of `key`. Rejects with the request's own error, or with the batch's if the whole batch failed.
   */
  submit(key: string, request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiter = { request, resolve, reject };
      const waiting = this.#waiting.get(key);
      if (waiting) {
        waiting.push(waiter);
        return;
      }
      this.#waiting.set(key, []);
      void this.#drain(key, [waiter]);
    });
  }

  async #drain(key: string, first: Waiter<Request, Result>[]): Promise<void> {
    let batch = first;
    while (batch.length > 0) {
      await this.#settle(key, batch);
      // A single caller does not have to wait for others.
      const alone = batch.length === 1 && this.#waiting.get(key)?.length === 0;
      if (!alone) await this.#gather(key);
      batch = this.#take(this.#waiting.get(key) ?? []);
    }
    this.#waiting.delete(key);
  }

  /**
   * Waits for turns of the event loop while they bring more requests. Clients that got responses together usually send
   * again together, and would otherwise just miss the next batch. An idle event loop loses almost no time here.
   */
  async #gather(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? [];
    let before = waiting.length;
    for (let turn = 0, idle = 0; turn < GATHERING_TURNS && idle < IDLE_TURNS; turn++) {
      await nextTurn();
      idle = waiting.length > before ? 0 : idle + 1;
      before = waiting.length;
    }
  }

  async #settle(key: string, batch: readonly Waiter<Request, Result>[]): Promise<void> {
    try {
      const results = await this.#run(
        key,
        batch.map(({ request }) => request),
      );
      batch.forEach((waiter, index) => {
        const result = results[index];
        if (result === undefined || result instanceof Error)
          waiter.reject(result ?? new Error('A batch left a request out'));
        else waiter.resolve(result);
      });
    } catch (error) {
      for (const waiter of batch) waiter.reject(error);
    }
  }

  /** Removes as many from the front as the limits allow, at least one. */
  #take(waiting: Waiter<Request, Result>[]): Waiter<Request, Result>[] {
    let bytes = 0;
    let count = 0;
    for (const { request } of waiting) {
      bytes += this.#limits.bytesOf(request);
      if (count > 0 && (count >= this.#limits.count || bytes > this.#limits.bytes)) break;
      count++;
    }
    return waiting.splice(0, count);
  }
}
