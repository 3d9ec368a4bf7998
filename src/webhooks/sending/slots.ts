/**
 * What this process has taken and not yet sent: a line for each endpoint, and bounds for how many calls are under way. The
 * first call of an endpoint has a place of its own, so that servers that hang cannot hold up the first call of any other. All
 * further calls share places, and only an endpoint whose calls succeed gets some of these: each success allows one call more, up
 * to ten, each failure halves that. Endpoints take turns. No clock, no calls. Not here: sending (queue/dispatcher.ts).
 */

const MAX_EACH = 10;
/** So many deliveries for each call at one time may wait in a line: enough that the line does not run dry between looks. */
const WAITING_EACH = 8;
/** So many deliveries of an endpoint may wait whatever others have. */
const OWN_WAITING = 4;
/**
 * Above this size of all bodies that wait or are under way, in bytes, an endpoint gets one delivery at a time: above half of it
 * one whose last call failed or that had none.
 */
const MAX_BYTES = 64 * 1_024 * 1_024;

export interface SlotBounds {
  /** Endpoints whose first call takes none of the shared places; further endpoints begin with a shared one. */
  readonly own: number;
  /** Places that the other calls share. So many deliveries more than `OWN_WAITING` of each endpoint may wait. */
  readonly shared: number;
}

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
  /** Whether its first call takes none of the shared places. */
  own: boolean;
}

export class Slots<T extends Waiting> {
  readonly #bounds: SlotBounds;
  readonly #lines = new Map<string, Line<T>>();
  /** Endpoints that have something waiting; the one that is next comes first. */
  readonly #turns = new Set<string>();
  /** Lines that hold a place of their own. */
  #own = 0;
  #underWay = 0;
  /** Deliveries that wait beyond the first `OWN_WAITING` of their lines. */
  #sharedWaiting = 0;
  #bytes = 0;

  constructor(bounds: SlotBounds) {
    this.#bounds = bounds;
  }

  /** Calls under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** How many more deliveries of an endpoint may be taken. */
  room(endpoint: string): number {
    const { waiting, underWay, limit } = this.#lines.get(endpoint) ?? { waiting: [], underWay: 0, limit: 1 };
    const held = waiting.length;
    if (this.#bytes >= (limit === 1 ? MAX_BYTES / 2 : MAX_BYTES)) return held + underWay === 0 ? 1 : 0;
    const own = Math.max(0, OWN_WAITING - held);
    if (limit === 1) return own;
    // As many as would be left for another endpoint, so that no number of them takes everything.
    const shared = sharedPart(held);
    const fair = Math.floor((this.#bounds.shared - this.#sharedWaiting - shared) / 2);
    return own + Math.max(0, Math.min(limit * WAITING_EACH - OWN_WAITING - shared, fair));
  }

  /** Whether less than half of what may wait for an endpoint does. */
  runsDry(endpoint: string): boolean {
    const { waiting, limit } = this.#lines.get(endpoint) ?? { waiting: [], limit: 1 };
    return waiting.length * 2 < (limit === 1 ? OWN_WAITING : limit * WAITING_EACH);
  }

  push(one: T): void {
    const line = this.#line(one.endpoint);
    this.#setWaiting(line, [...line.waiting, one]);
    this.#turns.add(one.endpoint);
    this.#bytes += one.size;
  }

  /** The next delivery to send, which takes a place; undefined when none may be sent now. */
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

  /** When a delivery may be sent that now only waits for its time; null when there is none. */
  nextTime(): number | null {
    let next: number | null = null;
    for (const endpoint of this.#turns) {
      const line = this.#line(endpoint);
      const at = line.waiting[0]?.notBefore ?? 0;
      if (this.#mayBegin(line) && (next === null || at < next)) next = at;
    }
    return next;
  }

  /** A call has ended. @param succeeded null when there was none after all */
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

  /** Takes out what waits and fits a test. */
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

  /** The endpoint is gone; what is under way ends by itself. */
  forget(endpoint: string): void {
    const line = this.#lines.get(endpoint);
    if (line?.waiting.length === 0 && line.underWay === 0) this.#lines.delete(endpoint);
  }

  /** Whether a line may begin one call more: the first by its own place, another when as many shared ones are left as it has. */
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
