/**
 * A filter as an aggregation expression, for what the database's filters cannot express: paths with escaped names. It
 * means what match.ts computes for a document in memory. An expression uses no index.
 */
import type { Document } from 'bson';
import { isArrayPosition, splitPath } from '../field-paths.ts';
import type { BsonTypeName, BsonValue, FieldTest, Filter } from '../filter.ts';
import { toServerPattern } from '../text/text-matcher.ts';
import { BSON_KIND, type BsonKind, bsonKindOf } from './bson-order.ts';
import { compileMatcher } from './match.ts';
import { isNaNValue } from './numbers.ts';

type Expression = Document | boolean;

/** A variable that contains a value, `$$ROOT` or `$$v3`. */
type Reference = string;

/** The expression, true for documents that pass. */
export function toExpression(filter: Filter): Expression {
  return ofFilter(filter, '$$ROOT', 0);
}

/** @param depth numbers the variables, so that inner ones have names of their own */
function ofFilter(filter: Filter, node: Reference, depth: number): Expression {
  switch (filter.kind) {
    case 'and':
      return { $and: filter.filters.map((inner) => ofFilter(inner, node, depth)) };
    case 'or':
      return { $or: filter.filters.map((inner) => ofFilter(inner, node, depth)) };
    case 'nor':
      return { $and: filter.filters.map((inner) => ({ $not: [ofFilter(inner, node, depth)] })) };
    case 'field':
      return ofField(splitPath(filter.path), filter.test, node, depth);
    default:
      return filter satisfies never;
  }
}

function ofField(steps: readonly string[], test: FieldTest, node: Reference, depth: number): Expression {
  switch (test.op) {
    case 'not':
      return { $not: [{ $and: test.tests.map((inner) => ofField(steps, inner, node, depth)) }] };
    case 'all':
      if (test.values.length === 0) return false;
      return { $and: test.values.map((value) => ofField(steps, { op: 'in', values: [value] }, node, depth)) };
    case 'exists': {
      const exists = anyValue(steps, { op: 'exists', exists: true }, node, depth);
      return test.exists ? exists : { $not: [exists] };
    }
    case 'in':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
    case 'elem':
    case 'elemWhere':
      return anyValue(steps, test, node, depth);
    default:
      return test satisfies never;
  }
}

interface Path {
  readonly steps: readonly string[];
  readonly test: FieldTest;
  /** True if an array at the end of the path is opened: its elements are tested, and the array itself. */
  readonly opens: boolean;
  /** Whether a missing value passes. */
  readonly missing: boolean;
}

/** True if any value passes that the path reaches below a document, or below an array treated as one. */
function anyValue(steps: readonly string[], test: FieldTest, node: Reference, depth: number): Expression {
  const opens = test.op !== 'size' && test.op !== 'elem' && test.op !== 'elemWhere';
  const missing = compileMatcher({ kind: 'field', path: 'a', test })({});
  const [step = ''] = steps;
  const field = getFieldExpression(node, step);
  const element = isArrayPosition(step) ? { $arrayElemAt: [node, Number(step)] } : '$$REMOVE';
  const value = node === '$$ROOT' ? field : { $cond: [{ $isArray: [node] }, element, field] };
  const name = `v${depth}`;
  return {
    $let: { vars: { [name]: value }, in: passes(`$$${name}`, null, 0, { steps, test, opens, missing }, depth + 1) },
  };
}

/** A field of a document, whatever its name. */
export function getFieldExpression(document: Reference, name: string): Document {
  return { $getField: { field: { $literal: name }, input: document } };
}

const typeIs = (value: Reference, ...types: readonly string[]): Document => ({ $in: [{ $type: value }, types] });

/**
 * Whether the value that step `at` leads to passes, or one that the rest of the path reaches below it.
 * @param placed whether the value is an element that the path names by its position, as an expression; null for no
 */
function passes(value: Reference, placed: Reference | null, at: number, path: Path, depth: number): Expression {
  if (at === path.steps.length - 1) return endPasses(value, placed, path, depth);
  const step = path.steps[at + 1] ?? '';
  const [node, next, one] = [`n${depth}`, `v${depth}`, `i${depth}`];
  const elements = { $filter: { input: value, as: node, cond: typeIs(`$$${node}`, 'object') } };
  const nodes = { $cond: [{ $isArray: [value] }, elements, { $cond: [typeIs(value, 'object'), [value], []] }] };
  const field = getFieldExpression(`$$${node}`, step);
  const below = isArrayPosition(step)
    ? anyOf(
        {
          $concatArrays: [
            { $map: { input: nodes, as: node, in: { v: field, p: false } } },
            placedAt(value, Number(step)),
          ],
        },
        one,
        passes(`$$${one}.v`, `$$${one}.p`, at + 1, path, depth + 1),
      )
    : anyOf(nodes, node, {
        $let: { vars: { [next]: field }, in: passes(`$$${next}`, null, at + 1, path, depth + 1) },
      });
  if (!path.missing) return below;
  // A single value leads to a missing one; an element named by its position leads nowhere.
  const leads = { $not: [typeIs(value, 'object', 'array')] };
  return { $or: [placed === null ? leads : { $and: [leads, { $not: [placed] }] }, below] };
}

/** The element at a position, as a list that is empty where the array ends before it. */
function placedAt(value: Reference, position: number): Document {
  const isThere = { $cond: [{ $isArray: [value] }, { $gt: [{ $size: value }, position] }, false] };
  return { $cond: [isThere, [{ v: { $arrayElemAt: [value, position] }, p: true }], []] };
}

function endPasses(value: Reference, placed: Reference | null, path: Path, depth: number): Expression {
  const { test, opens, missing } = path;
  if (!opens) return query(value, test, depth);
  const name = `v${depth}`;
  const isOpened = placed === null ? { $isArray: [value] } : { $and: [{ $isArray: [value] }, { $not: [placed] }] };
  const values = { $cond: [isOpened, { $concatArrays: [value, [value]] }, [value]] };
  return { $cond: [typeIs(value, 'missing'), missing, anyOf(values, name, query(`$$${name}`, test, depth + 1))] };
}

function anyOf(list: Document, as: string, condition: Expression): Document {
  return { $anyElementTrue: [{ $map: { input: list, as, in: condition } }] };
}

/** The test of one value. */
function query(value: Reference, test: FieldTest, depth: number): Expression {
  switch (test.op) {
    case 'in':
      return isIn(value, test.values);
    case 'all':
      return { $and: [test.values.length > 0, ...test.values.map((one) => isIn(value, [one]))] };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return inRange(value, test.op, test.value);
    case 'exists':
      return { $eq: [{ $ne: [{ $type: value }, 'missing'] }, test.exists] };
    case 'type':
      return typeIs(value, ...test.types.flatMap((type) => NAMES_OF_TYPE[type]));
    case 'size':
      return { $cond: [{ $isArray: [value] }, { $eq: [{ $size: value }, test.size] }, false] };
    case 'text':
    case 'regex':
      return ofText(value, (text) => ({ $regexMatch: { input: text, regex: { $literal: toServerPattern(test) } } }));
    case 'not':
      return { $not: [{ $and: test.tests.map((inner) => query(value, inner, depth)) }] };
    case 'elem': {
      const name = `v${depth}`;
      const each = { $and: test.tests.map((inner) => query(`$$${name}`, inner, depth + 1)) };
      return { $cond: [{ $isArray: [value] }, anyOf({ $ifNull: [value, []] }, name, each), false] };
    }
    case 'elemWhere': {
      const name = `v${depth}`;
      const element = ofFilter(test.filter, `$$${name}`, depth + 1);
      const each = { $cond: [typeIs(`$$${name}`, 'object', 'array'), element, false] };
      return { $cond: [{ $isArray: [value] }, anyOf({ $ifNull: [value, []] }, name, each), false] };
    }
    default:
      return test satisfies never;
  }
}

const NUMBERS = ['int', 'long', 'double', 'decimal'];
const TEXTS = ['string', 'symbol'];

const NAMES_OF_TYPE: Readonly<Record<BsonTypeName, readonly string[]>> = {
  string: ['string'],
  number: NUMBERS,
  boolean: ['bool'],
  object: ['object'],
  array: ['array'],
  null: ['null'],
  date: ['date'],
  objectId: ['objectId'],
  binary: ['binData'],
};

/** The names of the types that are ordered together. */
const NAMES_OF_KIND: Readonly<Partial<Record<BsonKind, readonly string[]>>> = {
  [BSON_KIND.number]: NUMBERS,
  [BSON_KIND.string]: TEXTS,
  [BSON_KIND.boolean]: ['bool'],
  [BSON_KIND.object]: ['object'],
  [BSON_KIND.array]: ['array'],
  [BSON_KIND.date]: ['date'],
  [BSON_KIND.objectId]: ['objectId'],
  [BSON_KIND.binary]: ['binData'],
};

function isIn(value: Reference, values: readonly BsonValue[]): Document {
  const others = values.filter((one) => one !== null);
  const isOther = { $in: [value, { $literal: others }] };
  return values.includes(null) ? { $or: [typeIs(value, 'null', 'undefined', 'missing'), isOther] } : isOther;
}

function inRange(value: Reference, op: 'gt' | 'gte' | 'lt' | 'lte', operand: BsonValue): Expression {
  const kind = bsonKindOf(operand);
  const allowsEqual = op === 'gte' || op === 'lte';
  if (kind === BSON_KIND.null) return allowsEqual && typeIs(value, 'null', 'undefined', 'missing');
  const isKind = typeIs(value, ...(NAMES_OF_KIND[kind] ?? []));
  const isNotNumber = { $eq: [value, { $literal: Number.NaN }] };
  if (isNaNValue(operand)) return allowsEqual && isNotNumber;
  const compared = { [`$${op}`]: [value, { $literal: operand }] };
  return { $and: kind === BSON_KIND.number ? [isKind, { $not: [isNotNumber] }, compared] : [isKind, compared] };
}

/** A condition on a value that is a text, including symbols; false for others. */
function ofText(value: Reference, condition: (text: Document | Reference) => Document): Document {
  const symbol = { $substrBytes: [value, 0, -1] };
  const ofSymbol = { $cond: [typeIs(value, 'symbol'), condition(symbol), false] };
  return { $cond: [typeIs(value, 'string'), condition(value), ofSymbol] };
}
