/**
 * MongoDB's update operators, each as a pure function from its operand and the value at a path to the value after it.
 */
import {
  type ArithmeticOperator,
  addOrMultiply,
  toStoredNumber,
  zeroOfSameType,
} from '../../database/bson/arithmetic.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { compareValues, equalValues } from '../../query/evaluate/bson-order.ts';
import { sameJson } from '../write/json-equality.ts';
import { type PathChange, REMOVED_VALUE } from './dotted-path.ts';
import { invalidPatch } from './patch-limits.ts';
import { parsePull } from './pull.ts';
import { parsePush } from './push.ts';
import type { WorkingCopy } from './working-copy.ts';

/** Maximum comparisons of one `$addToSet`. */
const MAX_COMPARISONS = 1_000_000;

type ParseOperand = (operand: unknown) => PathChange;

const creating = (apply: PathChange['apply']): PathChange => ({ creates: true, apply });

export const UPDATE_OPERATORS: ReadonlyMap<string, ParseOperand> = new Map<string, ParseOperand>([
  ['$inc', (operand) => arithmetic('add', operand)],
  ['$mul', (operand) => arithmetic('multiply', operand)],
  ['$min', (operand) => extreme(operand, -1)],
  ['$max', (operand) => extreme(operand, 1)],
  ['$set', (operand) => creating((old, _now, draft) => draft.keeper.preserve(old, operand))],
  ['$unset', () => ({ creates: false, lenient: true, apply: () => REMOVED_VALUE })],
  ['$push', parsePush],
  ['$addToSet', parseAddToSet],
  ['$pull', parsePull],
  ['$currentDate', parseCurrentDate],
]);

function arithmetic(how: ArithmeticOperator, operand: unknown): PathChange {
  const by = typeof operand === 'number' ? toStoredNumber(operand) : null;
  if (by === null) throw invalidPatch('the operand is not a number');
  return creating((old) => {
    if (old === undefined) return how === 'add' ? by : zeroOfSameType(by);
    const number = toStoredNumber(old);
    if (number === null) throw invalidPatch('the stored value is not a number');
    const result = addOrMultiply(how, number, by);
    if (result === null) throw invalidPatch('the result does not fit into 64 bits');
    // If the new number equals the old one, the old one stays, as in MongoDB: 1.0 is not replaced by 1.00.
    return result.constructor === number.constructor && equalValues(result, number) ? old : result;
  });
}

/**
 * The smaller (`sign` -1) or larger (1) of the two in MongoDB's order of all values; if they are equal, the stored one.
 */
function extreme(operand: unknown, sign: -1 | 1): PathChange {
  return creating((old) => (old === undefined || compareValues(operand, old) * sign > 0 ? operand : old));
}

function parseAddToSet(operand: unknown): PathChange {
  const each = isPlainObject(operand) && Object.keys(operand)[0] === '$each' ? operand : null;
  const values: unknown = each === null ? [operand] : each['$each'];
  if (!Array.isArray(values) || (each !== null && Object.keys(each).length > 1)) {
    throw invalidPatch("'$each' must be an array and the only key");
  }
  return creating((old, _now, draft) => {
    const set = old === undefined ? [] : old;
    if (!Array.isArray(set)) throw invalidPatch('the stored value is not an array');
    if (values.length * (set.length + values.length) > MAX_COMPARISONS) {
      throw invalidPatch('there are too many values to compare at once', 'Send them in several requests');
    }
    countComparisons(set, values, draft);
    const added: unknown[] = [];
    for (const value of values) {
      const known = (item: unknown): boolean => sameJson(item, value, { ordered: true });
      if (!set.some(known) && !added.some(known)) added.push(value);
    }
    return old !== undefined && added.length === 0 ? old : [...set, ...added];
  });
}

/**
 * Comparing two values visits no more than the size of the smaller one, so comparing one value with all of them visits
 * each of them at most once.
 */
function countComparisons(set: unknown[], values: unknown[], draft: WorkingCopy): void {
  const all = draft.measure(set).cells + draft.measure(values).cells;
  for (const value of values) {
    draft.spendWork(Math.min(all, draft.measure(value).cells * (set.length + values.length)));
  }
}

function parseCurrentDate(operand: unknown): PathChange {
  const requested = isPlainObject(operand) && Object.keys(operand).length === 1 ? operand['$type'] : operand;
  if (requested !== true && requested !== 'date') throw invalidPatch('the operand must be true or {"$type":"date"}');
  return creating((_old, now) => now);
}
