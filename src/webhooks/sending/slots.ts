/**
 * What this process has taken and not yet sent: a line for each endpoint, and bounds for how many calls are under way. An
 * endpoint begins with two calls at one time; each success allows one more, up to ten, each failure halves that. So servers
 * that hang cannot hold all places. Endpoints take turns. No clock, no calls. Not here: sending (queue/dispatcher.ts).
 */

const MAX_EACH = 10;
const FIRST_EACH = 2;
/** So many deliveries for each call at one time may wait in a line: enough that the line does not run dry between looks. */
const WAITING_EACH = 8;
/** Largest size of all bodies that wait or are under way, in bytes. */
const MAX_BYTES = 32 * 1_024 * 1_024;

export interface Waiting {
  readonly endpoint: string;
  /** Bytes that it holds in memory. */
  readonly size: number;
  /** Not to be sent before this time of a monotonic clock, in milliseconds. */
  readonly notBefore: number;
}

interface Line<T> {
  waiting: T[];
  underWay: number;
  limit: number;
}

export class Slots<T extends Waiting> {
  readonly #max: number;
  readonly #lines = new Map<string, Line<T>>();
  /** Endpoints that have something waiting; the one that is next comes first. */
  readonly #turns = new Set<string>();
  #underWay = 0;
  #waiting = 0;
  #bytes = 0;

  /** @param max calls at one time, of all endpoints together; as many more may wait. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Calls under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** How many more deliveries of an endpoint may be taken. */
  room(endpoint: string): number {
    if (this.#bytes >= MAX_BYTES) return 0;
    const all = 2 * this.#max - this.#underWay - this.#waiting;
    const line = this.#lines.get(endpoint);
    if (line === undefined) return Math.min(all, FIRST_EACH * WAITING_EACH);
    return Math.max(0, Math.min(all, line.limit * WAITING_EACH - line.waiting.length));
  }

  /** Whether less than half of what may wait for an endpoint does. */
  runsDry(endpoint: string): boolean {
    const line = this.#lines.get(endpoint);
    return line === undefined || line.waiting.length * 2 < line.limit * WAITING_EACH;
  }

  push(one: T): void {
    const line = this.#line(one.endpoint);
    line.waiting.push(one);
    this.#turns.add(one.endpoint);
    this.#waiting += 1;
    this.#bytes += one.size;
  }

  /** The next delivery to send, which takes a place; undefined when none may be sent now. */
  next(now: number): T | undefined {
    if (this.#underWay >= this.#max) return undefined;
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      if (line.underWay >= line.limit || (line.waiting[0]?.notBefore ?? 0) > now) continue;
      const one = line.waiting.shift();
      this.#turns.delete(endpoint);
      if (line.waiting.length > 0) this.#turns.add(endpoint);
      if (one === undefined) continue;
      line.underWay += 1;
      this.#waiting -= 1;
      this.#underWay += 1;
      return one;
    }
    return undefined;
  }

  /** When a delivery may be sent that now only waits for its time; null when there is none. */
  nextTime(): number | null {
    let next: number | null = null;
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      const at = line.waiting[0]?.notBefore ?? 0;
      if (line.underWay < line.limit && (next === null || at < next)) next = at;
    }
    return next;
  }

  /** A call has ended. @param succeeded null when there was none after all */
  end(one: T, succeeded: boolean | null): void {
    const line = this.#line(one.endpoint);
    line.underWay -= 1;
    if (succeeded === true) line.limit = Math.min(line.limit + 1, MAX_EACH);
    if (succeeded === false) line.limit = Math.max(line.limit >> 1, 1);
    this.#underWay -= 1;
    this.#bytes -= one.size;
  }

  /** Takes out what waits and fits a test. */
  withdraw(fits: (one: T) => boolean): readonly T[] {
    const out: T[] = [];
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      const rest: T[] = [];
      for (const one of line.waiting) (fits(one) ? out : rest).push(one);
      line.waiting = rest;
      if (rest.length === 0) this.#turns.delete(endpoint);
    }
    this.#waiting -= out.length;
    for (const { size } of out) this.#bytes -= size;
    return out;
  }

  /** The endpoint is gone; what is under way ends by itself. */
  forget(endpoint: string): void {
    const line = this.#lines.get(endpoint);
    if (line?.waiting.length === 0 && line.underWay === 0) this.#lines.delete(endpoint);
  }

  #line(endpoint: string): Line<T> {
    const known = this.#lines.get(endpoint);
    if (known !== undefined) return known;
    const line = { waiting: [], underWay: 0, limit: FIRST_EACH };
    this.#lines.set(endpoint, line);
    return line;
  }
}
