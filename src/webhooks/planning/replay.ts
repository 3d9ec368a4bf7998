/**
 * A replay: a range of the event log that is sent to one endpoint once more. Types and words only. Not here: making its
 * deliveries (replays.ts), and how far it is done (replay-store.ts).
 */
import type { LogPosition } from '../../events/log/position.ts';

export const REPLAY_STATES = ['running', 'done', 'cancelled'] as const;

/** `cancelled`: its endpoint was disabled or deleted, or its principal ended, before the replay was done. */
export type ReplayState = (typeof REPLAY_STATES)[number];

/** What a request asks for. */
export interface AskedReplay {
  readonly endpoint: string;
  /** Events after this position are sent… */
  readonly since: LogPosition;
  /** … up to and with this one; null for the end of the log as it is now. */
  readonly until: LogPosition | null;
  /** Event types besides those of the endpoint, in which `*` stands for anything; null for all. */
  readonly types: readonly string[] | null;
}

/** A replay as answers show it. */
export interface ToldReplay {
  readonly id: string;
  readonly endpoint: string;
  readonly state: ReplayState;
  /** Deliveries that were made so far. */
  readonly sent: number;
  /** How far the log was read, as `<epoch>-<number>`. */
  readonly position: string;
}
