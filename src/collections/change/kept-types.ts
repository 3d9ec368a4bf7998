/**
 * Keeps the stored BSON types in a change. If a client sends back a value exactly as we showed it (a date as text,
 * say), the stored value is kept. An element of an array is recognised even if it was moved. Pure, on stored values.
 */
import { valueToWire } from '../../database/json/wire-values.ts';
import { isPlain } from '../../kernel/objects.ts';

/**
 * Comparisons that one change may make to find moved elements. Without a bound, thousands of changed elements would
 * take long.
 */
const MAX_COMPARISONS = 500_000;
/** Comparing this many characters of a text counts as one comparison. */
const TEXT = 64;

type Members = Readonly<Record<string, unknown>>;

/** Serves one change of one document. */
export class TypeKeeper {
  #left = MAX_COMPARISONS;
  /**
   * The JSON form of stored values, each made once: for a large binary that takes long, and thousands of values may be
   * compared with it.
   */
  readonly #shown = new Map<unknown, unknown>();

  /** `next` as JSON, with the stored value wherever its JSON is the same. */
  keep(old: unknown, next: unknown): unknown {
    if (Array.isArray(next)) return Array.isArray(old) ? this.#keepElements(old, next) : next;
    if (isPlain(next)) return isPlain(old) ? this.keepMembers(old, next) : next;
    return old !== undefined && !isPlain(old) && !Array.isArray(old) && this.#shownAs(old) === next ? old : next;
  }

  /** The same of all members of `next`. */
  keepMembers(old: Members, next: Members): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null);
    for (const [name, value] of Object.entries(next)) {
      result[name] = this.keep(Object.hasOwn(old, name) ? old[name] : undefined, value);
    }
    return result;
  }

  #keepElements(old: readonly unknown[], next: readonly unknown[]): unknown[] {
    const places = this.#placesBefore(old, next);
    return next.map((item, index) => this.keep(old[places[index] ?? index], item));
  }

  /**
   * For each new element, the old position that it is compared with. An element that is not found was changed or is
   * new: it gets the position after that of the element before it.
   */
  #placesBefore(old: readonly unknown[], next: readonly unknown[]): readonly number[] {
    const places: number[] = [];
    let expected = 0;
    for (const item of next) {
      const place = this.#find(old, item, expected);
      places.push(place);
      expected = (place < 0 ? expected : place) + 1;
    }
    const first = places.findIndex((place) => place >= 0);
    let before = first < 0 ? -1 : (places[first] ?? 0) - first - 1;
    return places.map((place) => {
      before = place < 0 ? before + 1 : place;
      return before;
    });
  }

  /**
   * The old position of an equal element, searched from the expected one on; -1 when there is none, or the search took
   * too long.
   */
  #find(old: readonly unknown[], item: unknown, expected: number): number {
    for (let nth = 0; nth < old.length && this.#left > 0; nth++) {
      const place = (expected + nth) % old.length;
      if (this.#isSame(old[place], item)) return place;
    }
    return -1;
  }

  /** Whether a stored value is shown as this JSON. */
  #isSame(stored: unknown, json: unknown): boolean {
    this.#left -= typeof json === 'string' ? 1 + json.length / TEXT : 1;
    if (this.#left < 0) return false;
    if (Array.isArray(stored)) {
      if (!Array.isArray(json) || json.length !== stored.length) return false;
      return stored.every((item, index) => this.#isSame(item, json[index]));
    }
    if (isPlain(stored)) return isPlain(json) && this.#hasSame(stored, json);
    return stored === json || (!isPlain(json) && !Array.isArray(json) && this.#shownAs(stored) === json);
  }

  #hasSame(stored: Members, json: Members): boolean {
    const names = Object.keys(stored);
    const others = Object.keys(json);
    this.#left -= names.length + others.length;
    if (names.length !== others.length) return false;
    return names.every((name) => Object.hasOwn(json, name) && this.#isSame(stored[name], json[name]));
  }

  #shownAs(stored: unknown): unknown {
    if (typeof stored !== 'object') return valueToWire(stored);
    const shown = this.#shown.get(stored) ?? valueToWire(stored);
    this.#shown.set(stored, shown);
    return shown;
  }
}
