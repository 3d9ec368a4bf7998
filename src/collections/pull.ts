/** `$pull`: removes the elements of an array that equal a value. Pure. */
import { isPlain } from '../database/wire-values.ts';
import type { PathChange } from './dotted-path.ts';
import { invalidPatch } from './patch-bounds.ts';
import { sameJson } from './same-json.ts';

/** Reads an operand of `$pull`. */
export function parsePull(operand: unknown): PathChange {
  const taken = toQuestion(operand);
  return {
    creates: false,
    apply: (old) => {
      if (!Array.isArray(old)) throw invalidPatch('the stored value is not an array');
      const rest = old.filter((element) => !taken(element));
      return rest.length === old.length ? old : rest;
    },
  };
}

function toQuestion(operand: unknown): (element: unknown) => boolean {
  if (!isPlain(operand)) return (element) => sameJson(element, operand, { ordered: true });
  throw invalidPatch('objects as conditions are not possible yet');
}
