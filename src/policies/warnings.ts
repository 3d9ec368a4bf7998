/** Warnings, returned on saving, about a valid policy that probably does not do what was intended. Pure. */

import { clientPath } from '../query/field-paths.ts';
import { pathsInFilter } from '../query/filter.ts';
import { missingDollarHints } from '../query/parse/missing-dollar.ts';
import { type Policy, parsePolicy } from './policy.ts';
import type { PolicyRecord } from './policy-set.ts';

/** What `filter` can name in a policy for functions. */
const OF_A_FUNCTION: ReadonlySet<string> = new Set(['plugin', 'name', 'method']);

/** Sentences about the filter of a policy. @throws MillraceError `invalid-policy` */
export function policyWarnings({ id, policy }: PolicyRecord): readonly string[] {
  const parsed = parsePolicy(id, policy);
  return [...missingDollarHints(parsed.filter, clientPath), ...strangeToFunctions(parsed)];
}

/** Fields that a function does not have; in a policy for other resources too, those may have them. */
function strangeToFunctions({ resources, filter }: Policy): readonly string[] {
  if (resources.size > 1 || !resources.has('_functions')) return [];
  const strange = [...pathsInFilter(filter)].map(clientPath).filter((path) => !OF_A_FUNCTION.has(path));
  return strange.map((path) => `A function has no '${path}': 'filter' can use ${[...OF_A_FUNCTION].join(', ')}.`);
}
