/**
 * Keeps the stored BSON types in a change. If a client sends back a value exactly as it was read (a date as text, for
 * example), the stored value is kept. An array element is recognized even if it moved. Pure, on stored values.
 */
import { valueToWire } from '../../database/json/wire-values.ts';
import { isPlainObject } from '../../lib/plain-object.ts';

/**
 * Comparisons that one change may use to find moved elements. Without a bound, thousands of changed elements would take
 * long.
 */
const MAX_COMPARISONS = 500_000;
/** Comparing this many characters of a text counts as one comparison. */
const TEXT = 64;

type Fields = Readonly<Record<string, unknown>>;

/** State of one change of one document. */
export class BsonTypePreserver {
  #left = MAX_COMPARISONS;
  /**
   * JSON form of stored values, computed once each: a large binary takes long, and thousands of values may be compared
   * with it.
   */
  readonly #shown = new Map<unknown, unknown>();

  /** `next` as JSON, with the stored value wherever its JSON is the same. */
  preserve(old: unknown, next: unknown): unknown {
    if (Array.isArray(next)) return Array.isArray(old) ? this.#keepElements(old, next) : next;
    if (isPlainObject(next)) return isPlainObject(old) ? this.preserveFields(old, next) : next;
    return old !== undefined && !isPlainObject(old) && !Array.isArray(old) && this.#shownAs(old) === next ? old : next;
  }

  /** The same for all fields of `next`. */
  preserveFields(old: Fields, next: Fields): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null);
    for (const [name, value] of Object.entries(next)) {
      result[name] = this.preserve(Object.hasOwn(old, name) ? old[name] : undefined, value);
    }
    return result;
  }

  #keepElements(old: readonly unknown[], next: readonly unknown[]): unknown[] {
    const indexes = this.#indexesBefore(old, next);
    return next.map((item, index) => this.preserve(old[indexes[index] ?? index], item));
  }

  /**
   * For each new element, the old position to compare it with. An element without an equal old one was changed or is
   * new: it gets the position after that of the preceding element.
   */
  #indexesBefore(old: readonly unknown[], next: readonly unknown[]): readonly number[] {
    const indexes: number[] = [];
    let expected = 0;
    for (const item of next) {
      const index = this.#find(old, item, expected);
      indexes.push(index);
      expected = (index < 0 ? expected : index) + 1;
    }
    const first = indexes.findIndex((index) => index >= 0);
    let before = first < 0 ? -1 : (indexes[first] ?? 0) - first - 1;
    return indexes.map((index) => {
      before = index < 0 ? before + 1 : index;
      return before;
    });
  }

  /**
   * The old position of an equal element, searched from the expected position on; -1 when there is none, or when the
   * budget of comparisons is used up.
   */
  #find(old: readonly unknown[], item: unknown, expected: number): number {
    for (let nth = 0; nth < old.length && this.#left > 0; nth++) {
      const index = (expected + nth) % old.length;
      if (this.#isSame(old[index], item)) return index;
    }
    return -1;
  }

  /** Whether a stored value is sent to clients as this JSON. */
  #isSame(stored: unknown, json: unknown): boolean {
    this.#left -= typeof json === 'string' ? 1 + json.length / TEXT : 1;
    if (this.#left < 0) return false;
    if (Array.isArray(stored)) {
      if (!Array.isArray(json) || json.length !== stored.length) return false;
      return stored.every((item, index) => this.#isSame(item, json[index]));
    }
    if (isPlainObject(stored)) return isPlainObject(json) && this.#hasSame(stored, json);
    return stored === json || (!isPlainObject(json) && !Array.isArray(json) && this.#shownAs(stored) === json);
  }

  #hasSame(stored: Fields, json: Fields): boolean {
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
