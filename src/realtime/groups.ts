/**
 * The groups of one collection, found by the values of a changed document: a group that asks for equality on a field is
 * looked up by the value, only the others are asked one by one.
 */
import type { Document } from 'mongodb';
import { isBson } from '../query/bson-types.ts';
import type { Filter, Scalar, Value } from '../query/filter.ts';
import { isMembers, KIND, kindOf, membersOf, textOf } from '../query/order.ts';
import type { Group } from './group.ts';
import type { RowView } from './row-view.ts';

/** Values that one condition may name and still be looked up. */
const MAX_VALUES = 20;

export interface Equality {
  readonly path: string;
  /** As `valueKey` writes them. */
  readonly values: readonly string[];
}

export class Groups {
  readonly #others = new Set<Group>();
  readonly #byPath = new Map<string, Map<string, Set<Group>>>();
  readonly #places = new Map<Group, Equality | null>();

  get size(): number {
    return this.#places.size;
  }

  all(): Iterable<Group> {
    return this.#places.keys();
  }

  add(group: Group): void {
    const place = group.equality;
    this.#places.set(group, place);
    if (place === null) {
      this.#others.add(group);
      return;
    }
    const byValue = this.#byPath.get(place.path) ?? new Map<string, Set<Group>>();
    this.#byPath.set(place.path, byValue);
    for (const value of place.values) {
      const groups = byValue.get(value) ?? new Set();
      byValue.set(value, groups.add(group));
    }
  }

  remove(group: Group): void {
    const place = this.#places.get(group);
    this.#places.delete(group);
    this.#others.delete(group);
    if (!place) return;
    const byValue = this.#byPath.get(place.path);
    for (const value of place.values) {
      const groups = byValue?.get(value);
      groups?.delete(group);
      if (groups?.size === 0) byValue?.delete(value);
    }
    if (byValue?.size === 0) this.#byPath.delete(place.path);
  }

  /** The groups that a row may concern; some of them may turn out not to be. */
  concerned(view: RowView): Iterable<Group> {
    const { row } = view;
    // Without a state before nobody knows what the document was equal to.
    if (row.key === null || (row.before === null && row.operation !== 'insert')) return this.#places.keys();
    if (this.#byPath.size === 0) return this.#others;
    const found = new Set(this.#others);
    for (const [path, byValue] of this.#byPath) {
      const steps = path.split('.');
      for (const state of [view.before, view.after]) {
        if (state === null) continue;
        for (const key of valuesAt(state, steps, 0)) for (const group of byValue.get(key) ?? []) found.add(group);
      }
    }
    return found;
  }
}

/** A condition of the filter by which its matches can be looked up; null when there is none. */
export function equalityOf(filter: Filter): Equality | null {
  if (filter.kind === 'and') {
    for (const inner of filter.filters) {
      const found = equalityOf(inner);
      if (found !== null) return found;
    }
    return null;
  }
  if (filter.kind !== 'field' || filter.test.op !== 'in' || filter.test.values.length > MAX_VALUES) return null;
  // A step that is a number may be a place in an array; looking that up is not worth its code.
  if (/(^|\.)\d+(\.|$)/.test(filter.path)) return null;
  const values = filter.test.values.map(keyOfValue);
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? { path: filter.path, values: [...new Set(known)] } : null;
}

/** Equal values have equal keys; others may, too. Null for what is not looked up: null also means missing. */
function keyOfValue(value: Value | Scalar | unknown): string | null {
  const kind = kindOf(value);
  switch (kind) {
    case KIND.string:
      return `s${textOf(value)}`;
    case KIND.number:
      return `n${numberOf(value)}`;
    case KIND.boolean:
      return `b${value}`;
    case KIND.date:
      return `d${Number(value)}`;
    case KIND.objectId:
      return isBson(value, 'ObjectId') ? `o${value.toHexString()}` : null;
    default:
      return null;
  }
}

function numberOf(value: unknown): number {
  if (isBson(value, 'Int32') || isBson(value, 'Double')) return value.value + 0;
  return Number(isBson(value, 'Long') || isBson(value, 'Decimal128') ? value.toString() : value) + 0;
}

function* valuesAt(node: Document, steps: readonly string[], at: number): Generator<string> {
  const step = steps[at] ?? '';
  if (!Object.hasOwn(node, step)) return;
  const value: unknown = node[step];
  const values: unknown[] = Array.isArray(value) ? value : [value];
  for (const one of values) {
    if (at < steps.length - 1) {
      if (isMembers(one)) yield* valuesAt(membersOf(one), steps, at + 1);
      continue;
    }
    const key = keyOfValue(one);
    if (key !== null) yield key;
  }
}
