/**
 * The condition of a filter by which its documents can be looked up instead of asking the whole filter: equality, the
 * beginning of a text, or a bound of a range. Pure. What a handle finds may turn out not to match; what matches is
 * always found.
 */
import { isBson } from '../../query/evaluate/bson-types.ts';
import { KIND, kindOf, textOf } from '../../query/evaluate/order.ts';
import type { Filter, Test } from '../../query/filter.ts';

export type IndexKey =
  /** Some value at the path has one of these keys. */
  | { readonly kind: 'values'; readonly path: string; readonly keys: readonly Key[] }
  /** Some text at the path begins so. */
  | { readonly kind: 'prefix'; readonly path: string; readonly prefix: string }
  /** Some number, or time in milliseconds, at the path is not below (or above) the bound. */
  | { readonly kind: 'above'; readonly path: string; readonly lane: BoundType; readonly bound: number }
  | { readonly kind: 'below'; readonly path: string; readonly lane: BoundType; readonly bound: number };

/** What values are looked up by: a number by itself, everything else as a text that begins with its kind. */
export type Key = string | number;

export type BoundType = 'number' | 'date';

/** Values that one condition may name and still be looked up. */
const MAX_VALUES = 20;
const MAX_PREFIX = 64;
const RANK = { values: 0, prefix: 1, above: 2, below: 2 } as const;

/** The best handle of a filter; null when it has none. */
export function indexKeyOfFilter(filter: Filter): IndexKey | null {
  if (filter.kind === 'and') {
    const found = filter.filters.map(indexKeyOfFilter).filter((handle) => handle !== null);
    return found.sort((a, b) => RANK[a.kind] - RANK[b.kind])[0] ?? null;
  }
  // A step that is a number may be a place in an array; looking that up is not worth its code.
  if (filter.kind !== 'field' || /(^|\.)\d+(\.|$)/.test(filter.path)) return null;
  return handleOfTest(filter.path, filter.test);
}

function handleOfTest(path: string, test: Test): IndexKey | null {
  switch (test.op) {
    case 'in': {
      const keys = test.values.map(keyOfValue).filter((key) => key !== null);
      if (keys.length !== test.values.length || keys.length > MAX_VALUES) return null;
      return { kind: 'values', path, keys: [...new Set(keys)] };
    }
    case 'text': {
      const { how, fold, text } = test;
      if (how !== 'startsWith' || fold || text === '') return null;
      return { kind: 'prefix', path, prefix: text.slice(0, MAX_PREFIX) };
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const kind = test.op.startsWith('g') ? 'above' : 'below';
      const lane = boundTypeOf(test.value);
      const bound = lane === null ? Number.NaN : numberOf(test.value);
      return lane === null || Number.isNaN(bound) ? null : { kind, path, lane, bound };
    }
    case 'all':
    case 'exists':
    case 'type':
    case 'size':
    case 'regex':
    case 'not':
    case 'elem':
    case 'elemWhere':
      return null;
    default:
      return test satisfies never;
  }
}

export function boundTypeOf(value: unknown): BoundType | null {
  const kind = kindOf(value);
  if (kind === KIND.number) return 'number';
  return kind === KIND.date ? 'date' : null;
}

/** Rounding to a double keeps the order, so bounds stay bounds. */
export function numberOf(value: unknown): number {
  if (typeof value === 'number') return value + 0;
  if (isBson(value, 'Int32') || isBson(value, 'Double')) return value.value + 0;
  return Number(isBson(value, 'Long') || isBson(value, 'Decimal128') ? value.toString() : value) + 0;
}

/** Equal values have equal keys; others may, too. Null for what is not looked up: null also means missing. */
export function keyOfValue(value: unknown): Key | null {
  switch (kindOf(value)) {
    case KIND.string:
      return `s${textOf(value)}`;
    case KIND.number:
      return numberOf(value);
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
