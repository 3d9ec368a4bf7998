/**
 * Live data of pages: documents by their subscription, everything else by a request that is repeated after an event of
 * its types. Both continue after a restart of the server and after another sign-in.
 */
import { keepPreviousData, type QueryKey, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type {
  Doc,
  EventQuery,
  EventState,
  LiveState,
  LoggedEvent,
  MillraceError,
  Query,
} from '../../../client/client.ts';
import { client, request } from './client.ts';
import { session } from './session.ts';

/** Events come in bursts: one request covers all events of this time, in milliseconds. */
const GATHER_MS = 150;

/** The state of the session, and the number of sign-ins. */
export function useSession() {
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const turn = useSyncExternalStore(session.subscribe, () => session.turn);
  return { state, turn, beginning: session.beginning };
}

/** The documents of a live query. */
export function useLive(collection: string, query: Query): LiveState<Doc<Record<string, unknown>>> {
  const { state, turn } = useSession();
  const key = JSON.stringify([collection, query]);
  const [response, setResponse] = useState<LiveState<Doc<Record<string, unknown>>>>(BEGINNING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains the whole query
  useEffect(() => {
    if (state === 'signed-out') return;
    setResponse(BEGINNING);
    return client.collection(collection).live(query, (next) => {
      if (next.problem?.status === 401) session.ended();
      setResponse(next);
    });
  }, [key, state === 'signed-out', turn]);
  return response;
}

const BEGINNING: LiveState<never> = { status: 'connecting', documents: [], problem: null };

/** Calls `onState` with the events of a query as they arrive. A null query follows nothing. */
export function useEvents(query: EventQuery | null, onState: (state: EventState) => void): void {
  const { state, turn } = useSession();
  const listener = useRef(onState);
  listener.current = onState;
  const key = JSON.stringify(query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains the whole query
  useEffect(() => {
    if (query === null || state === 'signed-out') return;
    return client.events(query, (next) => {
      if (next.problem?.status === 401) session.ended();
      listener.current(next);
    });
  }, [key, state === 'signed-out', turn]);
}

/**
 * The response of a GET, requested again when events of these types arrive.
 * @param follows types of events, such as `system.user.*`; none for what does not change
 * @param everyMs requested again after this time, for what changes without an event; not while the page is in the background
 */
export function useResource<T>(
  path: string,
  follows: readonly string[] = [],
  everyMs: number | null = null,
): UseQueryResult<T, MillraceError> {
  return useResponse(path, async () => (await request<T>('GET', path)).body, follows, everyMs);
}

/** A page of a list, and the cursor of the next one. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Null at the end. */
  readonly next: string | null;
}

/**
 * A page of a list that the server returns in pages (`Millrace-Next`).
 * @param path with its `cursor`
 */
export function useListPage<T>(
  path: string,
  follows: readonly string[] = [],
  everyMs: number | null = null,
): UseQueryResult<ListPage<T>, MillraceError> {
  const send = async () => {
    const { body, headers } = await request<readonly T[]>('GET', path);
    return { items: body, next: headers.get('millrace-next') };
  };
  return useResponse(path, send, follows, everyMs, 'page');
}

/** A response with its entity tag, for a change that must not overwrite another one. */
export interface Tagged<T> {
  readonly body: T;
  readonly tag: string | null;
}

/** Like useResource, with the entity tag. */
export function useTagged<T>(path: string, follows: readonly string[] = []): UseQueryResult<Tagged<T>, MillraceError> {
  const send = async () => {
    const { body, headers } = await request<T>('GET', path);
    return { body, tag: headers.get('etag') };
  };
  return useResponse(path, send, follows, null, 'tagged');
}

function useResponse<T>(
  path: string,
  send: () => Promise<T>,
  follows: readonly string[],
  everyMs: number | null,
  form: 'body' | 'page' | 'tagged' = 'body',
): UseQueryResult<T, MillraceError> {
  const { state, turn } = useSession();
  const cache = useQueryClient();
  const key: QueryKey = form === 'body' ? [path, turn] : [path, turn, form];
  const waiting = useRef(false);
  const wasLive = useRef(false);
  useEvents(follows.length === 0 ? null : { types: follows }, ({ status, events, missed }) => {
    // What changed after the first response and before the subscription began has no event here.
    const begins = status === 'live' && !wasLive.current;
    if (begins) wasLive.current = true;
    if ((events.length === 0 && missed === null && !begins) || waiting.current) return;
    waiting.current = true;
    setTimeout(() => {
      waiting.current = false;
      void cache.invalidateQueries({ queryKey: key });
    }, GATHER_MS);
  });
  return useQuery({
    queryKey: key,
    enabled: state !== 'signed-out',
    queryFn: send,
    placeholderData: keepPreviousData,
    refetchInterval: everyMs ?? false,
  });
}

export type { Doc, EventState, LiveState, LoggedEvent };
