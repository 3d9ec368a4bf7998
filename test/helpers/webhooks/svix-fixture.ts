/**
 * A Svix sender for a test, and the Svix that it uses: a counterpart, or a real server where `MILLRACE_TEST_SVIX_URL`
 * and `MILLRACE_TEST_SVIX_TOKEN` are set.
 */
import type { Test } from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Egress } from '../../../src/egress/egress.ts';
import type { EndpointDeliverySettings } from '../../../src/webhooks/endpoint/endpoint.ts';
import type { StoredEndpointReader } from '../../../src/webhooks/sending/sender.ts';
import { SvixSender, type SvixTimes } from '../../../src/webhooks/sending/svix/svix-sender.ts';
import { testMongo } from '../mongo.ts';
import { until } from '../until.ts';
import { fixture, type OpenFixture, type SenderFixture, type SenderTraits, TIMEOUT_MS } from './sender-fixture.ts';
import { startSvix } from './svix/svix-server.ts';

/** Short times for tests, in milliseconds. */
export const SVIX_TEST_TIMES: SvixTimes = {
  callMs: 1_000,
  settleMs: 2_000,
  pollMs: [30, 60, 120, 250, 1_000],
  lostMs: 20_000,
  pauseMs: 50,
  refusedMs: 200,
  checkMs: 3_600_000,
};

export interface SvixPlace {
  readonly url: string;
  readonly database: string;
  readonly svix: { readonly url: string; readonly token: string };
  readonly times?: Partial<SvixTimes>;
  /** The endpoints that Millrace has; without it the sender's latest ones. */
  readonly stored?: StoredEndpointReader;
}

/** Svix has its own requests and its own schedule, and no breaker. */
export const SVIX_TRAITS: SenderTraits = {
  makesRequests: false,
  hasBreaker: false,
  hasSchedules: false,
  longestPauseMs: 10_000,
};

export interface SvixFixture extends SenderFixture {
  /** The endpoints passed to the sender. */
  readonly reported: ReadonlyMap<string, EndpointDeliverySettings>;
  readonly notes: readonly string[];
}

/** Endpoints as in a database. */
export function storedIn(targets: ReadonlyMap<string, EndpointDeliverySettings>): StoredEndpointReader {
  return { ids: async () => [...targets.keys()], one: async (id) => targets.get(id) ?? null };
}

/** A Svix sender with a connection of its own, as in a process of its own. */
export async function openSvix(t: Test, place: SvixPlace): Promise<SvixFixture> {
  const mongo = await connectMongo({ url: place.url, database: place.database });
  t.teardown(() => mongo.close());
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(() => egress.close());
  const reported = new Map<string, EndpointDeliverySettings>();
  const notes: string[] = [];
  const created = fixture(t, ({ offset, events }) => {
    const sender = new SvixSender({
      url: place.svix.url,
      token: place.svix.token,
      mongo,
      egress,
      events,
      stored: place.stored ?? storedIn(reported),
      clockOffsetMs: offset,
      onLog: (_, message, details) => notes.push(`${message}: ${JSON.stringify(details)}`),
      times: { ...SVIX_TEST_TIMES, ...place.times },
      limits: { leaseMs: 20_000 },
    });
    const ensure = sender.ensureEndpoint.bind(sender);
    sender.ensureEndpoint = async (target) => {
      reported.set(target.id, target);
      await ensure(target);
    };
    const remove = sender.removeEndpoint.bind(sender);
    sender.removeEndpoint = async (id) => {
      reported.delete(id);
      await remove(id);
    };
    return sender;
  });
  await created.sender.start();
  return { ...created, notes, reported };
}

const { MILLRACE_TEST_SVIX_URL: realUrl, MILLRACE_TEST_SVIX_TOKEN: realToken } = process.env;

/** Whether a real server is configured. Its clock cannot be moved. */
export const REAL_SVIX = realUrl !== undefined && realToken !== undefined;

/** The Svix sender on a database of its own. */
export const svixFixture: OpenFixture = async (t) => {
  const { url, database } = await testMongo(t);
  if (realUrl !== undefined && realToken !== undefined) {
    return await openSvix(t, { url, database, svix: { url: realUrl, token: realToken } });
  }
  let offset = 0;
  const svix = await startSvix(t, { now: () => Date.now() + offset, timeoutMs: TIMEOUT_MS });
  const created = await openSvix(t, { url, database, svix });
  return {
    ...created,
    settled: async () => {
      const known = () => [...(svix.state.apps.values().next().value?.endpoints.values() ?? [])].map(({ uid }) => uid);
      await until(
        () => known().length === created.reported.size && known().every((id) => created.reported.has(id ?? '')),
        'it knows them',
      );
    },
    advance: (ms) => {
      offset += ms;
      svix.state.wake();
      created.advance(ms);
    },
  };
};
