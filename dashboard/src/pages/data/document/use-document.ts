/** One document with its entity tag, live; and the writes of the drawer. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { useEvents, useSession } from '../../../api/live.ts';
import type { GridDocument } from '../grid/document-pages.ts';
import { pathOf } from '../parts/search.ts';

export interface Tagged {
  readonly document: GridDocument;
  /** For If-Match. */
  readonly etag: string;
}

/** The editable fields of a document. */
export type Fields = Readonly<Record<string, unknown>>;

/** @param id null for a document that does not exist yet */
export function useDocument(collection: string, id: string | null, as: string | undefined) {
  const { state, turn } = useSession();
  const cache = useQueryClient();
  const key = ['document', collection, id, as, turn];
  const query = id === null ? null : { types: [`${collection}.*`], filter: { documentId: id } };
  useEvents(query, ({ events, missed }) => {
    if (events.length > 0 || missed !== null) {
      void cache.invalidateQueries({ queryKey: key });
      void cache.invalidateQueries({ queryKey: historyKey(collection, id ?? '') });
    }
  });
  return useQuery<Tagged, MillraceError>({
    queryKey: key,
    enabled: id !== null && state !== 'signed-out',
    queryFn: () => readDocument(collection, id ?? '', as),
  });
}

export function historyKey(collection: string, id: string): readonly string[] {
  return ['history', collection, id];
}

export async function readDocument(collection: string, id: string, as?: string): Promise<Tagged> {
  return tagged(await request<GridDocument>('GET', pathOf(collection, id), { as }));
}

/** @throws MillraceError `precondition-failed` when somebody has changed it since the tag */
export async function replaceDocument(collection: string, id: string, body: Fields, etag: string): Promise<Tagged> {
  return tagged(await request<GridDocument>('PUT', pathOf(collection, id), { body, headers: { 'if-match': etag } }));
}

/** @param id null for an id by the server */
export async function createDocument(collection: string, id: string | null, body: Fields): Promise<Tagged> {
  if (id === null) return tagged(await request<GridDocument>('POST', pathOf(collection), { body }));
  const headers = { 'if-none-match': '*' };
  return tagged(await request<GridDocument>('PUT', pathOf(collection, id), { body, headers }));
}

export function fieldsOf(document: Fields): Fields {
  const { id: _id, _meta, _expanded, ...fields } = document;
  return fields;
}

/** Whether two values are the same JSON, in any order of object fields. */
export function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

function tagged({ body, headers }: { readonly body: GridDocument; readonly headers: Headers }): Tagged {
  return { document: body, etag: headers.get('etag') ?? '' };
}
