/** A subscription to documents or to events: its frames, its state on the connection, and when its listener is called. */

import type { MillraceError, ProblemDocument } from './problem.ts';
import type { SortKey } from './sort-keys.ts';

/** A document as the server shows it. */
export interface StoredDocument {
  readonly id: string;
}

/** A frame of the server. Its fields depend on its type. */
export interface SubscriptionFrame {
  readonly type: string;
  readonly id?: string;
  readonly from?: string;
  readonly op?: string;
  readonly documents?: readonly StoredDocument[];
  readonly document?: StoredDocument;
  readonly documentId?: string;
  /** The key of one document in a change, or of each document in a snapshot. */
  readonly sortKey?: SortKey | readonly SortKey[];
  readonly last?: boolean;
  readonly position?: string;
  /** The position of a change; in frames about events, the event. */
  readonly event?: string | LoggedEvent;
  readonly reason?: string;
}

/** A frame of the server, with the fields about the connection. */
export interface ServerFrame extends SubscriptionFrame {
  readonly principal?: { readonly kind: string; readonly id?: string };
  readonly heartbeatMs?: number;
  readonly changes?: readonly (Omit<ServerFrame, 'type'> & { readonly type?: string })[];
  readonly problem?: ProblemDocument;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
}

/** An event of the server's log, as subscriptions and `GET /events` show it (docs/events.md). */
export interface LoggedEvent {
  /** Its position in the log. */
  readonly id: string;
  /** `todos.created`, `system.file.deleted`. */
  readonly type: string;
  /** When the database committed the change, ISO 8601. */
  readonly timestamp: string;
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly revision: number | null;
  /** Top-level fields with a changed value; null if a state is unknown. */
  readonly changed: readonly string[] | null;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  /** The id of the request that caused the change. */
  readonly request: string | null;
  readonly transaction: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
}

/**
 * `live`: complete and current. `offline`: disconnected; the documents may be stale, and it reconnects automatically. `ended`:
 * `problem` says why.
 */
export type LiveStatus = 'connecting' | 'live' | 'offline' | 'ended';

export abstract class LiveSubscription {
  /** Its id on the connection. */
  readonly id: string;
  /** Number of consecutive failures of the server to run it. */
  failures = 0;
  protected status: LiveStatus = 'connecting';
  protected problem: MillraceError | null = null;
  #reporting = false;
  #closed = false;

  constructor(id: string) {
    this.id = id;
  }

  /** The frame that subscribes: from the last position, or from the start. */
  abstract request(resume: boolean): object;

  abstract handleFrame(frame: SubscriptionFrame): void;

  /** Records that everything up to this position has arrived. */
  abstract passed(position: string): void;

  /** Calls the listener with the current state. */
  protected abstract notifyListener(): void;

  /** The connection is lost; it reconnects automatically. */
  interrupt(): void {
    if (this.status === 'offline') return;
    this.status = 'offline';
    this.scheduleNotification();
  }

  end(problem: MillraceError): void {
    this.status = 'ended';
    this.problem = problem;
    this.scheduleNotification();
  }

  /** Ends it without calling the listener again. */
  close(): void {
    this.#closed = true;
  }

  /** The server has responded, and the data is complete. */
  protected response(): void {
    this.failures = 0;
    this.status = 'live';
    this.scheduleNotification();
  }

  /** Frames come in bursts: the listener is called once for all that arrived together. */
  protected scheduleNotification(): void {
    if (this.#reporting) return;
    this.#reporting = true;
    queueMicrotask(() => {
      this.#reporting = false;
      if (!this.#closed) this.notifyListener();
    });
  }
}
