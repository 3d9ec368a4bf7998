/**
 * Operators that were written without their `$`: `{"seq":{"gte":0}}` is a comparison with the object `{"gte":0}`, which
 * is allowed and hardly ever meant. Pure. Not here: reading a filter (parse-json.ts).
 */
import { isPlain } from '../../kernel/objects.ts';
import type { OpenFilter, OpenTest } from '../filter.ts';
import { OPERATORS } from '../operators.ts';

const NAMES: ReadonlySet<string> = new Set([...OPERATORS, 'not', 'elemMatch']);

/**
 * One sentence for each comparison with an object whose members all have names of operators; none twice.
 * @param shown a stored path as clients write it
 */
export function missingDollars(filter: OpenFilter, shown: (path: string) => string): readonly string[] {
  const found = new Map<string, string>();
  inFilter(filter, '', found);
  return [...found].map(
    ([path, name]) =>
      `'${shown(path)}' is compared with an object that has the member '${name}'; an operator begins with $, as in {"$${name}":5}.`,
  );
}

function inFilter(filter: OpenFilter, prefix: string, found: Map<string, string>): void {
  if (filter.kind === 'field') inTest(filter.test, prefix + filter.path, found);
  else for (const inner of filter.filters) inFilter(inner, prefix, found);
}

function inTest(test: OpenTest, path: string, found: Map<string, string>): void {
  switch (test.op) {
    case 'in':
    case 'all':
      for (const value of test.values) inValue(value, path, found);
      return;
    case 'not':
    case 'elem':
      for (const inner of test.tests) inTest(inner, path, found);
      return;
    case 'elemWhere':
      inFilter(test.filter, `${path}.`, found);
      return;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      inValue(test.value, path, found);
      return;
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
      return;
    default:
      test satisfies never;
  }
}

function inValue(value: unknown, path: string, found: Map<string, string>): void {
  if (!isPlain(value)) return;
  const [first, ...others] = Object.keys(value);
  if (first === undefined || ![first, ...others].every((name) => NAMES.has(name))) return;
  found.set(path, first);
}
