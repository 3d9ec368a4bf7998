/** The objects that all connections and subscriptions of one process share. Only types and times; no behaviour. */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { RequestRate } from '../../auth/request-rate.ts';
import type { Feed } from '../../events/read/feed.ts';
import type { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import type { ByteBudget } from '../../kernel/memory/byte-budget.ts';
import type { Policies } from '../../policies/policies.ts';
import type { LookingAs } from '../../policies/standing/looking-as.ts';
import type { Turnstile } from '../../query/evaluate/turnstile.ts';
import type { SnapshotStore } from '../answer/snapshot-store.ts';
import type { Hub } from '../hub/hub.ts';
import type { FlushScheduler } from '../wire/send-queue.ts';
import type { Backlog } from './backlog.ts';
import type { RightsChanges } from './rights-changes.ts';
import type { Rescoping } from './scope-difference.ts';

export interface RealtimeParts {
  readonly hub: Hub;
  readonly backlog: Backlog;
  readonly store: SnapshotStore;
  readonly feed: Pick<Feed, 'usable'>;
  readonly policies: Policies;
  readonly authenticator: Authenticator;
  /** For subscriptions of owners as another principal. */
  readonly lookingAs: LookingAs;
  /** Each subscription counts against it like a request. */
  readonly requestRate: RequestRate;
  readonly turns: FlushScheduler;
  /** Limits how many snapshots begin to read the database at one time. */
  readonly slots: FairSemaphore;
  /** Gives turns to subscriptions that catch up, piece by piece. */
  readonly turnstile: Turnstile;
  readonly rescoping: Rescoping;
  readonly rights: RightsChanges;
  readonly timing: Timing;
  /** How much memory is held for clients, and how much may be. */
  readonly budget: ByteBudget;
  /** Counts the changes of policies in this process. */
  policyVersion: number;
  readonly onError: (error: unknown) => void;
}

/** Times of the protocol, in milliseconds. */
export interface Timing {
  readonly helloMs: number;
  readonly heartbeatMs: number;
  /** A position is sent at least this often while rows pass that do not concern the client. */
  readonly positionMs: number;
  /** How long a client may lag. */
  readonly lagMs: number;
  /** How long before the end of a credential its client is warned. */
  readonly expiringMs: number;
  /** Clients of a server that restarts come back within this time. */
  readonly comeBackMs: number;
}

export function timingOf(heartbeatMs: number): Timing {
  return {
    helloMs: 5_000,
    heartbeatMs,
    positionMs: Math.min(5_000, heartbeatMs / 5),
    lagMs: 30_000,
    expiringMs: 60_000,
    comeBackMs: 5_000,
  };
}
