/** The groups whose index keys are about one path, indexed by the values that a document has at that path. */
import type { Document } from 'mongodb';
import { isEmbeddedDocument } from '../../query/evaluate/bson-order.ts';
import { splitPath } from '../../query/field-paths.ts';
import {
  type BoundType,
  boundTypeOf,
  type FilterIndexKey,
  type LookupKey,
  roundToDouble,
  toLookupKey,
} from './filter-index-key.ts';
import type { SubscriptionGroup } from './subscription-group.ts';

interface Bounded {
  readonly bound: number;
  readonly group: SubscriptionGroup;
}

/** Groups by a bound, in ascending order. */
class Bounds {
  readonly #list: Bounded[] = [];

  add(bound: number, group: SubscriptionGroup): void {
    this.#list.splice(this.#first(bound), 0, { bound, group });
  }

  remove(bound: number, group: SubscriptionGroup): void {
    for (let at = this.#first(bound); this.#list[at]?.bound === bound; at++) {
      if (this.#list[at]?.group !== group) continue;
      this.#list.splice(at, 1);
      return;
    }
  }

  /** Adds the groups whose bound is at most the value. */
  upTo(value: number, found: Set<SubscriptionGroup>): void {
    for (const { bound, group } of this.#list) {
      if (bound > value) return;
      found.add(group);
    }
  }

  /** Adds the groups whose bound is at least the value. */
  from(value: number, found: Set<SubscriptionGroup>): void {
    for (let at = this.#first(value); at < this.#list.length; at++) {
      const one = this.#list[at];
      if (one !== undefined) found.add(one.group);
    }
  }

  /** The first index in the list with a bound that is not below the value. */
  #first(value: number): number {
    let low = 0;
    let high = this.#list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#list[middle]?.bound ?? Number.POSITIVE_INFINITY) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * The smallest and the largest number, and date, that a document has at the path: if any value between them is within a
 * bound, one of these is, too.
 */
type Extremes = Record<BoundType, { least: number; most: number } | null>;

function widen(extremes: Extremes, boundType: BoundType, value: number): void {
  const known = extremes[boundType];
  // NaN, and a date beyond the range of dates: every group is evaluated.
  if (Number.isNaN(value)) extremes[boundType] = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
  else if (known === null) extremes[boundType] = { least: value, most: value };
  else if (value < known.least) known.least = value;
  else if (value > known.most) known.most = value;
}

export class FieldPathIndex {
  readonly #steps: readonly string[];
  readonly #byKey = new Map<LookupKey, Set<SubscriptionGroup>>();
  readonly #lengths = new Map<number, number>();
  readonly #above: Readonly<Record<BoundType, Bounds>> = { number: new Bounds(), date: new Bounds() };
  readonly #below: Readonly<Record<BoundType, Bounds>> = { number: new Bounds(), date: new Bounds() };
  #size = 0;

  constructor(path: string) {
    this.#steps = splitPath(path);
  }

  get size(): number {
    return this.#size;
  }

  add(indexKey: FilterIndexKey, group: SubscriptionGroup): void {
    this.#size += 1;
    if (indexKey.kind === 'above') this.#above[indexKey.boundType].add(indexKey.bound, group);
    else if (indexKey.kind === 'below') this.#below[indexKey.boundType].add(indexKey.bound, group);
    else for (const key of keysOf(indexKey)) this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(group));
    if (indexKey.kind === 'prefix') this.#count(indexKey.prefix.length, 1);
  }

  remove(indexKey: FilterIndexKey, group: SubscriptionGroup): void {
    this.#size -= 1;
    if (indexKey.kind === 'above') this.#above[indexKey.boundType].remove(indexKey.bound, group);
    else if (indexKey.kind === 'below') this.#below[indexKey.boundType].remove(indexKey.bound, group);
    else {
      for (const key of keysOf(indexKey)) {
        const groups = this.#byKey.get(key);
        groups?.delete(group);
        if (groups?.size === 0) this.#byKey.delete(key);
      }
    }
    if (indexKey.kind === 'prefix') this.#count(indexKey.prefix.length, -1);
  }

  /** Adds every group that a document affects, and perhaps some that it does not. */
  find(document: Document, found: Set<SubscriptionGroup>): void {
    const extremes: Extremes = { number: null, date: null };
    this.#findAt(document, 0, found, extremes);
    for (const boundType of ['number', 'date'] as const) {
      const known = extremes[boundType];
      if (known === null) continue;
      this.#above[boundType].upTo(known.most, found);
      this.#below[boundType].from(known.least, found);
    }
  }

  #count(length: number, by: number): void {
    const count = (this.#lengths.get(length) ?? 0) + by;
    if (count === 0) this.#lengths.delete(length);
    else this.#lengths.set(length, count);
  }

  #findAt(node: Document, at: number, found: Set<SubscriptionGroup>, extremes: Extremes): void {
    const step = this.#steps[at] ?? '';
    if (!Object.hasOwn(node, step)) return;
    const value: unknown = node[step];
    if (!Array.isArray(value)) this.#findIn(value, at, found, extremes);
    else for (const one of value) this.#findIn(one, at, found, extremes);
  }

  #findIn(value: unknown, at: number, found: Set<SubscriptionGroup>, extremes: Extremes): void {
    if (at < this.#steps.length - 1) {
      if (isEmbeddedDocument(value)) this.#findAt(value, at + 1, found, extremes);
      return;
    }
    const key = toLookupKey(value);
    if (key === null) return;
    this.#addOf(key, found);
    if (typeof key === 'number') widen(extremes, 'number', key);
    else if (boundTypeOf(value) === 'date') widen(extremes, 'date', roundToDouble(value));
    else if (key.startsWith('s')) {
      for (const length of this.#lengths.keys())
        if (key.length > length) this.#addOf(`p${key.slice(1, length + 1)}`, found);
    }
  }

  #addOf(key: LookupKey, found: Set<SubscriptionGroup>): void {
    const groups = this.#byKey.get(key);
    if (groups !== undefined) for (const group of groups) found.add(group);
  }
}

function keysOf(indexKey: Exclude<FilterIndexKey, { kind: 'above' | 'below' }>): readonly LookupKey[] {
  return indexKey.kind === 'values' ? indexKey.keys : [`p${indexKey.prefix}`];
}
