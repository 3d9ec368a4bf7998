/** Types of a replay: a range of the event log that is sent to one endpoint again. */
import type { LogPosition } from '../../events/log/position.ts';

export const REPLAY_STATES = ['running', 'succeeded', 'canceled'] as const;

/** `canceled`: its endpoint was disabled or deleted, or its principal ended, before the replay was done. */
export type ReplayState = (typeof REPLAY_STATES)[number];

/** The parameters of a request. */
export interface ReplayRequest {
  readonly endpoint: string;
  /** Later events are sent… */
  readonly since: LogPosition;
  /** … up to and including this one; null for the current end of the log. */
  readonly until: LogPosition | null;
  /** Additional filter by event types; `*` is a wildcard; null for all. */
  readonly types: readonly string[] | null;
}

/** A replay in responses. */
export interface ReplayView {
  readonly id: string;
  readonly endpoint: string;
  readonly state: ReplayState;
  /** Deliveries created so far. */
  readonly sent: number;
  /** The log position reached, as `<epoch>-<number>`. */
  readonly position: string;
}
