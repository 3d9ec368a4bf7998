/** The fields without which a document cannot match a filter. They explain why a filter matches nothing. Pure. */
import type { Filter } from '../filter.ts';
import { compileMatcher } from './match.ts';

/**
 * The stored paths of the conditions that a document without fields does not pass. Paths under `$nor` are left out:
 * documents without the field pass there. Of `$elemMatch`, only the path of the array is included.
 */
export function requiredPaths(filter: Filter): ReadonlySet<string> {
  if (filter.kind === 'field') return new Set(compileMatcher(filter)({}) ? [] : [filter.path]);
  if (filter.kind === 'nor') return new Set();
  return new Set(filter.filters.flatMap((inner) => [...requiredPaths(inner)]));
}
