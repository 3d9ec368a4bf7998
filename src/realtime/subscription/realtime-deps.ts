/** Shared dependencies of all connections and subscriptions of one process, and its timing. */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { RequestRateLimiter } from '../../auth/request-rate-limiter.ts';
import type { Feed } from '../../events/read/feed.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { ByteBudget } from '../../lib/memory/byte-budget.ts';
import type { ImpersonationService } from '../../policies/impersonation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { Hub } from '../hub/hub.ts';
import type { SnapshotReader } from '../result/snapshot-reader.ts';
import type { FlushScheduler } from '../wire/send-queue.ts';
import type { Backlog } from './missed-rows-reader.ts';
import type { RecentRightsChanges } from './recent-rights-changes.ts';
import type { ScopeDifferences } from './scope-difference.ts';
import type { SharedRowEffects } from './shared-row-effects.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';

export interface RealtimeDeps {
  readonly hub: Hub;
  readonly backlog: Backlog;
  readonly store: SnapshotReader;
  readonly feed: Pick<Feed, 'usable'>;
  readonly policies: Policies;
  readonly authenticator: Authenticator;
  /** For subscriptions that impersonate another principal. */
  readonly impersonation: ImpersonationService;
  /** Each subscription counts as one request. */
  readonly requestRate: RequestRateLimiter;
  readonly flushScheduler: FlushScheduler;
  readonly snapshots: SharedSnapshots;
  readonly rowEffects: SharedRowEffects;
  /** Limits how many snapshots are read from the database concurrently. */
  readonly slots: FairSemaphore;
  /** Schedules subscriptions that catch up, piece by piece. */
  readonly fairYield: FairScheduler;
  readonly scopeDifferences: ScopeDifferences;
  readonly rights: RecentRightsChanges;
  readonly timing: ProtocolTimings;
  /** The memory used for clients, and its limits. */
  readonly budget: ByteBudget;
  /** Counts the changes of policies in this process. */
  policyVersion: number;
  readonly onError: (error: unknown) => void;
}

/** Times of the protocol, in milliseconds. */
export interface ProtocolTimings {
  readonly helloMs: number;
  readonly heartbeatMs: number;
  /** A position is sent at least this often while unrelated rows pass. */
  readonly positionMs: number;
  /** How long a client may lag. */
  readonly lagMs: number;
  /** How long before the end of a credential its client is warned. */
  readonly expiringMs: number;
  /** Clients of a server that restarts reconnect within this time. */
  readonly reconnectSpreadMs: number;
}

export function protocolTimings(heartbeatMs: number): ProtocolTimings {
  return {
    helloMs: 5_000,
    heartbeatMs,
    positionMs: Math.min(5_000, heartbeatMs / 5),
    lagMs: 30_000,
    expiringMs: 60_000,
    reconnectSpreadMs: 5_000,
  };
}
