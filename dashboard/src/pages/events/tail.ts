/** The state of the list of events, and how it changes. Pure: the hook in use-tail.ts reads and follows. */
import type { LoggedEvent } from '../../../../client/client.ts';
import { numberOf } from './position.ts';

/** Maximum rows: more would fill the memory of a page that stays open. */
export const MAX_ROWS = 1_000;

export interface EventPage {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  readonly position: string;
}

export interface Older {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /** Everything from this position on has been read. */
  readonly before: string;
  /** Nothing older is retained. */
  readonly isAll: boolean;
}

export interface Tail {
  /** Newest first. */
  readonly rows: readonly LoggedEvent[];
  /** Arrived while the list was paused, newest first. */
  readonly waiting: readonly LoggedEvent[];
  readonly paused: boolean;
  /** The list continues at this position; null before the first response. */
  readonly newest: string | null;
  /** Where the list follows from when it has reached the end of the log; null before. */
  readonly followsFrom: string | null;
  /** Everything from here on has been read. */
  readonly before: string | null;
  /** Nothing older is retained. */
  readonly isAll: boolean;
  /** Why events may be missing; null if none are. */
  readonly missed: string | null;
}

export type TailChange =
  | { readonly kind: 'reset' }
  | { readonly kind: 'newer'; readonly since: string; readonly page: EventPage; readonly isEnd: boolean }
  | { readonly kind: 'older'; readonly older: Older }
  | { readonly kind: 'came'; readonly events: readonly LoggedEvent[]; readonly missed: string | null }
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' };

export const EMPTY_TAIL: Tail = {
  rows: [],
  waiting: [],
  paused: false,
  newest: null,
  followsFrom: null,
  before: null,
  isAll: false,
  missed: null,
};

export function changedTail(tail: Tail, change: TailChange): Tail {
  switch (change.kind) {
    case 'reset':
      return EMPTY_TAIL;
    case 'newer': {
      const { since, page, isEnd } = change;
      return {
        ...grown(tail, page.events),
        newest: page.position,
        before: tail.before ?? since.replace(/\d+$/, (number) => String(Number(number) + 1)),
        followsFrom: isEnd ? page.position : null,
      };
    }
    case 'older': {
      const { events, before, isAll } = change.older;
      const all = [...tail.rows, ...[...events].reverse()];
      const next = { ...tail, before, isAll };
      if (all.length <= MAX_ROWS) return { ...next, rows: all };
      // The user reads the past: the newest rows are dropped, and the list no longer follows.
      const rows = all.slice(-MAX_ROWS);
      return { ...next, rows, waiting: [], paused: false, newest: rows[0]?.id ?? null, followsFrom: null };
    }
    case 'came': {
      // After another sign-in events may arrive again.
      const known = numberOf(tail.newest ?? '0-0');
      const events = change.events.filter(({ id }) => numberOf(id) > known);
      const next = { ...tail, missed: change.missed ?? tail.missed, newest: events.at(-1)?.id ?? tail.newest };
      if (!tail.paused) return grown(next, events);
      return { ...next, waiting: [...[...events].reverse(), ...tail.waiting].slice(0, MAX_ROWS) };
    }
    case 'pause':
      return { ...tail, paused: true };
    case 'resume':
      return grown({ ...tail, paused: false, waiting: [] }, [...tail.waiting].reverse());
  }
}

/** @param events oldest first */
function grown(tail: Tail, events: readonly LoggedEvent[]): Tail {
  if (events.length === 0) return tail;
  const all = [...[...events].reverse(), ...tail.rows];
  if (all.length <= MAX_ROWS) return { ...tail, rows: all };
  const rows = all.slice(0, MAX_ROWS);
  return { ...tail, rows, before: rows.at(-1)?.id ?? tail.before, isAll: false };
}
