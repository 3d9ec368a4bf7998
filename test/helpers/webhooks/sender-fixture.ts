/** Fixture of sender tests: the sender, its clock, and what it has reported. */
import type { Test } from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Egress, type EgressOptions } from '../../../src/egress/egress.ts';
import type { DisabledReason } from '../../../src/webhooks/endpoint/endpoint.ts';
import { DirectSender } from '../../../src/webhooks/sending/direct/direct-sender.ts';
import type { SenderLimits } from '../../../src/webhooks/sending/queue/queue-types.ts';
import type { Delivery, Sender, SenderEvents } from '../../../src/webhooks/sending/sender.ts';
import { testMongo } from '../mongo.ts';
import { until } from '../until.ts';
import { MemorySender } from './memory-sender.ts';

/** One call takes at most this long in tests, in milliseconds. */
export const TIMEOUT_MS = 1_000;

export interface SenderFixture {
  readonly sender: Sender;
  readonly disabled: readonly { readonly endpoint: string; readonly reason: DisabledReason }[];
  readonly dead: readonly Delivery[];
  /** Moves the sender's time, and wakes it. */
  advance(ms: number): void;
  /** Waits until a delivery has a state. */
  reaches(id: string, state: Delivery['state']): Promise<Delivery>;
  /** Waits until all endpoint changes are active in the sender. */
  settled(): Promise<void>;
  /** Waits until a delivery has this many attempts. */
  tried(id: string, attempts: number): Promise<Delivery>;
}

export type OpenFixture = (t: Test) => Promise<SenderFixture>;

/** Differences between senders: the suite expects of each what it can do. */
export interface SenderTraits {
  /** Sends the requests itself: with the event's id as `webhook-id`, with its own name, and its headers are kept. */
  readonly makesRequests: boolean;
  /** Pauses an endpoint for a while after many failures. */
  readonly hasBreaker: boolean;
  /** Retries each endpoint by its own schedule, after a resend too. */
  readonly hasSchedules: boolean;
  /** Longest pause that a receiver can request instead of one of 5 s, in milliseconds. */
  readonly longestPauseMs: number;
}

export const OWN_TRAITS: SenderTraits = {
  makesRequests: true,
  hasBreaker: true,
  hasSchedules: true,
  longestPauseMs: 24 * 3_600_000,
};

export interface Clock {
  readonly offset: () => number;
  readonly events: SenderEvents;
}

export function fixture(t: Test, open: (clock: Clock) => Sender): SenderFixture {
  const disabled: { endpoint: string; reason: DisabledReason }[] = [];
  const dead: Delivery[] = [];
  let offset = 0;
  const events: SenderEvents = {
    onDisable: async (endpoint, reason) => void disabled.push({ endpoint, reason }),
    onFailed: async (deliveries) => void dead.push(...deliveries),
  };
  const sender = open({ offset: () => offset, events });
  t.teardown(() => sender.stop());
  const when = async (id: string, fact: (delivery: Delivery) => boolean, what: string) => {
    let found: Delivery | undefined;
    await until(async () => {
      found = (await sender.delivery(id))?.delivery;
      return found !== undefined && fact(found);
    }, what);
    if (found === undefined) throw new Error(`There is no delivery ${id}`);
    return found;
  };
  return {
    sender,
    disabled,
    dead,
    advance: (ms) => {
      offset += ms;
      sender.wake();
    },
    settled: async () => undefined,
    reaches: (id, state) => when(id, (one) => one.state === state, `${id} is ${state}`),
    tried: (id, attempts) => when(id, (one) => one.attempts === attempts, `${id} was tried ${attempts} times`),
  };
}

export interface DirectPlace {
  readonly url: string;
  readonly database: string;
  readonly limits?: Partial<SenderLimits>;
  readonly egress?: EgressOptions;
  /** Instead of the clock that `advance` moves. */
  readonly clockOffsetMs?: () => number;
}

/** A direct sender with a connection of its own, as in a process of its own. */
export async function openDirect(
  t: Test,
  { url, database, limits = {}, egress: rules, clockOffsetMs }: DirectPlace,
): Promise<SenderFixture> {
  const mongo = await connectMongo({ url, database });
  t.teardown(() => mongo.close());
  const egress = new Egress(rules ?? { mode: 'development', allow: [] });
  t.teardown(() => egress.close());
  const created = fixture(
    t,
    ({ offset, events }) =>
      new DirectSender({
        mongo,
        egress,
        events,
        version: '1.2.3',
        clockOffsetMs: clockOffsetMs ?? offset,
        random: () => 0.5,
        limits: { timeoutMs: TIMEOUT_MS, leaseMs: 5_000, ...limits },
      }),
  );
  await created.sender.start();
  return created;
}

/** The direct sender on a database of its own. */
export const directFixture: OpenFixture = async (t) => openDirect(t, await testMongo(t));

/** The sender in memory. */
export const memoryFixture: OpenFixture = async (t) => {
  const created = fixture(
    t,
    ({ offset, events }) =>
      new MemorySender({ events, version: '1.2.3', clockOffsetMs: offset, timeoutMs: TIMEOUT_MS }),
  );
  await created.sender.start();
  return created;
};
