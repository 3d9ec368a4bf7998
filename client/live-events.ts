/** One subscription of an application to events: its types, its position, and its listener. */
import { type LiveStatus, LiveSubscription, type LoggedEvent, type SubscriptionFrame } from './live-subscription.ts';
import type { MillraceError } from './problem.ts';

export interface EventQuery {
  /** Event types; `*` is a wildcard: `todos.*`, `system.user.created`. */
  readonly types: readonly string[];
  /** Tests the event as it is shown: paths are such as `data.size` and `actor.id`. */
  readonly filter?: object;
  /** The position after which events start; only new ones without it. */
  readonly since?: string;
  /** For administrators: the events as this principal gets them, such as `user:<id>` (see `Query`). */
  readonly as?: string;
}

export interface EventState {
  readonly status: LiveStatus;
  /** Events since the last call, oldest first. */
  readonly events: readonly LoggedEvent[];
  /** Why events may have been missed, such as `position-expired`; null if none were. */
  readonly missed: string | null;
  readonly problem: MillraceError | null;
}

export class LiveEvents extends LiveSubscription {
  readonly #query: EventQuery;
  readonly #onState: (state: EventState) => void;
  #position: string | null;
  #events: LoggedEvent[] = [];
  #missed: string | null = null;

  constructor(id: string, query: EventQuery, onState: (state: EventState) => void) {
    super(id);
    this.#query = query;
    this.#onState = onState;
    this.#position = query.since ?? null;
  }

  request(resume: boolean): object {
    const { types, filter, since, as } = this.#query;
    const from = resume ? this.#position : (since ?? null);
    return {
      type: 'subscribe',
      id: this.id,
      events: types,
      ...(filter === undefined ? {} : { filter }),
      ...(as === undefined ? {} : { as }),
      ...(from === null ? {} : { since: from }),
    };
  }

  handleFrame(frame: SubscriptionFrame): void {
    switch (frame.type) {
      case 'event':
        if (typeof frame.event !== 'object') return;
        this.#position = frame.event.id;
        this.#events.push(frame.event);
        break;
      case 'reset':
        this.#position = null;
        this.#missed = frame.reason ?? 'gap';
        break;
      case 'live':
        this.#position = frame.position ?? this.#position;
        this.response();
        return;
      default:
        return;
    }
    this.scheduleNotification();
  }

  passed(position: string): void {
    if (this.status === 'live') this.#position = position;
  }

  protected notifyListener(): void {
    const [events, missed] = [this.#events, this.#missed];
    this.#events = [];
    this.#missed = null;
    this.#onState({ status: this.status, events, missed, problem: this.problem });
  }
}
