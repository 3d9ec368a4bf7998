/**
 * The documents beyond a sort key, written as ranges for which the server has index bounds. A comparison by `$expr`
 * crosses types and can use an index, but it sees an array as a whole, not its elements, and a missing value not as
 * null. So each range selects documents without an array on the way to its keys. Documents with an array in a sort
 * field come from a separate range (the index interval that only arrays occupy; usually empty) and are then filtered by
 * the expression in key-expression.ts, which cannot use an index.
 */
import { Binary, type Document, MaxKey } from 'bson';
import { BSON_KIND, bsonKindOf } from '../evaluate/bson-order.ts';
import { keyBeyondExpression } from './key-expression.ts';
import { isDatabaseSortable, type Sort, type SortKeyValues } from './sort.ts';

/** Arrays sort after all objects and before all binary values. */
const LAST_OBJECT = { '\u{10ffff}': new MaxKey() };
const FIRST_BINARY = new Binary(Buffer.alloc(0), 0);

/**
 * Filter documents: a document is beyond the key (before it when `backwards`) if it matches one of them. Each is a
 * range of an index that begins with the sort's keys.
 */
export function sortKeyRanges(sort: Sort, values: SortKeyValues, backwards: boolean): readonly Document[] {
  // The database has no index for such a sort, and no path for its keys.
  if (!isDatabaseSortable(sort)) return [{ $expr: keyBeyondExpression(sort, values, backwards) }];
  const ranges: Document[] = [];
  const same: Document[] = [];
  for (const [index, { path, direction }] of sort.entries()) {
    const value = values[index];
    const beyond = (direction === 1) === backwards ? below(path, value) : above(path, value);
    // An id is never an array, and never missing.
    if (path === '_id') ranges.push(allOf([...same, beyond]));
    else {
      ranges.push(allOf([...same, beyond, notArrayAt(path)]));
      const rest = keyBeyondExpression(sort.slice(index), values.slice(index), backwards);
      ranges.push(allOf([...same, ...arrayAt(path), { $expr: rest }]));
    }
    // Only arrays have these keys, no single value does, and another range already covers arrays.
    if (value === undefined || bsonKindOf(value) === BSON_KIND.array) break;
    same.push(...equalTo(path, value));
  }
  return ranges;
}

function allOf(conditions: readonly Document[]): Document {
  const [only] = conditions;
  return only !== undefined && conditions.length === 1 ? only : { $and: conditions };
}

/** The key of an empty array, undefined, comes before null; of single values only MinKey comes before that. */
function above(path: string, value: unknown): Document {
  return value === undefined ? { [path]: { $not: { $type: ['minKey'] } } } : comparison(path, '$gt', value);
}

function below(path: string, value: unknown): Document {
  // An expression would find a missing value below null, although its key is null.
  if (value === undefined || value === null) return { [path]: { $type: ['minKey'] } };
  return comparison(path, '$lt', value);
}

function equalTo(path: string, value: unknown): Document[] {
  return value === null ? [{ [path]: null }, notArrayAt(path)] : [comparison(path, '$eq', value)];
}

function comparison(path: string, operator: '$lt' | '$gt' | '$eq', value: unknown): Document {
  return { $expr: { [operator]: [`$${path}`, { $literal: value }] } };
}

function notArrayAt(path: string): Document {
  return { $expr: { $not: [{ $isArray: [`$${path}`] }] } };
}

function arrayAt(path: string): Document[] {
  return [comparison(path, '$gt', LAST_OBJECT), comparison(path, '$lt', FIRST_BINARY)];
}
