/**
 * The first documents of an order, by ids and sort keys alone: a complete prefix of all that match, a little longer than
 * what is shown, so that most departures need no look into the database for who follows. Pure. What a change of one
 * document does to the shown part is its answer; who fetches documents is live-query.ts.
 */
import { compareKeys, type KeyValues, type Sort } from '../../query/page/sort.ts';

export interface WindowMember {
  /** Tells documents apart. */
  readonly identity: string;
  /** The id as clients see it. */
  readonly text: string;
  readonly id: unknown;
  readonly key: KeyValues;
  /** What it takes in memory. */
  readonly bytes: number;
}

/** What one change did to the shown part. */
export interface Effect {
  /** What happened to the changed document itself; null when clients need not hear of it. */
  readonly own: 'enter' | 'update' | 'leave' | null;
  /** Another document that had to make room. */
  readonly displaced: WindowMember | null;
}

/** What has to be fetched before the shown part is whole again. */
export interface Want {
  /** Shown by now, but not told yet. */
  readonly untold: readonly WindowMember[];
  /** How many may follow behind `behind`; 0 when none need to. */
  readonly further: number;
  /** Sort key of the last known document; null when none is known. */
  readonly behind: KeyValues | null;
}

const NO_EFFECT: Effect = { own: null, displaced: null };

/** How many documents a window of a limit knows when it is whole: some more than it shows. */
export function capacityOf(limit: number): number {
  return limit + Math.min(100, Math.max(10, Math.ceil(limit / 2)));
}

export class Window {
  readonly #sort: Sort;
  readonly #limit: number;
  /** How many documents to fetch for a whole window. */
  readonly capacity: number;
  readonly #byIdentity = new Map<string, WindowMember>();
  /** In order. Everything that matches and comes before the last of them is among them. */
  #members: WindowMember[] = [];
  /** Whether more may match behind them. */
  #more = true;
  /** What clients have been told of. */
  readonly #told = new Set<string>();
  #loose = false;
  #bytes = 0;

  constructor(sort: Sort, limit: number) {
    this.#sort = sort;
    this.#limit = limit;
    this.capacity = capacityOf(limit);
  }

  /** The shown documents, in order. */
  get shown(): readonly WindowMember[] {
    return this.#members.slice(0, this.#limit);
  }

  /** What its members take in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  has(identity: string): boolean {
    return this.#byIdentity.has(identity);
  }

  /**
   * Takes the first documents as the database gave them, and counts the shown ones as told.
   * @param more whether others may follow
   */
  fill(members: readonly WindowMember[], more: boolean): void {
    this.#members = [...members];
    this.#more = more;
    this.#byIdentity.clear();
    this.#told.clear();
    this.#bytes = 0;
    for (const member of members) {
      this.#byIdentity.set(member.identity, member);
      this.#bytes += member.bytes;
    }
    for (const member of this.shown) this.#told.add(member.identity);
  }

  /**
   * A document changed.
   * @param member the document with its key now; its key is null when it no longer matches
   */
  apply(member: Omit<WindowMember, 'key'> & { readonly key: KeyValues | null }): Effect {
    const { identity, text, id, key, bytes } = member;
    const old = this.#byIdentity.get(identity);
    if (old === undefined && key === null) return NO_EFFECT;
    if (old !== undefined) this.#remove(old);
    const at = key === null ? -1 : this.#insert({ identity, text, id, key, bytes });
    const isShown = at >= 0 && at < this.#limit;
    const wasTold = this.#told.has(identity);
    if (isShown) this.#told.add(identity);
    else this.#told.delete(identity);
    const next = this.#members[this.#limit];
    const displaced = next !== undefined && this.#told.delete(next.identity) ? next : null;
    return { own: isShown ? (wasTold ? 'update' : 'enter') : wasTold ? 'leave' : null, displaced };
  }

  /** What is missing in the shown part; null when nothing is. */
  get want(): Want | null {
    if (!this.#loose) return null;
    const untold = this.shown.filter(({ identity }) => !this.#told.has(identity));
    const short = this.#more && this.#members.length < this.#limit;
    if (untold.length === 0 && !short) {
      this.#loose = false;
      return null;
    }
    const further = short ? this.capacity - this.#members.length : 0;
    return { untold, further, behind: this.#members.at(-1)?.key ?? null };
  }

  /**
   * Takes what was fetched for `want`, at the moment the window stands at.
   * @param further what follows behind the last known document
   * @param more whether others may follow still
   * @returns the shown documents that clients have not been told of, which counts them as told
   */
  supply(further: readonly WindowMember[], more: boolean | null): readonly WindowMember[] {
    for (const member of further) {
      if (this.#byIdentity.has(member.identity)) continue;
      this.#byIdentity.set(member.identity, member);
      this.#members.push(member);
      this.#bytes += member.bytes;
    }
    if (more !== null) this.#more = more;
    this.#loose = false;
    const untold = this.shown.filter(({ identity }) => !this.#told.has(identity));
    for (const { identity } of untold) this.#told.add(identity);
    return untold;
  }

  #remove(member: WindowMember): void {
    const at = this.#placeOf(member.key);
    this.#members.splice(at, 1);
    this.#byIdentity.delete(member.identity);
    this.#bytes -= member.bytes;
    this.#loose = true;
  }

  /** Where the member stands now, or -1 when that is beyond what is known. */
  #insert(member: WindowMember): number {
    const at = this.#placeOf(member.key);
    if (at === this.#members.length && this.#more) return -1;
    this.#members.splice(at, 0, member);
    this.#byIdentity.set(member.identity, member);
    this.#bytes += member.bytes;
    if (this.#members.length > this.capacity) {
      const last = this.#members.pop();
      if (last !== undefined) {
        this.#byIdentity.delete(last.identity);
        this.#bytes -= last.bytes;
      }
      this.#more = true;
    }
    return at;
  }

  /** The first place whose key is not before the given one. */
  #placeOf(key: KeyValues): number {
    let low = 0;
    let high = this.#members.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const one = this.#members[middle];
      if (one !== undefined && compareKeys(one.key, key, this.#sort) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
