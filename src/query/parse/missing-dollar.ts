/**
 * Operators without their `$`: `{"seq":{"gte":0}}` is a comparison with the object `{"gte":0}`, which is allowed and
 * hardly ever intended. Pure.
 */
import { isPlainObject } from '../../lib/plain-object.ts';
import { forEachFieldTest, type UnboundFieldTest, type UnboundFilter } from '../filter.ts';
import { FILTER_OPERATORS } from '../filter-operators.ts';
import type { UnboundValue } from '../parse-values.ts';

const NAMES: ReadonlySet<string> = new Set([...FILTER_OPERATORS, 'not', 'elemMatch']);

/**
 * One sentence for each comparison with an object whose fields all have names of operators; no duplicates.
 * @param shown a stored path as clients write it
 */
export function missingDollarHints(filter: UnboundFilter, shown: (path: string) => string): readonly string[] {
  const found = new Map<string, string>();
  forEachFieldTest(filter, (test, path) => {
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
function operandsOf(test: UnboundFieldTest): readonly UnboundValue[] {
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
  if (!isPlainObject(value)) return null;
  const [first, ...others] = Object.keys(value);
  return first !== undefined && [first, ...others].every((name) => NAMES.has(name)) ? first : null;
}
