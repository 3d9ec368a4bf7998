/** The list of events of a page: starts with the latest ones or at a position, follows, and loads older ones. */
import { useEffect, useReducer, useRef, useState } from 'react';
import { type LiveState, useEvents, useSession } from '../../api/live.ts';
import { pageAfter, pageBefore, type Requested } from './history.ts';
import { numberOf } from './position.ts';
import { changedTail, EMPTY_TAIL, type Tail } from './tail.ts';

export interface TailState {
  readonly tail: Tail;
  readonly status: LiveState<never>['status'];
  readonly loading: boolean;
  readonly error: unknown;
  pause(): void;
  resume(): void;
  loadOlder(): void;
  loadNewer(): void;
  again(): void;
}

export function useTail(requested: Requested, since: string | undefined): TailState {
  const { state, turn } = useSession();
  const [tail, change] = useReducer(changedTail, EMPTY_TAIL);
  const [status, setStatus] = useState<TailState['status']>('connecting');
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [attempts, setAttempts] = useState(0);
  /** Responses to requests from before the last change of the filter are dropped. */
  const received = useRef(0);
  const key = JSON.stringify([requested, since, turn, attempts]);

  const load = async (work: (isCurrent: () => boolean) => Promise<void>) => {
    const mine = received.current;
    const isCurrent = () => received.current === mine;
    setLoading(true);
    setError(null);
    await work(isCurrent).catch((problem: unknown) => {
      if (isCurrent()) setError(problem);
    });
    if (isCurrent()) setLoading(false);
  };
  const newer = async (from: string, isCurrent: () => boolean) => {
    const { position: end } = await pageAfter(undefined, null);
    const page = await pageAfter(from, requested);
    const isEnd = numberOf(page.position) >= numberOf(end);
    if (isCurrent()) change({ kind: 'newer', since: from, page, isEnd });
  };
  const older = async (before: string, isCurrent: () => boolean) => {
    const found = await pageBefore(before, requested);
    if (isCurrent()) change({ kind: 'older', older: found });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains the whole request
  useEffect(() => {
    if (state === 'signed-out') return;
    received.current += 1;
    change({ kind: 'reset' });
    setStatus('connecting');
    void load(async (isCurrent) => {
      if (since !== undefined) return await newer(since, isCurrent);
      const { position } = await pageAfter(undefined, null);
      if (!isCurrent()) return;
      change({ kind: 'newer', since: position, page: { events: [], position }, isEnd: true });
      await older(
        position.replace(/\d+$/, (number) => String(Number(number) + 1)),
        isCurrent,
      );
    });
  }, [key, state === 'signed-out']);

  const { followsFrom } = tail;
  const filter = requested.filter === undefined ? {} : { filter: requested.filter };
  useEvents(followsFrom === null ? null : { types: requested.types, ...filter, since: followsFrom }, (next) => {
    setStatus(next.status);
    if (next.problem !== null) setError(next.problem);
    if (next.events.length > 0 || next.missed !== null) change({ kind: 'came', ...next });
  });

  return {
    tail,
    status,
    loading,
    error,
    pause: () => change({ kind: 'pause' }),
    resume: () => change({ kind: 'resume' }),
    loadOlder: () => void load(async (isCurrent) => older(tail.before ?? '', isCurrent)),
    loadNewer: () => void load(async (isCurrent) => newer(tail.newest ?? '', isCurrent)),
    again: () => setAttempts((count) => count + 1),
  };
}
