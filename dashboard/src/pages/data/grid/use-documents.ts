/** The documents of the grid and their number, live. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { request } from '../../../api/client.ts';
import { type LoggedEvent, useEvents, useSession } from '../../../api/live.ts';
import { type DataSearch, listPath } from '../parts/search.ts';
import { DocumentPages, type GridDocument } from './document-pages.ts';

/** Minimum interval of counts, which cost a search, in milliseconds. */
const COUNT_MS = 500;

export interface GridDocuments {
  readonly pages: DocumentPages;
  /** How many documents match the filter; null before it is known. */
  readonly total: number | null;
  /** Whether the connection is lost, so that changes may be missing for now. */
  readonly isOffline: boolean;
}

/** @param onEvents called with what has happened in the collection */
export function useDocuments(
  collection: string,
  search: DataSearch,
  onEvents: (events: readonly LoggedEvent[]) => void,
): GridDocuments {
  const { state, turn } = useSession();
  const { as } = search;
  const path = listPath(collection, search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another user may see another list
  const pages = useMemo(
    () =>
      new DocumentPages(async (cursor, limit) => {
        const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { body, headers } = await request<readonly GridDocument[]>('GET', `${path}&limit=${limit}${after}`, {
          as,
        });
        return { documents: body, next: headers.get('millrace-next'), hint: headers.get('millrace-hint') };
      }),
    [path, as, turn],
  );
  useSyncExternalStore(pages.subscribe, () => pages.situation);
  const isRequested = state === 'signed-out';
  useEffect(() => {
    if (isRequested) return;
    pages.open();
    return () => pages.close();
  }, [pages, isRequested]);

  const [total, recount] = useCount(path, as, search.q);
  const [isOffline, setOffline] = useState(false);
  const wasOffline = useRef(false);
  // What another principal sees changes with the policies, too.
  const types = [`${collection}.*`, ...(as === undefined ? [] : ['system.policy.*', 'system.user.*', 'system.key.*'])];
  useEvents({ types }, ({ status, events, missed }) => {
    const isBack = wasOffline.current && status === 'live';
    wasOffline.current = status === 'offline';
    setOffline(status === 'offline');
    if (events.length === 0 && missed === null && !isBack) return;
    if (pages.error === null) pages.changed();
    else pages.again();
    recount();
    onEvents(events);
  });
  return { pages, total, isOffline };
}

function useCount(path: string, as: string | undefined, q: string | undefined): readonly [number | null, () => void] {
  const { state, turn } = useSession();
  const [total, setTotal] = useState<number | null>(null);
  const [requested, setRequested] = useState(0);
  const waiting = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `requested` and `turn` repeat the request
  useEffect(() => {
    if (state === 'signed-out') return;
    let isOver = false;
    const kind = q === undefined && as === undefined ? 'estimated' : 'exact';
    void request('GET', `${path}&limit=0&count=${kind}`, { as }).then(
      ({ headers }) => isOver || setTotal(Number(headers.get('millrace-count') ?? 0)),
      // The list reports the error.
      () => isOver || setTotal(null),
    );
    return () => {
      isOver = true;
    };
  }, [path, as, turn, requested, state === 'signed-out']);
  const recount = () => {
    if (waiting.current) return;
    waiting.current = true;
    setTimeout(() => {
      waiting.current = false;
      setRequested((count) => count + 1);
    }, COUNT_MS);
  };
  return [total, recount];
}
