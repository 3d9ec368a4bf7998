/**
 * The realtime parts of one process: shared objects, the timer, and the notification of all connections when policies
 * or sessions change.
 */
import type { Authenticator } from '../auth/authenticator.ts';
import type { RequestRateLimiter } from '../auth/request-rate-limiter.ts';
import { clientNetwork } from '../config/addresses.ts';
import type { Mongo } from '../database/mongo.ts';
import type { EventServices } from '../events/services.ts';
import { FairSemaphore } from '../lib/concurrency/fair-semaphore.ts';
import { type ByteBudget, MemoryAccount } from '../lib/memory/byte-budget.ts';
import type { ImpersonationService } from '../policies/impersonation.ts';
import type { Policies } from '../policies/policies.ts';
import { FairScheduler } from '../query/evaluate/fair-scheduler.ts';
import { CONNECTION_OVERHEAD_BYTES, type RealtimeClient } from './client/realtime-client.ts';
import { Hub } from './hub/hub.ts';
import { SnapshotReader } from './result/snapshot-reader.ts';
import { Backlog } from './subscription/missed-rows-reader.ts';
import { protocolTimings, type RealtimeDeps } from './subscription/realtime-deps.ts';
import { RecentRightsChanges } from './subscription/recent-rights-changes.ts';
import { ScopeDifferences } from './subscription/scope-difference.ts';
import { SharedRowEffects } from './subscription/shared-row-effects.ts';
import { SharedSnapshots } from './subscription/shared-snapshots.ts';
import { CLOSE_CODES } from './wire/protocol.ts';
import { FlushScheduler } from './wire/send-queue.ts';

/** How many snapshots, or parts of one, are read from the database concurrently. */
const SNAPSHOTS_AT_ONCE = 8;
/** How many of these for one client; one if they are slow, because each then keeps a core of the database busy. */
const SNAPSHOTS_OF_ONE = 2;
/** A snapshot is slow if it takes longer to start, in milliseconds. */
const SLOW_SNAPSHOT_MS = 50;
const TICKS_PER_HEARTBEAT = 50;

export interface RealtimeOptions {
  readonly mongo: Pick<Mongo, 'data'>;
  readonly events: Pick<EventServices, 'tail' | 'feed' | 'log' | 'completed' | 'readers'>;
  readonly policies: Policies;
  readonly authenticator: Authenticator;
  readonly impersonation: ImpersonationService;
  readonly requestRate: RequestRateLimiter;
  readonly queryTimeoutMs: number;
  /** Maximum number of clients; more are rejected. */
  readonly maxClients: number;
  readonly heartbeatMs: number;
  /** The memory limit for all clients. */
  readonly budget: ByteBudget;
  readonly onError: (error: unknown) => void;
}

export class Realtime {
  readonly deps: RealtimeDeps;
  readonly #clients = new Set<RealtimeClient>();
  readonly #maxClients: number;
  readonly #timer: NodeJS.Timeout;
  readonly #ends: readonly (() => void)[];
  #closing = false;

  constructor(options: RealtimeOptions) {
    const { events, policies, authenticator, impersonation, requestRate, onError } = options;
    const { tail, feed, log, completed, readers } = events;
    const timing = protocolTimings(options.heartbeatMs);
    const hub = new Hub({ tail, completed, onError });
    const store = new SnapshotReader(options.mongo.data, options.queryTimeoutMs);
    const slots = new FairSemaphore(SNAPSHOTS_AT_ONCE, SNAPSHOTS_OF_ONE, SLOW_SNAPSHOT_MS);
    const fairYield = new FairScheduler();
    const rights = new RecentRightsChanges({ tail, log });
    this.deps = {
      hub,
      backlog: new Backlog({ hub, log, completed, readers }),
      store,
      feed,
      policies,
      authenticator,
      impersonation,
      requestRate,
      flushScheduler: new FlushScheduler(),
      snapshots: new SharedSnapshots({ hub, store, slots, fairYield, budget: options.budget }),
      rowEffects: new SharedRowEffects(options.budget),
      slots,
      fairYield,
      scopeDifferences: new ScopeDifferences(store, slots),
      rights,
      timing,
      budget: options.budget,
      policyVersion: 0,
      onError,
    };
    this.#maxClients = options.maxClients;
    this.#timer = setInterval(() => this.#tick(), Math.min(1_000, timing.heartbeatMs / TICKS_PER_HEARTBEAT));
    this.#timer.unref();
    this.#ends = [
      rights.close,
      policies.onChange(() => this.#rescope()),
      authenticator.onRevoked((still) => {
        for (const client of [...this.#clients]) client.revoked(still).catch(onError);
      }),
    ];
  }

  get connections(): number {
    return this.#clients.size;
  }

  /** The open subscriptions of all clients of this process. */
  *open(): Generator<RealtimeClient['open'][number]> {
    for (const client of this.#clients) yield* client.open;
  }

  /** Whether another client can be accepted. */
  get hasRoom(): boolean {
    return !this.#closing && this.#clients.size < this.#maxClients;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** A memory budget for a client with this IP address. */
  accountOf(address: string): MemoryAccount {
    return new MemoryAccount(this.deps.budget, clientNetwork(address));
  }

  /** Adds a client. @returns the function to call when its connection has ended */
  take(client: RealtimeClient): () => void {
    this.#clients.add(client);
    client.queue.account.note(CONNECTION_OVERHEAD_BYTES);
    return () => {
      client.handleDisconnect();
      if (this.#clients.delete(client)) client.queue.account.note(-CONNECTION_OVERHEAD_BYTES);
    };
  }

  /** Closes all connections and rejects new ones. Clients get reconnect times that are spread over a period. */
  closeAllClients(): void {
    this.#closing = true;
    const { reconnectSpreadMs } = this.deps.timing;
    for (const client of [...this.#clients]) {
      client.close(
        CLOSE_CODES.restarting,
        'The server is restarting',
        500 + Math.floor(Math.random() * reconnectSpreadMs),
      );
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const end of this.#ends) end();
    this.closeAllClients();
    await this.deps.hub.close();
  }

  #tick(): void {
    const now = performance.now();
    for (const client of this.#clients) client.tick(now);
  }

  #rescope(): void {
    this.deps.policyVersion += 1;
    for (const client of [...this.#clients]) client.rescope();
  }
}
