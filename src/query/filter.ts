/**
 * The typed tree of one filter: the conditions of lists, policies, subscriptions and triggers on a document, with
 * validated operands. Parsers build it (parse-short, parse-json), `bind` fills its variables, to-mongo and match
 * evaluate it. It is not a MongoDB filter document: no client input is ever passed to the driver as an operator.
 */
import type { Binary, Decimal128, Double, Int32, Long, ObjectId } from 'bson';

/** A BSON value. A plain number is a double or an int: MongoDB compares all numbers by their value. */
export type Scalar = null | boolean | number | string | Date | ObjectId | Int32 | Double | Long | Decimal128 | Binary;

/** A scalar, a list or an embedded document; `V` is what may replace a value (nothing, or a variable). */
export type GenericBsonValue<V> =
  | Scalar
  | V
  | readonly GenericBsonValue<V>[]
  | { readonly [key: string]: GenericBsonValue<V> };

/** A value without variables. */
export type BsonValue = GenericBsonValue<never>;

/** A name whose value is known only when the filter is bound: `$now-7d`, `$user.id`, `$user.claims.team`. */
export class Variable {
  /** `now`, `user.id`, `user.roles` or `user.claims.<path>`. */
  readonly name: string;
  /** Milliseconds added to `now`; 0 for every other name. */
  readonly offsetMs: number;

  constructor(name: string, offsetMs = 0) {
    this.name = name;
    this.offsetMs = offsetMs;
  }
}

/** The types that a filter can test for. */
export const BSON_TYPE_NAMES = [
  'string',
  'number',
  'boolean',
  'object',
  'array',
  'null',
  'date',
  'objectId',
  'binary',
] as const;

export type BsonTypeName = (typeof BSON_TYPE_NAMES)[number];

/**
 * One test of the values at a path. It passes when any value there passes, with arrays opened as MongoDB opens them.
 */
export type GenericFieldTest<V> =
  /** Equal to one of these. `null` also equals a missing value. `eq` is a list of one; an empty list never passes. */
  | { readonly op: 'in'; readonly values: readonly GenericBsonValue<V>[] }
  /** For each of these, some value is equal to it. An empty list never passes. */
  | { readonly op: 'all'; readonly values: readonly GenericBsonValue<V>[] }
  /** Ordered against a value of the same kind; values of another kind never pass. */
  | { readonly op: 'gt' | 'gte' | 'lt' | 'lte'; readonly value: GenericBsonValue<V> }
  | { readonly op: 'exists'; readonly exists: boolean }
  | { readonly op: 'type'; readonly types: readonly BsonTypeName[] }
  /** An array of exactly so many elements. */
  | { readonly op: 'size'; readonly size: number }
  /** A string with the text in that position; in `like` a `*` matches any characters. `fold`: ignore letter case. */
  | {
      readonly op: 'text';
      readonly how: 'contains' | 'startsWith' | 'endsWith' | 'like';
      readonly fold: boolean;
      readonly text: string | V;
    }
  /** A string that matches the pattern, which was checked to be safe. */
  | { readonly op: 'regex'; readonly pattern: string }
  /** Not all of these pass: the negation of the whole test, so a missing value may pass. */
  | { readonly op: 'not'; readonly tests: readonly GenericFieldTest<V>[] }
  /** An array one element of which passes all of these by itself. */
  | { readonly op: 'elem'; readonly tests: readonly GenericFieldTest<V>[] }
  /** An array one element of which, treated as a document, passes the filter. */
  | { readonly op: 'elemWhere'; readonly filter: GenericFilter<V> };

export type GenericFilter<V> =
  /** `and` of nothing is everything, `or` of nothing is nothing. */
  | { readonly kind: 'and' | 'or' | 'nor'; readonly filters: readonly GenericFilter<V>[] }
  /** `path` is the stored one (field-paths.ts): dotted, `_id` where the client writes `id`. */
  | { readonly kind: 'field'; readonly path: string; readonly test: GenericFieldTest<V> };

/** A filter without open variables, ready to be evaluated. */
export type Filter = GenericFilter<never>;
export type FieldTest = GenericFieldTest<never>;

/** A filter as written, with open variables; `bind` turns it into a `Filter`. Every `Filter` is one, too. */
export type UnboundFilter = GenericFilter<Variable>;
export type UnboundFieldTest = GenericFieldTest<Variable>;

/** The filter every document passes. */
export const matchAllFilter: Filter = { kind: 'and', filters: [] };

/** The filter no document passes. */
export const matchNoneFilter: Filter = { kind: 'or', filters: [] };

const isAll = (filter: UnboundFilter): boolean => filter.kind === 'and' && filter.filters.length === 0;
const isNone = (filter: UnboundFilter): boolean => filter.kind === 'or' && filter.filters.length === 0;

/**
 * Passes when all of the filters pass. Flat: a nested `and` is merged in, and filters that always pass are left out.
 */
export function and(filters: readonly Filter[]): Filter;
export function and(filters: readonly UnboundFilter[]): UnboundFilter;
export function and(filters: readonly UnboundFilter[]): UnboundFilter {
  const flat = filters.flatMap((filter) => (filter.kind === 'and' ? filter.filters : [filter]));
  if (flat.some(isNone)) return matchNoneFilter;
  const [only] = flat;
  if (only === undefined) return matchAllFilter;
  return flat.length === 1 ? only : { kind: 'and', filters: flat };
}

/** Passes when at least one of the filters passes. Flat as `and` is. */
export function or(filters: readonly Filter[]): Filter;
export function or(filters: readonly UnboundFilter[]): UnboundFilter;
export function or(filters: readonly UnboundFilter[]): UnboundFilter {
  const flat = filters.flatMap((filter) => (filter.kind === 'or' ? filter.filters : [filter]));
  if (flat.some(isAll)) return matchAllFilter;
  const [only] = flat;
  if (only === undefined) return matchNoneFilter;
  return flat.length === 1 ? only : { kind: 'or', filters: flat };
}

/**
 * Passes when the filter does not. For a single test it is the negated test, which the database can look up in an
 * index.
 */
export function not(filter: Filter): Filter;
export function not(filter: UnboundFilter): UnboundFilter;
export function not(filter: UnboundFilter): UnboundFilter {
  if (isAll(filter)) return matchNoneFilter;
  if (isNone(filter)) return matchAllFilter;
  if (filter.kind !== 'field') return { kind: 'nor', filters: [filter] };
  return { ...filter, test: { op: 'not', tests: [filter.test] } };
}

/** One test of one path. */
export function fieldFilter(path: string, test: FieldTest): Filter;
export function fieldFilter(path: string, test: UnboundFieldTest): UnboundFilter;
export function fieldFilter(path: string, test: UnboundFieldTest): UnboundFilter {
  return { kind: 'field', path, test };
}

/**
 * Every stored path that the filter tests, to check that all of them are readable: filtering must not reveal a hidden
 * field. Positions in arrays stay in the path (`a.0.b`): a caller that compares paths with field names leaves them out.
 */
export function pathsInFilter(filter: UnboundFilter): Set<string> {
  const paths = new Set<string>();
  forEachFieldTest(filter, (_test, path) => paths.add(path));
  return paths;
}

/**
 * Calls `visit` with every test of the filter and its stored path: an outer test before its inner ones, and a test
 * inside of `elemWhere` with the whole path.
 */
export function forEachFieldTest(filter: UnboundFilter, visit: (test: UnboundFieldTest, path: string) => void): void {
  visitFilter(filter, '', visit);
}

type Visit = Parameters<typeof forEachFieldTest>[1];

function visitFilter(filter: UnboundFilter, prefix: string, visit: Visit): void {
  if (filter.kind === 'field') visitTest(filter.test, prefix + filter.path, visit);
  else for (const inner of filter.filters) visitFilter(inner, prefix, visit);
}

function visitTest(test: UnboundFieldTest, path: string, visit: Visit): void {
  visit(test, path);
  switch (test.op) {
    case 'elemWhere':
      visitFilter(test.filter, `${path}.`, visit);
      return;
    case 'not':
    case 'elem':
      for (const inner of test.tests) visitTest(inner, path, visit);
      return;
    case 'in':
    case 'all':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
      return;
    default:
      test satisfies never;
  }
}
