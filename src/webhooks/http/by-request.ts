/**
 * What routes ask of the planner: a sample to try an endpoint out with, and the replay of a part of the log. Types only; the
 * planner (planning/) has them by their form, so that it need not know of HTTP.
 */
import type { Stamp } from '../../database/system-collection.ts';
import type { Event } from '../../events/log/event.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';

export interface Samples {
  /**
   * The newest event of a type that the maker of the endpoint may see at this moment, cut to what it may see of it. Types and
   * filter of the endpoint do not count. Searches a bounded part of the log, from its end.
   * @param type a type, in which `*` stands for anything
   * @returns null when there is none in that part
   */
  newest(endpoint: EndpointInterest, type: string): Promise<Event | null>;
}

export const REPLAY_STATES = ['running', 'done', 'cancelled'] as const;

/** `cancelled`: its endpoint was disabled or deleted before the replay was done. */
export type ReplayState = (typeof REPLAY_STATES)[number];

export interface NewReplay {
  readonly endpoint: string;
  /** Events after this position are sent… */
  readonly since: LogPosition;
  /** … up to and with this one; null for the end of the log as it is when the replay begins. */
  readonly until: LogPosition | null;
  /** Event types, in which `*` stands for anything, besides those of the endpoint, which count too; null for all of them. */
  readonly types: readonly string[] | null;
}

export interface Replay {
  readonly id: string;
  readonly endpoint: string;
  readonly state: ReplayState;
  /** Deliveries that were made so far. */
  readonly sent: number;
  /** How far the log was read, as `<epoch>-<number>`. */
  readonly position: string;
}

export interface Replays {
  /**
   * Notes a replay and records `system.endpoint.replayed`; the planner's process makes its deliveries later.
   * @throws MillraceError `position-expired`, `position-unknown`, `epoch-changed`
   */
  begin(replay: NewReplay, stamp: Stamp): Promise<Replay>;
  find(id: string): Promise<Replay | null>;
}
