/**
 * `$pull`: removes the elements of an array that equal a value or meet a condition, which is written in the JSON form of
 * the query language. Pure.
 */
import { isPlain } from '../../kernel/objects.ts';
import { bind } from '../../query/evaluate/bind.ts';
import { compileMatch } from '../../query/evaluate/match.ts';
import { parseFilterJson } from '../../query/parse/parse-json.ts';
import { compilePattern } from '../../query/text/pattern.ts';
import { sameJson } from '../change/same-json.ts';
import type { PathChange } from './dotted-path.ts';
import { invalidPatch } from './patch-bounds.ts';

type Question = (element: unknown) => boolean;

/** Reads an operand of `$pull`. */
export function parsePull(operand: unknown): PathChange {
  const questionAt = toQuestion(operand);
  const weight = weigh(operand);
  return {
    creates: false,
    apply: (old, now, draft) => {
      if (!Array.isArray(old)) throw invalidPatch('the stored value is not an array');
      draft.ask(weight, old);
      const taken = questionAt(now);
      const rest = old.filter((element) => !taken(element));
      return rest.length === old.length ? old : rest;
    },
  };
}

/**
 * A plain value is compared for equality. `{"$gte":6}` tests the element itself. `{"score":8}` tests the members of
 * elements that are documents, in any order, as MongoDB does.
 */
function toQuestion(operand: unknown): (now: Date) => Question {
  if (!isPlain(operand)) return () => (element) => sameJson(element, operand, { ordered: true });
  const [first = ''] = Object.keys(operand);
  const ofMembers = !first.startsWith('$') || LOGICAL.has(first);
  // Inside `$elemMatch` the names are those of the element: its `id` is not the document's id.
  const filter = parseFilterJson({ [WRAPPED]: ofMembers ? { $elemMatch: operand } : operand });
  return (now) => {
    const match = compileMatch(bind(filter, { now, user: null }).filter);
    if (!ofMembers) return (element) => match({ [WRAPPED]: element });
    return (element) => isPlain(element) && match({ [WRAPPED]: [element] });
  };
}

/**
 * How many times a test may look through everything that an element holds. All the texts of a list are searched for in
 * one pass.
 */
function weigh(operand: unknown): number {
  if (Array.isArray(operand)) {
    return operand.reduce((sum: number, item: unknown) => sum + (typeof item === 'string' ? 0 : weigh(item)), 1);
  }
  if (!isPlain(operand)) return 1;
  return Object.entries(operand).reduce((sum, [name, value]) => {
    return sum + (name === '$regex' && typeof value === 'string' ? weighPattern(value) : weigh(value));
  }, 1);
}

/** Measured in the worst case: larger patterns take longer for each of their instructions, up to a point. */
function weighPattern(pattern: string): number {
  const size = compilePattern(pattern).size;
  return 8 + (size * Math.min(size, 160)) / 16;
}

/** The member name under which a single element is tested. */
const WRAPPED = 'element';
const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);
