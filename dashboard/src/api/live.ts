/**
 * What pages show is live: documents by their subscription, everything else by a request that is repeated when an event of
 * its types comes. Both go on after a restart of the server and after another sign-in.
 */
import { keepPreviousData, type QueryKey, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Doc, EventQuery, EventState, LiveState, LoggedEvent, Problem, Query } from '../../../client/client.ts';
import { client, request } from './client.ts';
import { session } from './session.ts';

/** Events come in bursts: one request answers for all of this time, in milliseconds. */
const GATHER_MS = 150;

/** The state of the session, and how many sign-ins there were. */
export function useSession() {
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const turn = useSyncExternalStore(session.subscribe, () => session.turn);
  return { state, turn, beginning: session.beginning };
}

/** The documents of a live answer. */
export function useLive(collection: string, query: Query): LiveState<Doc<Record<string, unknown>>> {
  const { state, turn } = useSession();
  const key = JSON.stringify([collection, query]);
  const [answer, setAnswer] = useState<LiveState<Doc<Record<string, unknown>>>>(BEGINNING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the query
  useEffect(() => {
    if (state === 'asked') return;
    setAnswer(BEGINNING);
    return client.collection(collection).live(query, (next) => {
      if (next.problem?.status === 401) session.ended();
      setAnswer(next);
    });
  }, [key, state === 'asked', turn]);
  return answer;
}

const BEGINNING: LiveState<never> = { status: 'connecting', documents: [], problem: null };

/** Calls `onState` with the events of a query as they come. A null query follows nothing. */
export function useEvents(query: EventQuery | null, onState: (state: EventState) => void): void {
  const { state, turn } = useSession();
  const listener = useRef(onState);
  listener.current = onState;
  const key = JSON.stringify(query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the query
  useEffect(() => {
    if (query === null || state === 'asked') return;
    return client.events(query, (next) => {
      if (next.problem?.status === 401) session.ended();
      listener.current(next);
    });
  }, [key, state === 'asked', turn]);
}

/**
 * The answer of a GET, asked again when events of these types come.
 * @param follows types of events, such as `system.user.*`; none for what does not change
 * @param everyMs asked again after so long, for what changes without an event; not while the page is in the background
 */
export function useResource<T>(
  path: string,
  follows: readonly string[] = [],
  everyMs: number | null = null,
): UseQueryResult<T, Problem> {
  return useAnswer(path, async () => (await request<T>('GET', path)).body, follows, everyMs);
}

/** A page of a list, and the cursor of the next one. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Null at the end. */
  readonly next: string | null;
}

/**
 * A page of a list that the server gives in pages (`Millrace-Next`).
 * @param path with its `cursor`
 */
export function useListPage<T>(
  path: string,
  follows: readonly string[] = [],
  everyMs: number | null = null,
): UseQueryResult<ListPage<T>, Problem> {
  const ask = async () => {
    const { body, headers } = await request<readonly T[]>('GET', path);
    return { items: body, next: headers.get('millrace-next') };
  };
  return useAnswer(path, ask, follows, everyMs, 'page');
}

/** An answer with its entity tag, for a change that must not undo another one. */
export interface Tagged<T> {
  readonly body: T;
  readonly tag: string | null;
}

/** Like useResource, with the entity tag. */
export function useTagged<T>(path: string, follows: readonly string[] = []): UseQueryResult<Tagged<T>, Problem> {
  const ask = async () => {
    const { body, headers } = await request<T>('GET', path);
    return { body, tag: headers.get('etag') };
  };
  return useAnswer(path, ask, follows, null, 'tagged');
}

function useAnswer<T>(
  path: string,
  ask: () => Promise<T>,
  follows: readonly string[],
  everyMs: number | null,
  form: 'body' | 'page' | 'tagged' = 'body',
): UseQueryResult<T, Problem> {
  const { state, turn } = useSession();
  const cache = useQueryClient();
  const key: QueryKey = form === 'body' ? [path, turn] : [path, turn, form];
  const waiting = useRef(false);
  useEvents(follows.length === 0 ? null : { types: follows }, ({ events, missed }) => {
    if ((events.length === 0 && missed === null) || waiting.current) return;
    waiting.current = true;
    setTimeout(() => {
      waiting.current = false;
      void cache.invalidateQueries({ queryKey: key });
    }, GATHER_MS);
  });
  return useQuery({
    queryKey: key,
    enabled: state !== 'asked',
    queryFn: ask,
    placeholderData: keepPreviousData,
    refetchInterval: everyMs ?? false,
  });
}

export type { Doc, EventState, LiveState, LoggedEvent };
