/**
 * Writes a filter as the MongoDB filter document with the same meaning. All its operators come from this file; values
 * from clients are only where the server expects values. Its counterpart for a document in memory is match.ts.
 */
import type { Document } from 'bson';
import type { BsonTypeName, BsonValue, FieldTest, Filter } from '../filter.ts';
import { toServerPattern } from '../text/text-matcher.ts';
import { needsExpression } from './expression-size.ts';
import { toExpression } from './to-expression.ts';

const TYPE_ALIASES: Readonly<Record<BsonTypeName, string>> = {
  string: 'string',
  number: 'number',
  boolean: 'bool',
  object: 'object',
  array: 'array',
  null: 'null',
  date: 'date',
  objectId: 'objectId',
  binary: 'binData',
};

/** The filter document, for `find`, `$match` and writes by filter. */
export function toMongoFilter(filter: Filter): Document {
  switch (filter.kind) {
    case 'field':
      if (needsExpression(filter)) return { $expr: toExpression(filter) };
      if (filter.test.op === 'not' && requestsTextsApart(filter.test.tests)) {
        const { path, test } = filter;
        return { $nor: [{ $and: test.tests.map((inner) => toMongoFilter({ kind: 'field', path, test: inner })) }] };
      }
      return { [filter.path]: allOf([filter.test]) };
    case 'and':
      return filter.filters.length === 0 ? {} : { $and: filter.filters.map(toMongoFilter) };
    case 'or':
      return filter.filters.length === 0 ? { _id: { $in: [] } } : { $or: filter.filters.map(toMongoFilter) };
    case 'nor':
      return filter.filters.length === 0 ? {} : { $nor: filter.filters.map(toMongoFilter) };
    default:
      return filter satisfies never;
  }
}

/**
 * Whether several texts are searched for below a negation: each may occur in another element of an array, and one
 * pattern for all of them would require a single element.
 */
function requestsTextsApart(tests: readonly FieldTest[]): boolean {
  const texts = tests.filter(({ op }) => op === 'text' || op === 'regex');
  return texts.length > 1 || tests.some((test) => test.op === 'not' && requestsTextsApart(test.tests));
}

/**
 * The operators that match when all of the tests do. An object has each operator once, so tests of one kind are merged:
 * of two patterns both must match, and a value in neither of two lists is in none of both together.
 */
function allOf(tests: readonly FieldTest[]): Document {
  const operators: Document = {};
  const patterns: string[] = [];
  const notPatterns: string[] = [];
  let notIn: readonly BsonValue[] | null = null;
  for (const test of tests) {
    const [negated] = test.op === 'not' && test.tests.length === 1 ? test.tests : [];
    if (test.op === 'text' || test.op === 'regex') patterns.push(toServerPattern(test));
    else if (negated?.op === 'text' || negated?.op === 'regex') notPatterns.push(toServerPattern(negated));
    else if (negated?.op === 'in') notIn = [...(notIn ?? []), ...negated.values];
    else add(operators, operatorOf(test));
  }
  if (patterns.length > 0) add(operators, { $regex: bothOf(patterns) });
  if (notPatterns.length > 0) add(operators, { $not: { $regex: eitherOf(notPatterns) } });
  if (notIn !== null) add(operators, notIn.length === 1 ? { $ne: notIn[0] } : { $nin: notIn });
  return operators;
}

function add(operators: Document, more: Document): void {
  for (const [name, operand] of Object.entries(more)) {
    // `$eq` and `$in` are the same test, and a list may contain both.
    const free = name === '$eq' && name in operators ? '$in' : name;
    if (free in operators) throw new TypeError(`Two tests of one element both need ${name}`);
    operators[free] = free === name ? operand : [operand];
  }
}

function operatorOf(test: FieldTest): Document {
  switch (test.op) {
    case 'in':
      return test.values.length === 1 ? { $eq: test.values[0] } : { $in: test.values };
    case 'all':
      return { $all: test.values };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { [`$${test.op}`]: test.value };
    case 'exists':
      return { $exists: test.exists };
    case 'type':
      return { $type: test.types.map((type) => TYPE_ALIASES[type]) };
    case 'size':
      return { $size: test.size };
    case 'text':
    case 'regex':
      return { $regex: toServerPattern(test) };
    case 'not':
      return { $not: allOf(test.tests) };
    case 'elem':
      return { $elemMatch: allOf(test.tests) };
    case 'elemWhere':
      return { $elemMatch: toMongoFilter(test.filter) };
    default:
      return test satisfies never;
  }
}

function bothOf(patterns: readonly string[]): string {
  const [only = ''] = patterns;
  return patterns.length === 1 ? only : `^${patterns.map((pattern) => `(?=(?s:.*?)(?:${pattern}))`).join('')}`;
}

function eitherOf(patterns: readonly string[]): string {
  const [only = ''] = patterns;
  return patterns.length === 1 ? only : patterns.map((pattern) => `(?:${pattern})`).join('|');
}
