/**
 * Operators without their `$`: `{"seq":{"gte":0}}` is a comparison with the object `{"gte":0}`, which is allowed and
 * hardly ever intended. Pure.
 */
import { isPlain } from '../../lib/plain-object.ts';
import { eachTest, type OpenFilter, type OpenTest } from '../filter.ts';
import { OPERATORS } from '../operators.ts';
import type { OpenValue } from '../parse-values.ts';

const NAMES: ReadonlySet<string> = new Set([...OPERATORS, 'not', 'elemMatch']);

/**
 * One sentence for each comparison with an object whose fields all have names of operators; no duplicates.
 * @param shown a stored path as clients write it
 */
export function missingDollars(filter: OpenFilter, shown: (path: string) => string): readonly string[] {
  const found = new Map<string, string>();
  eachTest(filter, (test, path) => {
    for (const value of operandsOf(test)) {
      const name = operatorIn(value);
      if (name !== null) found.set(path, name);
    }
  });
  return [...found].map(
    ([path, name]) =>
      `'${shown(path)}' is compared with an object that has the field '${name}'; an operator starts with $, as in {"$${name}":5}.`,
  );
}

/** The values that the test itself compares with; none for tests that contain other tests. */
function operandsOf(test: OpenTest): readonly OpenValue[] {
  switch (test.op) {
    case 'in':
    case 'all':
      return test.values;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return [test.value];
    case 'not':
    case 'elem':
    case 'elemWhere':
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
      return [];
    default:
      return test satisfies never;
  }
}

/** The first name of an object whose fields all have names of operators. */
function operatorIn(value: unknown): string | null {
  if (!isPlain(value)) return null;
  const [first, ...others] = Object.keys(value);
  return first !== undefined && [first, ...others].every((name) => NAMES.has(name)) ? first : null;
}
