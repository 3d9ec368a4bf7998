/**
 * `$pull`: removes the elements of an array that equal a value or meet a condition, which is written in the JSON form of
 * the query language. Pure.
 */
import { isPlain } from '../database/wire-values.ts';
import { bind } from '../query/bind.ts';
import { compileMatch } from '../query/match.ts';
import { parseFilterJson } from '../query/parse-json.ts';
import type { PathChange } from './dotted-path.ts';
import { invalidPatch } from './patch-bounds.ts';
import { sameJson } from './same-json.ts';

type Question = (element: unknown) => boolean;

/** Reads an operand of `$pull`. */
export function parsePull(operand: unknown): PathChange {
  const questionAt = toQuestion(operand);
  return {
    creates: false,
    apply: (old, now) => {
      if (!Array.isArray(old)) throw invalidPatch('the stored value is not an array');
      const taken = questionAt(now);
      const rest = old.filter((element) => !taken(element));
      return rest.length === old.length ? old : rest;
    },
  };
}

/**
 * A value asks for equality, `{"$gte":6}` for the element itself, `{"score":8}` for the members of elements that are
 * documents, in any order, as MongoDB has it.
 */
function toQuestion(operand: unknown): (now: Date) => Question {
  if (!isPlain(operand)) return () => (element) => sameJson(element, operand, { ordered: true });
  const [first = ''] = Object.keys(operand);
  const ofMembers = !first.startsWith('$') || LOGICAL.has(first);
  // Below $elemMatch the names are those of an element: its `id` is not the document's.
  const filter = parseFilterJson({ [WRAPPED]: ofMembers ? { $elemMatch: operand } : operand });
  return (now) => {
    const match = compileMatch(bind(filter, { now, user: null }).filter);
    if (!ofMembers) return (element) => match({ [WRAPPED]: element });
    return (element) => isPlain(element) && match({ [WRAPPED]: [element] });
  };
}

/** Where the language looks for an element that stands alone. */
const WRAPPED = 'element';
const LOGICAL: ReadonlySet<string> = new Set(['$and', '$or', '$nor']);
