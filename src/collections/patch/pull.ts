/**
 * `$pull`: removes the elements of an array that equal a value or match a condition in the JSON form of the query
 * language. Pure.
 */
import { isPlainObject } from '../../lib/plain-object.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { compileMatcher } from '../../query/evaluate/match.ts';
import { parseFilterJson } from '../../query/parse/parse-filter-json.ts';
import { compilePattern } from '../../query/text/pattern.ts';
import { sameJson } from '../write/json-equality.ts';
import type { PathChange } from './dotted-path.ts';
import { invalidPatch } from './patch-limits.ts';

type Query = (element: unknown) => boolean;

/** Parses an operand of `$pull`. */
export function parsePull(operand: unknown): PathChange {
  const queryAt = toQuery(operand);
  const weight = weigh(operand);
  return {
    creates: false,
    apply: (old, now, draft) => {
      if (!Array.isArray(old)) throw invalidPatch('the stored value is not an array');
      draft.request(weight, old);
      const taken = queryAt(now);
      const rest = old.filter((element) => !taken(element));
      return rest.length === old.length ? old : rest;
    },
  };
}

/**
 * A plain value is compared for equality. `{"$gte":6}` tests the element itself. `{"score":8}` tests the fields of
 * elements that are documents, in any order, as MongoDB does.
 */
function toQuery(operand: unknown): (now: Date) => Query {
  if (!isPlainObject(operand)) return () => (element) => sameJson(element, operand, { ordered: true });
  const [first = ''] = Object.keys(operand);
  const ofFields = !first.startsWith('$') || LOGICAL.has(first);
  // Inside `$elemMatch` the names are those of the element: its `id` is not the document's id.
  const filter = parseFilterJson({ [WRAPPED]: ofFields ? { $elemMatch: operand } : operand });
  return (now) => {
    const match = compileMatcher(bindVariables(filter, { now, user: null }).filter);
    if (!ofFields) return (element) => match({ [WRAPPED]: element });
    return (element) => isPlainObject(element) && match({ [WRAPPED]: [element] });
  };
}

/**
 * How many times a test may scan the whole content of an element. All the texts of a list are searched for in one pass.
 */
function weigh(operand: unknown): number {
  if (Array.isArray(operand)) {
    return operand.reduce((sum: number, item: unknown) => sum + (typeof item === 'string' ? 0 : weigh(item)), 1);
  }
  if (!isPlainObject(operand)) return 1;
  return Object.entries(operand).reduce((sum, [name, value]) => {
    return sum + (name === '$regex' && typeof value === 'string' ? weighPattern(value) : weigh(value));
  }, 1);
}

/** Measured in the worst case: larger patterns take longer for each of their instructions, up to a point. */
function weighPattern(pattern: string): number {
  const size = compilePattern(pattern).size;
  return 8 + (size * Math.min(size, 160)) / 16;
}

/** The field name under which a single element is tested. */
const WRAPPED = 'element';
const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);
