/**
 * The first documents of a sorted result, as ids and sort keys. It knows more documents than it shows, so that the next
 * document is usually known when a visible one leaves. It computes how a change of one document affects the visible
 * part.
 */
import { compareSortKeys, type Sort, type SortKeyValues } from '../../query/page/sort.ts';

export interface WindowMember {
  /** Different for different documents. */
  readonly identity: string;
  /** The id as clients see it. */
  readonly text: string;
  readonly id: unknown;
  readonly key: SortKeyValues;
  /** Its memory in bytes. */
  readonly bytes: number;
}

/** The effect of one change on the visible part. */
export interface WindowChange {
  /** What happened to the changed document itself; null if clients need no message. */
  readonly own: 'enter' | 'update' | 'leave' | null;
  /** Another document that dropped out. */
  readonly displaced: WindowMember | null;
}

/** What has to be fetched to complete the visible part. */
export interface WindowShortfall {
  /** Visible documents that have not been sent to clients yet. */
  readonly unsent: readonly WindowMember[];
  /** How many documents to read after the sort key `afterKey`; 0 for none. */
  readonly missingCount: number;
  /** Sort key of the last known document; null if none is known. */
  readonly afterKey: SortKeyValues | null;
}

const NO_EFFECT: WindowChange = { own: null, displaced: null };

/** How many documents a full window with this limit knows: more than it shows. */
export function windowCapacity(limit: number): number {
  return limit + Math.min(100, Math.max(10, Math.ceil(limit / 2)));
}

export class QueryWindow {
  readonly #sort: Sort;
  readonly #limit: number;
  /** How many documents to fetch for a full window. */
  readonly capacity: number;
  readonly #byIdentity = new Map<string, WindowMember>();
  /** In order, without gaps: every matching document that sorts before the last of them is one of them. */
  #members: WindowMember[] = [];
  /** Whether more documents may match after them. */
  #more = true;
  /** The documents that have been sent to clients. */
  readonly #reported = new Set<string>();
  #loose = false;
  #bytes = 0;

  constructor(sort: Sort, limit: number) {
    this.#sort = sort;
    this.#limit = limit;
    this.capacity = windowCapacity(limit);
  }

  /** The visible documents, in order. */
  get shown(): readonly WindowMember[] {
    return this.#members.slice(0, this.#limit);
  }

  /** The memory of its entries. */
  get bytes(): number {
    return this.#bytes;
  }

  has(identity: string): boolean {
    return this.#byIdentity.has(identity);
  }

  /**
   * Sets the first documents as the database returned them, and counts the visible ones as sent.
   * @param more whether more documents may follow
   */
  fill(members: readonly WindowMember[], more: boolean): void {
    this.#members = [...members];
    this.#more = more;
    this.#byIdentity.clear();
    this.#reported.clear();
    this.#bytes = 0;
    for (const member of members) {
      this.#byIdentity.set(member.identity, member);
      this.#bytes += member.bytes;
    }
    for (const member of this.shown) this.#reported.add(member.identity);
  }

  /** A document changed. @param member the document with its current key; its key is null if it no longer matches */
  apply(member: Omit<WindowMember, 'key'> & { readonly key: SortKeyValues | null }): WindowChange {
    const { identity, text, id, key, bytes } = member;
    const old = this.#byIdentity.get(identity);
    if (old === undefined && key === null) return NO_EFFECT;
    if (old !== undefined) this.#remove(old);
    const at = key === null ? -1 : this.#insert({ identity, text, id, key, bytes });
    const isShown = at >= 0 && at < this.#limit;
    const wasReported = this.#reported.has(identity);
    if (isShown) this.#reported.add(identity);
    else this.#reported.delete(identity);
    const next = this.#members[this.#limit];
    const displaced = next !== undefined && this.#reported.delete(next.identity) ? next : null;
    return { own: isShown ? (wasReported ? 'update' : 'enter') : wasReported ? 'leave' : null, displaced };
  }

  /** What the visible part lacks; null if it is complete. */
  get shortfall(): WindowShortfall | null {
    if (!this.#loose) return null;
    const untold = this.shown.filter(({ identity }) => !this.#reported.has(identity));
    const short = this.#more && this.#members.length < this.#limit;
    if (untold.length === 0 && !short) {
      this.#loose = false;
      return null;
    }
    const further = short ? this.capacity - this.#members.length : 0;
    return { unsent: untold, missingCount: further, afterKey: this.#members.at(-1)?.key ?? null };
  }

  /**
   * Adds the documents that were fetched for `shortfall`, as of the last change that the window has processed.
   * @param further the documents after the last known one
   * @param more whether more documents may follow; null if none were read
   * @returns the visible documents that have not been sent to clients; they count as sent from now on
   */
  addFetched(further: readonly WindowMember[], more: boolean | null): readonly WindowMember[] {
    for (const member of further) {
      if (this.#byIdentity.has(member.identity)) continue;
      this.#byIdentity.set(member.identity, member);
      this.#members.push(member);
      this.#bytes += member.bytes;
    }
    if (more !== null) this.#more = more;
    this.#loose = false;
    const untold = this.shown.filter(({ identity }) => !this.#reported.has(identity));
    for (const { identity } of untold) this.#reported.add(identity);
    return untold;
  }

  #remove(member: WindowMember): void {
    const at = this.#positionOf(member.key);
    this.#members.splice(at, 1);
    this.#byIdentity.delete(member.identity);
    this.#bytes -= member.bytes;
    this.#loose = true;
  }

  /** The index of the entry, or -1 if it comes after the last known document and others may come between. */
  #insert(member: WindowMember): number {
    const at = this.#positionOf(member.key);
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

  /** The first index with a key that is not before the given one. */
  #positionOf(key: SortKeyValues): number {
    let low = 0;
    let high = this.#members.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const one = this.#members[middle];
      if (one !== undefined && compareSortKeys(one.key, key, this.#sort) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
