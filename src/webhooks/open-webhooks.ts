/**
 * Creates and connects the parts of webhooks: endpoints, sender, planner, replays and samples; stops them in reverse
 * order.
 */
import type { Authenticator } from '../auth/authenticator.ts';
import type { Users } from '../auth/users/users.ts';
import type { Activity } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import { ITSELF, type Stamp } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventServices } from '../events/open-events.ts';
import { Closers } from '../lib/closers.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { Policies } from '../policies/policies.ts';
import type { Creator } from './endpoint/endpoint.ts';
import { EndpointStore } from './endpoint/endpoint-store.ts';
import { Endpoints } from './endpoint/endpoints.ts';
import type { MakeSender } from './open-sender.ts';
import { OF_DELIVERIES } from './planning/compiled-endpoint.ts';
import { RowDeliveries } from './planning/deliveries-for-event.ts';
import { Waker } from './planning/delivery-notifier.ts';
import { Creators } from './planning/endpoint-principals.ts';
import { endpointsAt } from './planning/endpoints-at-position.ts';
import { Planner } from './planning/planner.ts';
import { ReplayStore } from './planning/replay-store.ts';
import { LogReplays } from './planning/replays.ts';
import { LogSamples } from './planning/samples.ts';
import type { Delivery, Sender, SenderEvents } from './sending/sender.ts';

export interface WebhookServices {
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly replays: LogReplays;
  readonly samples: LogSamples;
  /** Whether endpoints of a principal may have received user events. */
  readonly maySendUserEvents: (creator: Creator) => Promise<boolean>;
  close(): Promise<void>;
}

export interface WebhookDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly auth: {
    readonly authenticator: Pick<Authenticator, 'principalFor' | 'onRevoked'>;
    readonly users: Pick<Users, 'endWithProof'>;
    readonly activity: Activity;
    readonly encryption: Encryption;
  };
  readonly policies: Policies;
  readonly events: EventServices;
  readonly checkUrl: Egress['checkUrl'];
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
  readonly makeSender: MakeSender;
  readonly onError: (error: unknown) => void;
}

/** Opens and starts webhooks. The event log must already be followed. */
export async function openWebhooks(deps: WebhookDeps): Promise<WebhookServices> {
  const closers = new Closers();
  try {
    return await openOn(deps, closers);
  } catch (error) {
    await closers.close().catch(deps.onError);
    throw error;
  }
}

async function openOn(deps: WebhookDeps, closers: Closers): Promise<WebhookServices> {
  const { mongo, transactions, auth, policies, events, checkUrl, publicUrl, onError } = deps;
  const { activity, authenticator } = auth;
  const [store, replayStore] = [new EndpointStore(mongo, auth.encryption), new ReplayStore(mongo)];
  await Promise.all([store.start(), replayStore.start()]);

  const reported: SenderEvents = {
    onDisable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onFailed: (deliveries) => recordDead(activity, deliveries),
  };
  const sender = await deps.makeSender(reported, {
    ids: () => endpoints.storedIds(),
    one: (id) => endpoints.stored(id),
  });
  const endpoints = new Endpoints({ store, transactions, activity, sender, checkUrl, onError });
  const { reloader } = endpoints;
  const grants = { removeAll: (id: string, stamp: Stamp) => endpoints.removeOf({ kind: 'user', id }, stamp) };
  closers.add(auth.users.endWithProof(grants), (it) => it());
  closers.add(sender, (it) => it.stop());
  await sender.start();
  closers.add(reloader, (it) => it.stop());
  const unfollow = events.tail.attach({ rows: (rows) => reloader.follow(rows), lost: () => reloader.follow(null) });
  closers.add(unfollow, (it) => it());
  // While the log is followed, no polling is needed: an idle instance sends the database no queries.
  await reloader.start(() => events.tail.healthy);

  const creators = new Creators(authenticator, () => planner.lookForGone());
  const rows = new RowDeliveries({ policies, creators, completed: events.completed, publicUrl });
  const replays = new LogReplays({
    store: replayStore,
    events,
    activity,
    rows,
    sender,
    planner: () => planner,
    onError,
  });
  const ending = new AbortController();
  const { log, recorder } = events;
  const planner = new Planner({
    consumer: events.consumer,
    records: () => recorder.state.status === 'recording',
    endpointsAt: (position) => endpointsAt(position, { data: mongo.data, log, recorder, signal: ending.signal }),
    creators,
    rows,
    sender,
    disable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onReplays: () => replays.run(),
    onError,
  });
  const waker = new Waker({ data: mongo.data, tail: events.tail, sender, plans: () => planner.plans, onError });
  closers.add(creators, (it) => it.stop());
  creators.start();
  closers.add(replays, (it) => it.stop());
  closers.add(planner, async (it) => {
    ending.abort();
    await it.stop();
  });
  planner.start();
  closers.add(waker, (it) => it.stop());
  await waker.start();
  const samples = new LogSamples({ events, rows });
  const maySendUserEvents = async (creator: Creator) => {
    const principal = await creators.find(creator);
    // What a deleted principal received before is unknown.
    return principal === null || policies.find(principal, 'read', '_admin:accounts') !== null;
  };
  return { endpoints, sender, replays, samples, maySendUserEvents, close: () => closers.close() };
}

/** That a delivery of such an event failed is no event, or one failure would make the next one. */
async function recordDead(activity: Activity, deliveries: readonly Delivery[]): Promise<void> {
  const reported = deliveries.filter(({ type }) => !type.startsWith(OF_DELIVERIES));
  const details = reported.map(({ id: delivery, endpoint, event, type }) => ({ endpoint, delivery, event, type }));
  await activity.recordAll('system.delivery.failed', details, ITSELF);
}
