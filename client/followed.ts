/**
 * A subscription, to documents or to events: its frames, what the connection knows of it, and when its listener is called.
 * Not here: what it holds (live.ts, live-events.ts).
 */
import type { SortKey } from './order.ts';
import type { Problem, ProblemDocument } from './problem.ts';

/** A document as the server shows it. */
export interface Stored {
  readonly id: string;
}

/** A frame of the server. Which members it has depends on its type. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly from?: string;
  readonly op?: string;
  readonly documents?: readonly Stored[];
  readonly document?: Stored;
  readonly documentId?: string;
  /** The key of one document in a change, or of each document in a snapshot. */
  readonly sortKey?: SortKey | readonly SortKey[];
  readonly last?: boolean;
  readonly position?: string;
  /** The position of a change; in frames about events, the event. */
  readonly event?: string | LoggedEvent;
  readonly reason?: string;
}

/** A frame of the server, with the members that are about the connection. */
export interface ServerFrame extends Frame {
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
  /** When the database made the change, ISO 8601. */
  readonly timestamp: string;
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly revision: number | null;
  /** Top-level members with a changed value; null where a state is unknown. */
  readonly changed: readonly string[] | null;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  /** The id of the request that made the change. */
  readonly request: string | null;
  readonly transaction: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
}

/**
 * `live`: complete and current. `offline`: without a connection; the documents may be old, and it goes on by itself.
 * `ended`: `problem` says why.
 */
export type LiveStatus = 'connecting' | 'live' | 'offline' | 'ended';

export abstract class Followed {
  /** Its id on the connection. */
  readonly id: string;
  /** How many times in a row the server could not answer it. */
  failures = 0;
  protected status: LiveStatus = 'connecting';
  protected problem: Problem | null = null;
  #telling = false;
  #closed = false;

  constructor(id: string) {
    this.id = id;
  }

  /** The frame that subscribes: from the last position, or from the beginning. */
  abstract request(resume: boolean): object;

  abstract take(frame: Frame): void;

  /** Notes that everything up to this position has arrived. */
  abstract passed(position: string): void;

  /** Calls the listener with what there is now. */
  protected abstract call(): void;

  /** The connection is lost; it comes back by itself. */
  interrupt(): void {
    if (this.status === 'offline') return;
    this.status = 'offline';
    this.tell();
  }

  end(problem: Problem): void {
    this.status = 'ended';
    this.problem = problem;
    this.tell();
  }

  /** Ends it without calling the listener again. */
  close(): void {
    this.#closed = true;
  }

  /** The server has answered it, and what it holds is complete. */
  protected answered(): void {
    this.failures = 0;
    this.status = 'live';
    this.tell();
  }

  /** Frames come in bursts: the listener is called once for all that arrived together. */
  protected tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      if (!this.#closed) this.call();
    });
  }
}
