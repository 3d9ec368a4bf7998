/**
 * A filter as a function of a document in memory: the exact counterpart of the query that to-mongo writes, verified on
 * random documents. It does not read the database, and it does not matter where the document comes from. Documents are
 * expected as the reader of stored documents returns them (database/bson/stored-document.ts): Int32, Double, Long, Decimal128,
 * Binary and similar. Plain JavaScript numbers work as well where they are exact.
 */
import { evaluateWithCheckpoint, someCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { isArrayPosition, splitPath } from '../field-paths.ts';
import type { BsonTypeName, BsonValue, FieldTest, Filter } from '../filter.ts';
import { compilePattern } from '../text/pattern.ts';
import { textMatcher } from '../text/text-matcher.ts';
import {
  BSON_KIND,
  type BsonKind,
  bsonKindOf,
  compareValues,
  type EmbeddedDocument,
  isEmbeddedDocument,
  type ListFieldNames,
  precomputedFieldNames,
  stringOrSymbolText,
} from './bson-order.ts';
import { isBsonType } from './bson-types.ts';
import { isNaNValue } from './numbers.ts';

/** Whether a document passes. */
export type DocumentMatcher = (document: EmbeddedDocument) => boolean;

/** A test of one value; `undefined` is a missing one. */
type Query = (value: unknown) => boolean;

/** A test of a document, or of an array treated as one (its elements named "0", "1" …). */
type NodeMatch = (node: EmbeddedDocument | readonly unknown[]) => boolean;

/**
 * Compiles the filter once; the function can then test any number of documents. It throws TypeError for anything that
 * is not a document as the reader of stored documents returns it, at the top or on the way to a value: see {@link
 * kindOf}.
 */
export function compileMatcher(filter: Filter): DocumentMatcher {
  const match = compileFilter(filter);
  return (document) => {
    if (!isEmbeddedDocument(document)) throw new TypeError('Only a document can be tested');
    return match(document);
  };
}

function compileFilter(filter: Filter): NodeMatch {
  switch (filter.kind) {
    case 'and': {
      const all = filter.filters.map(compileFilter);
      return (node) => all.every((match) => match(node));
    }
    case 'or': {
      const any = filter.filters.map(compileFilter);
      return (node) => any.some((match) => match(node));
    }
    case 'nor': {
      const none = filter.filters.map(compileFilter);
      return (node) => !none.some((match) => match(node));
    }
    case 'field': {
      const request = compileField(splitPath(filter.path), filter.test);
      return (node) => evaluateWithCheckpoint(request, node);
    }
    default:
      return filter satisfies never;
  }
}

/** True if any value at the path passes; a negation applies to that complete result. */
function compileField(steps: readonly string[], test: FieldTest): NodeMatch {
  switch (test.op) {
    case 'not': {
      const all = test.tests.map((inner) => compileField(steps, inner));
      return (node) => !all.every((match) => match(node));
    }
    case 'all': {
      const each = test.values.map((value) => compileField(steps, { op: 'in', values: [value] }));
      return (node) => each.length > 0 && each.every((match) => match(node));
    }
    case 'exists': {
      const present = compileAnyValue(steps, { op: 'exists', exists: true }, true);
      return test.exists ? present : (node) => !present(node);
    }
    case 'size':
    case 'elem':
    case 'elemWhere':
      return compileAnyValue(steps, test, false);
    case 'in':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'type':
    case 'text':
    case 'regex':
      return compileAnyValue(steps, test, true);
    default:
      return test satisfies never;
  }
}

/** @param opens false for tests of an array as a whole, which are not applied to its elements */
function compileAnyValue(steps: readonly string[], test: FieldTest, opens: boolean): NodeMatch {
  const path: Path = { steps, opens, owners: steps.map(() => ({})) };
  const query = compileQuery(test);
  return (node) => someAt(node, path, 0, query);
}

interface Path {
  readonly steps: readonly string[];
  /** True if an array at the end of the path is opened: its elements are tested, and the array itself. */
  readonly opens: boolean;
  /** For each step, the object under which the progress in an array there is stored (cooperative-yield.ts). */
  readonly owners: readonly object[];
}

/** True if any value passes that the path, from step `at` on, reaches below a document. */
function someAt(node: EmbeddedDocument | readonly unknown[], path: Path, at: number, query: Query): boolean {
  const value = fieldOf(node, path.steps[at] ?? '');
  const isLast = at === path.steps.length - 1;
  if (Array.isArray(value)) {
    if (!isLast) return someInArray(value, path, at + 1, query);
    return (path.opens && someCooperatively(path, value, query)) || query(value);
  }
  if (isLast) return query(value);
  return isEmbeddedDocument(value) ? someAt(value, path, at + 1, query) : query(undefined);
}

/**
 * The same for an array with remaining steps. Its documents are searched, and an element whose position is the next
 * step is followed. A scalar element leads nowhere, not even to a missing value. An array that is named by its position
 * at the end of the path is not opened.
 */
function someInArray(array: readonly unknown[], path: Path, at: number, query: Query): boolean {
  const step = path.steps[at] ?? '';
  const below = (element: unknown): boolean => isEmbeddedDocument(element) && someAt(element, path, at, query);
  if (someCooperatively(path.owners[at] ?? path, array, below)) return true;
  if (!isArrayPosition(step) || Number(step) >= array.length) return false;
  const element = array[Number(step)];
  if (at === path.steps.length - 1) return query(element);
  if (Array.isArray(element)) return someInArray(element, path, at + 1, query);
  return isEmbeddedDocument(element) && someAt(element, path, at + 1, query);
}

function fieldOf(node: EmbeddedDocument | readonly unknown[], step: string): unknown {
  if (!isArray(node)) return Object.hasOwn(node, step) ? node[step] : undefined;
  return isArrayPosition(step) ? node[Number(step)] : undefined;
}

const isArray = (node: EmbeddedDocument | readonly unknown[]): node is readonly unknown[] => Array.isArray(node);

/** The test as a function of one single value. */
function compileQuery(test: FieldTest): Query {
  switch (test.op) {
    case 'in':
      return compileIn(test.values);
    case 'all': {
      const each = test.values.map((value) => compileIn([value]));
      return (value) => each.length > 0 && each.every((query) => query(value));
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return compileRange(test.op, test.value);
    case 'exists':
      return (value) => (value !== undefined) === test.exists;
    case 'type': {
      const kinds = new Set<BsonKind>(test.types.map((type) => KIND_OF_TYPE[type]));
      return (value) => kinds.has(bsonKindOf(value)) && !isBsonType(value, 'BSONSymbol');
    }
    case 'size':
      return (value) => Array.isArray(value) && value.length === test.size;
    case 'text': {
      const matches = textMatcher(test);
      return (value) => bsonKindOf(value) === BSON_KIND.string && matches(stringOrSymbolText(value));
    }
    case 'regex': {
      const pattern = compilePattern(test.pattern);
      return (value) => bsonKindOf(value) === BSON_KIND.string && pattern.test(stringOrSymbolText(value));
    }
    case 'not': {
      const all = test.tests.map(compileQuery);
      return (value) => !all.every((query) => query(value));
    }
    case 'elem': {
      const all = test.tests.map(compileQuery);
      const passes = (element: unknown): boolean => all.every((query) => query(element));
      return (value) => Array.isArray(value) && someCooperatively(all, value, passes);
    }
    case 'elemWhere': {
      const match = compileFilter(test.filter);
      const passes = (element: unknown): boolean => isNode(element) && match(element);
      return (value) => Array.isArray(value) && someCooperatively(match, value, passes);
    }
    default:
      return test satisfies never;
  }
}

const isNode = (value: unknown): value is EmbeddedDocument | readonly unknown[] =>
  Array.isArray(value) || isEmbeddedDocument(value);

const KIND_OF_TYPE: Readonly<Record<BsonTypeName, BsonKind>> = {
  string: BSON_KIND.string,
  number: BSON_KIND.number,
  boolean: BSON_KIND.boolean,
  object: BSON_KIND.object,
  array: BSON_KIND.array,
  null: BSON_KIND.null,
  date: BSON_KIND.date,
  objectId: BSON_KIND.objectId,
  binary: BSON_KIND.binary,
};

function compileIn(values: readonly BsonValue[]): Query {
  const texts = new Set(values.filter((value) => typeof value === 'string'));
  const others = values
    .filter((value) => typeof value !== 'string' && value !== null)
    .sort((a, b) => compareValues(a, b));
  const withNull = values.includes(null);
  const names = precomputedFieldNames(others);
  return (value) => {
    if (typeof value === 'string') return texts.has(value);
    if (value === undefined || value === null) return withNull;
    if (isBsonType(value, 'BSONSymbol')) return texts.has(value.value);
    return isAmong(others, value, names);
  };
}

/** @param sorted by `compareValues`, so that the search is fast: long lists are tested against long arrays */
function isAmong(sorted: readonly BsonValue[], value: unknown, names: ListFieldNames): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareValues(sorted[middle], value, names);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

/**
 * Only a value of the operand's own kind can be less or greater than it. NaN is neither less nor greater than another
 * number.
 */
function compileRange(op: 'gt' | 'gte' | 'lt' | 'lte', operand: BsonValue): Query {
  const kind = bsonKindOf(operand);
  const allowsEqual = op === 'gte' || op === 'lte';
  if (kind === BSON_KIND.null) return (value) => allowsEqual && (value === undefined || value === null);
  if (isNaNValue(operand)) return (value) => allowsEqual && isNaNValue(value);
  const sign = op === 'gt' || op === 'gte' ? 1 : -1;
  const names = precomputedFieldNames(operand);
  return (value) => {
    if (bsonKindOf(value) !== kind || (kind === BSON_KIND.number && isNaNValue(value))) return false;
    const order = compareValues(value, operand, names) * sign;
    return order > 0 || (allowsEqual && order === 0);
  };
}
