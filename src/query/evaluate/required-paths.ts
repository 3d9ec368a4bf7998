/**
 * The members without which a document cannot meet a filter. They explain why a filter found nothing. Pure. Not here:
 * all members that a filter looks at (`pathsOf` in filter.ts).
 */
import type { Filter } from '../filter.ts';
import { compileMatch } from './match.ts';

/**
 * The stored paths of the conditions that a document without members does not pass. What stands under `$nor` is left
 * out: documents without the member pass there. Of `$elemMatch`, only the path of the array is given.
 */
export function requiredPaths(filter: Filter): ReadonlySet<string> {
  if (filter.kind === 'field') return new Set(compileMatch(filter)({}) ? [] : [filter.path]);
  if (filter.kind === 'nor') return new Set();
  return new Set(filter.filters.flatMap((inner) => [...requiredPaths(inner)]));
}
