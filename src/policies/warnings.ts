/**
 * What is probably not meant in a policy that is valid: told when it is saved. Pure. Not here: what is refused
 * (policy.ts, policy-set.ts).
 */
import { pathsOf } from '../query/filter.ts';
import { missingDollars } from '../query/parse/missing-dollar.ts';
import { writtenPath } from '../query/paths.ts';
import { type Policy, parsePolicy } from './policy.ts';
import type { WrittenPolicy } from './policy-set.ts';

/** What `where` can name in a policy for functions. */
const OF_A_FUNCTION: ReadonlySet<string> = new Set(['plugin', 'name', 'method']);

/** Sentences about the filter of a policy. @throws MillraceError `invalid-policy` */
export function warningsOf({ id, policy }: WrittenPolicy): readonly string[] {
  const parsed = parsePolicy(id, policy);
  return [...missingDollars(parsed.where, writtenPath), ...strangeToFunctions(parsed)];
}

/** Members that a function does not have; in a policy for other places too, those may have them. */
function strangeToFunctions({ collections, where }: Policy): readonly string[] {
  if (collections.size > 1 || !collections.has('functions')) return [];
  const strange = [...pathsOf(where)].map(writtenPath).filter((path) => !OF_A_FUNCTION.has(path));
  return strange.map((path) => `A function has no '${path}': 'where' can name ${[...OF_A_FUNCTION].join(', ')}.`);
}
