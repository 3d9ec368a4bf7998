/**
 * The index key of a filter: the one condition by which a document finds the filter without evaluating every filter. It
 * is an equality, a text prefix, or one bound of a range. A lookup may find filters that do not match the document; it
 * never misses one that does.
 */

import { BSON_KIND, bsonKindOf, stringOrSymbolText } from '../../query/evaluate/bson-order.ts';
import { isBsonType } from '../../query/evaluate/bson-types.ts';
import type { FieldTest, Filter } from '../../query/filter.ts';

export type FilterIndexKey =
  /** A value at the path has one of these keys. */
  | { readonly kind: 'values'; readonly path: string; readonly keys: readonly LookupKey[] }
  /** A text at the path begins with the prefix. */
  | { readonly kind: 'prefix'; readonly path: string; readonly prefix: string }
  /** A number, or a date in milliseconds, at the path is not below ('above') or not above ('below') the bound. */
  | { readonly kind: 'above'; readonly path: string; readonly boundType: BoundType; readonly bound: number }
  | { readonly kind: 'below'; readonly path: string; readonly boundType: BoundType; readonly bound: number };

/** The lookup key of a value: a number itself, every other value as a text that begins with its type. */
export type LookupKey = string | number;

export type BoundType = 'number' | 'date';

/** A condition with more values than this has no index key. */
const MAX_VALUES = 20;
const MAX_PREFIX = 64;
const RANK = { values: 0, prefix: 1, above: 2, below: 2 } as const;

/** The best index key of a filter; null without one. */
export function indexKeyOfFilter(filter: Filter): FilterIndexKey | null {
  if (filter.kind === 'and') {
    const found = filter.filters.map(indexKeyOfFilter).filter((indexKey) => indexKey !== null);
    return found.sort((a, b) => RANK[a.kind] - RANK[b.kind])[0] ?? null;
  }
  // A number in a path may be an array index. Such paths are rare, so they are not looked up.
  if (filter.kind !== 'field' || /(^|\.)\d+(\.|$)/.test(filter.path)) return null;
  return indexKeyOfTest(filter.path, filter.test);
}

function indexKeyOfTest(path: string, test: FieldTest): FilterIndexKey | null {
  switch (test.op) {
    case 'in': {
      const keys = test.values.map(toLookupKey).filter((key) => key !== null);
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
      const boundType = boundTypeOf(test.value);
      const bound = boundType === null ? Number.NaN : roundToDouble(test.value);
      return boundType === null || Number.isNaN(bound) ? null : { kind, path, boundType, bound };
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
  const kind = bsonKindOf(value);
  if (kind === BSON_KIND.number) return 'number';
  return kind === BSON_KIND.date ? 'date' : null;
}

/** Rounding to a double keeps the order, so bounds stay bounds. */
export function roundToDouble(value: unknown): number {
  if (typeof value === 'number') return value + 0;
  if (isBsonType(value, 'Int32') || isBsonType(value, 'Double')) return value.value + 0;
  return Number(isBsonType(value, 'Long') || isBsonType(value, 'Decimal128') ? value.toString() : value) + 0;
}

/**
 * Equal values have equal keys; different values may have equal keys, too. Null for types that are not looked up, such
 * as null itself, which also matches a missing field.
 */
export function toLookupKey(value: unknown): LookupKey | null {
  switch (bsonKindOf(value)) {
    case BSON_KIND.string:
      return `s${stringOrSymbolText(value)}`;
    case BSON_KIND.number:
      return roundToDouble(value);
    case BSON_KIND.boolean:
      return `b${value}`;
    case BSON_KIND.date:
      return `d${Number(value)}`;
    case BSON_KIND.objectId:
      return isBsonType(value, 'ObjectId') ? `o${value.toHexString()}` : null;
    default:
      return null;
  }
}
