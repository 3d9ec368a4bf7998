/**
 * Limits concurrent requests and queues leased deliveries by endpoint. The first request of an endpoint has a reserved
 * slot, so that servers that hang cannot delay the first request of any other. All further requests share slots: each
 * success allows an endpoint one request more, up to ten, each failure halves that. Endpoints are served in turn. No
 * clock, no I/O.
 */

const MAX_EACH = 10;
/** Queued deliveries per concurrent request: enough that a queue does not run empty between polls. */
const WAITING_EACH = 8;
/** Queued deliveries that each endpoint may have, whatever the others have. */
const OWN_WAITING = 4;
/**
 * Above this size of all queued and active bodies, in bytes, an endpoint gets one delivery at a time; above half of it,
 * this holds for an endpoint whose last request failed or that had none.
 */
const MAX_BYTES = 64 * 1_024 * 1_024;

export interface ConcurrencyLimits {
  /** Endpoints whose first request uses no shared slot; the first request of further endpoints uses one. */
  readonly own: number;
  /** Slots shared by the other requests. As many deliveries may be queued beyond `OWN_WAITING` of each endpoint. */
  readonly shared: number;
}

export interface QueuedDelivery {
  readonly endpoint: string;
  /** Its size in memory, in bytes. */
  readonly size: number;
  /** Not to be sent before this monotonic time, in milliseconds. */
  readonly notBefore: number;
}

interface Line<T> {
  waiting: T[];
  underWay: number;
  limit: number;
  /** Whether its first request uses no shared slot. */
  own: boolean;
}

export class EndpointConcurrency<T extends QueuedDelivery> {
  readonly #bounds: ConcurrencyLimits;
  readonly #lines = new Map<string, Line<T>>();
  /** Endpoints with queued deliveries, in turn; the next one first. */
  readonly #turns = new Set<string>();
  /** Queues with a reserved slot. */
  #own = 0;
  #underWay = 0;
  /** Queued deliveries beyond the first `OWN_WAITING` of their queues. */
  #sharedWaiting = 0;
  #bytes = 0;

  constructor(bounds: ConcurrencyLimits) {
    this.#bounds = bounds;
  }

  /** Active requests. */
  get underWay(): number {
    return this.#underWay;
  }

  /** How many more deliveries of an endpoint may be leased. */
  room(endpoint: string): number {
    const { waiting, underWay, limit } = this.#lines.get(endpoint) ?? { waiting: [], underWay: 0, limit: 1 };
    const held = waiting.length;
    if (this.#bytes >= (limit === 1 ? MAX_BYTES / 2 : MAX_BYTES)) return held + underWay === 0 ? 1 : 0;
    const own = Math.max(0, OWN_WAITING - held);
    if (limit === 1) return own;
    // As many as would remain for another endpoint, so that no number of endpoints takes everything.
    const shared = sharedPart(held);
    const fair = Math.floor((this.#bounds.shared - this.#sharedWaiting - shared) / 2);
    return own + Math.max(0, Math.min(limit * WAITING_EACH - OWN_WAITING - shared, fair));
  }

  /** Whether less than half of an endpoint's queue is used. */
  isRunningLow(endpoint: string): boolean {
    const { waiting, limit } = this.#lines.get(endpoint) ?? { waiting: [], limit: 1 };
    return waiting.length * 2 < (limit === 1 ? OWN_WAITING : limit * WAITING_EACH);
  }

  push(one: T): void {
    const line = this.#line(one.endpoint);
    this.#setWaiting(line, [...line.waiting, one]);
    this.#turns.add(one.endpoint);
    this.#bytes += one.size;
  }

  /** The next delivery to send, which occupies a slot; undefined if none may be sent now. */
  next(now: number): T | undefined {
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      if ((line.waiting[0]?.notBefore ?? 0) > now || !this.#mayBegin(line)) continue;
      const [one, ...rest] = line.waiting;
      this.#setWaiting(line, rest);
      this.#turns.delete(endpoint);
      if (rest.length > 0) this.#turns.add(endpoint);
      if (one === undefined) continue;
      if (line.underWay === 0 && this.#own < this.#bounds.own) {
        line.own = true;
        this.#own += 1;
      }
      line.underWay += 1;
      this.#underWay += 1;
      return one;
    }
    return undefined;
  }

  /** When a delivery that waits only for its time may be sent; null if there is none. */
  nextTime(): number | null {
    let next: number | null = null;
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      const at = line.waiting[0]?.notBefore ?? 0;
      if (this.#mayBegin(line) && (next === null || at < next)) next = at;
    }
    return next;
  }

  /** Ends a request. @param succeeded null if none was sent */
  end(one: T, succeeded: boolean | null): void {
    const line = this.#line(one.endpoint);
    line.underWay -= 1;
    if (line.underWay === 0 && line.own) {
      line.own = false;
      this.#own -= 1;
    }
    if (succeeded === true) line.limit = Math.min(line.limit + 1, MAX_EACH);
    if (succeeded === false) line.limit = Math.max(line.limit >> 1, 1);
    this.#underWay -= 1;
    this.#bytes -= one.size;
  }

  /** Removes and returns queued deliveries that match. */
  withdraw(fits: (one: T) => boolean): readonly T[] {
    const out: T[] = [];
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      const rest: T[] = [];
      for (const one of line.waiting) (fits(one) ? out : rest).push(one);
      this.#setWaiting(line, rest);
      if (rest.length === 0) this.#turns.delete(endpoint);
    }
    for (const { size } of out) this.#bytes -= size;
    return out;
  }

  /** Removes an endpoint; its active requests end by themselves. */
  forget(endpoint: string): void {
    const line = this.#lines.get(endpoint);
    if (line?.waiting.length === 0 && line.underWay === 0) this.#lines.delete(endpoint);
  }

  /**
   * Whether a queue may start one more request: the first with its reserved slot, another one while at least as many
   * shared slots are free as it uses.
   */
  #mayBegin({ underWay, limit, own }: Line<T>): boolean {
    if (underWay >= limit) return false;
    if (underWay === 0 && this.#own < this.#bounds.own) return true;
    const left = this.#bounds.shared - (this.#underWay - this.#own);
    return left > underWay - (own ? 1 : 0);
  }

  #setWaiting(line: Line<T>, waiting: T[]): void {
    this.#sharedWaiting += sharedPart(waiting.length) - sharedPart(line.waiting.length);
    line.waiting = waiting;
  }

  #line(endpoint: string): Line<T> {
    const known = this.#lines.get(endpoint);
    if (known !== undefined) return known;
    const line = { waiting: [], underWay: 0, limit: 1, own: false };
    this.#lines.set(endpoint, line);
    return line;
  }
}

function sharedPart(waiting: number): number {
  return Math.max(0, waiting - OWN_WAITING);
}
