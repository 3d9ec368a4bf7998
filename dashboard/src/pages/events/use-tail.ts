/** The list of events that a page shows: begins with what was last or with a position, follows, and loads what is older. */
import { useEffect, useReducer, useRef, useState } from 'react';
import { type LiveState, useEvents, useSession } from '../../api/live.ts';
import { pageAfter, pageBefore, type Wanted } from './history.ts';
import { numberOf } from './position.ts';
import { changedTail, EMPTY_TAIL, type Tail } from './tail.ts';

export interface ShownTail {
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

export function useTail(wanted: Wanted, since: string | undefined): ShownTail {
  const { state, turn } = useSession();
  const [tail, change] = useReducer(changedTail, EMPTY_TAIL);
  const [status, setStatus] = useState<ShownTail['status']>('connecting');
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [tries, setTries] = useState(0);
  /** Answers to what was asked before the last change of the question are dropped. */
  const asked = useRef(0);
  const key = JSON.stringify([wanted, since, turn, tries]);

  const load = async (work: (isCurrent: () => boolean) => Promise<void>) => {
    const mine = asked.current;
    const isCurrent = () => asked.current === mine;
    setLoading(true);
    setError(null);
    await work(isCurrent).catch((problem: unknown) => {
      if (isCurrent()) setError(problem);
    });
    if (isCurrent()) setLoading(false);
  };
  const newer = async (from: string, isCurrent: () => boolean) => {
    const { position: end } = await pageAfter(undefined, null);
    const page = await pageAfter(from, wanted);
    const isEnd = numberOf(page.position) >= numberOf(end);
    if (isCurrent()) change({ kind: 'newer', since: from, page, isEnd });
  };
  const older = async (before: string, isCurrent: () => boolean) => {
    const found = await pageBefore(before, wanted);
    if (isCurrent()) change({ kind: 'older', older: found });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is asked
  useEffect(() => {
    if (state === 'asked') return;
    asked.current += 1;
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
  }, [key, state === 'asked']);

  const { followsFrom } = tail;
  const filter = wanted.filter === undefined ? {} : { filter: wanted.filter };
  useEvents(followsFrom === null ? null : { types: wanted.types, ...filter, since: followsFrom }, (next) => {
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
    again: () => setTries((count) => count + 1),
  };
}
