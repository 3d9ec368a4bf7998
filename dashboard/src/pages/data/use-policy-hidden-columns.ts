/** Which columns are hidden from a principal: its documents are compared with the administrator's. */
import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { request } from '../../api/client.ts';
import type { DocumentPages, GridDocument } from './grid/document-pages.ts';
import { type GridColumn, valueAt } from './parts/columns.ts';
import { pathOf } from './parts/search.ts';

/** Documents to compare. */
const COMPARED = 50;
const NONE: ReadonlySet<string> = new Set();

/** @param as undefined for the administrator, from whom nothing is hidden */
export function useHidden(
  collection: string,
  as: string | undefined,
  pages: DocumentPages,
  columns: readonly GridColumn[],
): ReadonlySet<string> {
  useSyncExternalStore(pages.subscribe, () => (as === undefined ? 0 : pages.version));
  const { rows } = pages;
  const ids = rows.slice(0, COMPARED).map(({ id }) => id);
  const { data: whole } = useQuery({
    queryKey: ['whole', collection, as, ids],
    enabled: as !== undefined && ids.length > 0,
    queryFn: async () => {
      const body = { filter: { id: { $in: ids } }, limit: COMPARED };
      return (await request<readonly GridDocument[]>('POST', `${pathOf(collection)}/_query`, { body })).body;
    },
  });
  if (as === undefined || whole === undefined) return NONE;
  const shown = rows.slice(0, COMPARED);
  const has = (documents: readonly GridDocument[], path: string) =>
    documents.some((document) => valueAt(document, path) !== undefined);
  return new Set(columns.map(({ path }) => path).filter((path) => has(whole, path) && !has(shown, path)));
}
