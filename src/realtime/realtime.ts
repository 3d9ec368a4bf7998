/**
 * Live data of one process: the objects that all connections share, the clock that drives them, and the notice to all
 * of them when policies or sessions change. Started and stopped with the process. Not here: accepting connections
 * (routes.ts, stream-route.ts).
 */
import type { Authenticator } from '../auth/authenticator.ts';
import type { RequestRate } from '../auth/request-rate.ts';
import type { Mongo } from '../database/mongo.ts';
import type { EventParts } from '../events/open-events.ts';
import { FairSemaphore } from '../kernel/concurrency/fair-semaphore.ts';
import { networkOf } from '../kernel/config/addresses.ts';
import { Account, type ByteBudget } from '../kernel/memory/byte-budget.ts';
import type { Policies } from '../policies/policies.ts';
import type { LookingAs } from '../policies/standing/looking-as.ts';
import { Turnstile } from '../query/evaluate/turnstile.ts';
import { SnapshotStore } from './answer/snapshot-store.ts';
import { CLIENT_BYTES, type Client } from './client/client.ts';
import { Hub } from './hub/hub.ts';
import { Backlog } from './subscription/backlog.ts';
import { type RealtimeParts, timingOf } from './subscription/realtime-parts.ts';
import { RightsChanges } from './subscription/rights-changes.ts';
import { Rescoping } from './subscription/scope-difference.ts';
import { CLOSE } from './wire/protocol.ts';
import { FlushScheduler } from './wire/send-queue.ts';

/** How many snapshots may begin to read the database at one time. */
const SNAPSHOTS_AT_ONCE = 16;
/** How many of these for one client; one when they are slow, because each then keeps a core of the database busy. */
const SNAPSHOTS_OF_ONE = 2;
/** A snapshot is slow if it takes longer to begin, in milliseconds. */
const SLOW_SNAPSHOT_MS = 50;
const TICKS_PER_HEARTBEAT = 50;

export interface RealtimeOptions {
  readonly mongo: Pick<Mongo, 'data'>;
  readonly events: Pick<EventParts, 'tail' | 'feed' | 'log' | 'completed' | 'readers'>;
  readonly policies: Policies;
  readonly authenticator: Authenticator;
  readonly lookingAs: LookingAs;
  readonly requestRate: RequestRate;
  readonly queryTimeoutMs: number;
  /** The most clients; more are refused. */
  readonly maxClients: number;
  readonly heartbeatMs: number;
  /** The memory that may be held for clients. */
  readonly budget: ByteBudget;
  readonly onError: (error: unknown) => void;
}

export class Realtime {
  readonly parts: RealtimeParts;
  readonly #clients = new Set<Client>();
  readonly #maxClients: number;
  readonly #timer: NodeJS.Timeout;
  readonly #ends: readonly (() => void)[];
  #closing = false;

  constructor(options: RealtimeOptions) {
    const { events, policies, authenticator, lookingAs, requestRate, onError } = options;
    const { tail, feed, log, completed, readers } = events;
    const timing = timingOf(options.heartbeatMs);
    const hub = new Hub({ tail, completed, onError });
    const store = new SnapshotStore(options.mongo.data, options.queryTimeoutMs);
    const slots = new FairSemaphore(SNAPSHOTS_AT_ONCE, SNAPSHOTS_OF_ONE, SLOW_SNAPSHOT_MS);
    const rights = new RightsChanges({ tail, log });
    this.parts = {
      hub,
      backlog: new Backlog({ hub, log, completed, readers }),
      store,
      feed,
      policies,
      authenticator,
      lookingAs,
      requestRate,
      turns: new FlushScheduler(),
      slots,
      turnstile: new Turnstile(),
      rescoping: new Rescoping(store, slots),
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
  *open(): Generator<Client['open'][number]> {
    for (const client of this.#clients) yield* client.open;
  }

  /** Whether another client can be taken. */
  get hasRoom(): boolean {
    return !this.#closing && this.#clients.size < this.#maxClients;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** An account for a client that comes from an address. */
  accountOf(address: string): Account {
    return new Account(this.parts.budget, networkOf(address));
  }

  /** Adds a client. @returns the function to call when its connection has ended */
  take(client: Client): () => void {
    this.#clients.add(client);
    client.queue.account.note(CLIENT_BYTES);
    return () => {
      client.gone();
      if (this.#clients.delete(client)) client.queue.account.note(-CLIENT_BYTES);
    };
  }

  /** Closes all connections and refuses new ones. Clients are told times to come back that are spread over a while. */
  sendAway(): void {
    this.#closing = true;
    const { comeBackMs } = this.parts.timing;
    for (const client of [...this.#clients]) {
      client.close(CLOSE.restarting, 'The server restarts', 500 + Math.floor(Math.random() * comeBackMs));
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const end of this.#ends) end();
    this.sendAway();
    await this.parts.hub.close();
  }

  #tick(): void {
    const now = performance.now();
    for (const client of this.#clients) client.tick(now);
  }

  #rescope(): void {
    this.parts.policyVersion += 1;
    for (const client of [...this.#clients]) client.rescope();
  }
}
