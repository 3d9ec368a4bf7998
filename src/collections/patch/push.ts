/** `$push`: appends one value, or inserts several (`$each`) at a position, sorted, cut to a length. Pure. */
import { isPlainObject } from '../../lib/plain-object.ts';
import { compareValues } from '../../query/evaluate/bson-order.ts';
import type { PathChange } from './dotted-path.ts';
import { invalidPatch } from './patch-limits.ts';

const MODIFIERS = ['$each', '$position', '$sort', '$slice'];

interface Push {
  readonly values: readonly unknown[];
  readonly position: number | undefined;
  readonly sort: 1 | -1 | undefined;
  readonly slice: number | undefined;
}

/** Parses an operand of `$push`. The modifiers apply in MongoDB's order: insert, sort, cut. */
export function parsePush(operand: unknown): PathChange {
  const push = readPush(operand);
  return {
    creates: true,
    apply: (old) => {
      const before = old === undefined ? [] : old;
      if (!Array.isArray(before)) throw invalidPatch('the stored value is not an array');
      return pushed(before, push);
    },
  };
}

function readPush(operand: unknown): Push {
  if (!isPlainObject(operand) || !Object.keys(operand).some((key) => MODIFIERS.includes(key))) {
    return { values: [operand], position: undefined, sort: undefined, slice: undefined };
  }
  const unknown = Object.keys(operand).find((key) => !MODIFIERS.includes(key));
  if (unknown !== undefined) throw invalidPatch(`'${unknown}' is not one of ${MODIFIERS.join(', ')}`);
  const values = operand['$each'];
  if (!Array.isArray(values)) throw invalidPatch("'$each' is required and must be an array");
  return {
    values,
    position: integer(operand, '$position'),
    sort: direction(operand['$sort']),
    slice: integer(operand, '$slice'),
  };
}

function integer(operand: Record<string, unknown>, name: string): number | undefined {
  const value = operand[name];
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value))) return value;
  throw invalidPatch(`'${name}' is not a whole number`);
}

function direction(value: unknown): 1 | -1 | undefined {
  if (value === undefined || value === 1 || value === -1) return value;
  throw invalidPatch("'$sort' must be 1 or -1, and compares whole elements");
}

function pushed(before: readonly unknown[], { values, position, sort, slice }: Push): unknown[] {
  // A position beyond either end is that end, as in toSpliced; a negative one counts from the end.
  const inserted = before.toSpliced(position ?? before.length, 0, ...values);
  const sorted = sort === undefined ? inserted : inserted.toSorted((a, b) => compareValues(a, b) * sort);
  if (slice === undefined) return sorted;
  return slice < 0 ? sorted.slice(slice) : sorted.slice(0, slice);
}
