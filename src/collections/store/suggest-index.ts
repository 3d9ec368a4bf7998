/** The index that would serve a query: the fields that must equal a value, then the sort, then one range. Pure. */

import { clientPath, isArrayPosition, isEscapedPath } from '../../query/field-paths.ts';
import type { Filter } from '../../query/filter.ts';
import type { Sort } from '../../query/page/sort.ts';

/** Maximum fields of an index, as for those created over HTTP. */
const MAX_FIELDS = 8;

/** Fields of an index in their order, except that those of `equal` may be in any order. */
export interface SuggestedIndex {
  /** Stored paths of fields that must equal a value. */
  readonly equal: readonly string[];
  /** Without the id at the end. */
  readonly rest: Sort;
}

/**
 * @param filter the client's filter, without the filter of its Scope: the client learns the fields of the index
 * @returns null when no index would help, as for a query by id or for a text within a text
 */
export function suggestIndex(filter: Filter, sort: Sort): SuggestedIndex | null {
  const used = (filter.kind === 'and' ? filter.filters : [filter]).flatMap(usesOf);
  const equal = [...new Set(used.flatMap(({ path, isRange }) => (isRange ? [] : [path])))];
  if (equal.includes('_id')) return null;
  const keys = sort.filter(({ path }) => path !== '_id' && !equal.includes(path));
  const range = used.find(({ path, isRange }) => {
    return isRange && path !== '_id' && !equal.includes(path) && !keys.some((key) => key.path === path);
  });
  const rest: Sort = range === undefined ? keys : [...keys, { path: range.path, direction: 1 }];
  if (equal.length + rest.length === 0 || keys.some((key) => isEscapedPath(key.path))) return null;
  return { equal: equal.slice(0, MAX_FIELDS - rest.length), rest };
}

/** The fields as clients write them for an index: `["category","-score"]`. */
export function suggestedIndexFields({ equal, rest }: SuggestedIndex): readonly string[] {
  return [
    ...equal.map(clientPath),
    ...rest.map(({ path, direction }) => `${direction === 1 ? '' : '-'}${clientPath(path)}`),
  ];
}

interface Use {
  readonly path: string;
  readonly isRange: boolean;
}

/** How a condition can use an index; none for a condition that needs every value. */
function usesOf(filter: Filter): readonly Use[] {
  if (filter.kind === 'or') {
    // A range may have been written for several types of values.
    const [first, ...others] = filter.filters.map(usesOf);
    const path = first?.[0]?.path;
    return path !== undefined && others.every(([use]) => use?.path === path) ? [{ path, isRange: true }] : [];
  }
  if (filter.kind !== 'field' || isEscapedPath(filter.path) || filter.path.split('.').some(isArrayPosition)) return [];
  const { path, test } = filter;
  switch (test.op) {
    case 'in':
    case 'all':
      return [{ path, isRange: false }];
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return [{ path, isRange: true }];
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
    case 'not':
    case 'elem':
    case 'elemWhere':
      return [];
    default:
      return test satisfies never;
  }
}
