/**
 * Creates and connects the parts of webhooks: endpoints, sender, planner, replays and samples; stops them in reverse
 * order.
 */
import type { Authenticator } from '../auth/authenticator.ts';
import type { Users } from '../auth/users/users.ts';
import type { AuditEvents } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import { type ChangeStamp, SYSTEM_STAMP } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventServices } from '../events/open-events.ts';
import { CleanupStack } from '../lib/closers.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { Policies } from '../policies/policies.ts';
import type { Creator } from './endpoint/endpoint.ts';
import { EndpointStore } from './endpoint/endpoint-store.ts';
import { Endpoints } from './endpoint/endpoints.ts';
import type { MakeSender } from './open-sender.ts';
import { DELIVERY_EVENT_PREFIX } from './planning/compiled-endpoint.ts';
import { EventDeliveries } from './planning/deliveries-for-event.ts';
import { DeliveryNotifier } from './planning/delivery-notifier.ts';
import { DeliveryPlanner } from './planning/delivery-planner.ts';
import { EndpointPrincipals } from './planning/endpoint-principals.ts';
import { endpointsAtPosition } from './planning/endpoints-at-position.ts';
import { EventSamples } from './planning/event-samples.ts';
import { ReplayStore } from './planning/replay-store.ts';
import { WebhookReplays } from './planning/webhook-replays.ts';
import type { Delivery, Sender, SenderEvents } from './sending/sender.ts';

export interface WebhookServices {
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly replays: WebhookReplays;
  readonly samples: EventSamples;
  /** Whether endpoints of a principal may have received user events. */
  readonly maySendUserEvents: (creator: Creator) => Promise<boolean>;
  close(): Promise<void>;
}

export interface WebhookDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly auth: {
    readonly authenticator: Pick<Authenticator, 'principalFor' | 'onRevoked'>;
    readonly users: Pick<Users, 'registerGrants'>;
    readonly activity: AuditEvents;
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
  const closers = new CleanupStack();
  try {
    return await openOn(deps, closers);
  } catch (error) {
    await closers.close().catch(deps.onError);
    throw error;
  }
}

async function openOn(deps: WebhookDeps, closers: CleanupStack): Promise<WebhookServices> {
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
  const grants = { removeAll: (id: string, stamp: ChangeStamp) => endpoints.removeOf({ kind: 'user', id }, stamp) };
  closers.add(auth.users.registerGrants(grants), (it) => it());
  closers.add(sender, (it) => it.stop());
  await sender.start();
  closers.add(reloader, (it) => it.stop());
  const unfollow = events.tail.attach({
    rows: (rows) => reloader.applyLogRows(rows),
    lost: () => reloader.applyLogRows(null),
  });
  closers.add(unfollow, (it) => it());
  // While the log is followed, no polling is needed: an idle instance sends the database no queries.
  await reloader.start(() => events.tail.healthy);

  const creators = new EndpointPrincipals(authenticator, () => planner.disableOrphanedEndpoints());
  const rows = new EventDeliveries({ policies, creators, completed: events.completed, publicUrl });
  const replays = new WebhookReplays({
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
  const planner = new DeliveryPlanner({
    consumer: events.consumer,
    records: () => recorder.state.status === 'recording',
    endpointsAt: (position) =>
      endpointsAtPosition(position, { data: mongo.data, log, recorder, signal: ending.signal }),
    creators,
    rows,
    sender,
    disable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onReplays: () => replays.run(),
    onError,
  });
  const waker = new DeliveryNotifier({
    data: mongo.data,
    tail: events.tail,
    sender,
    plans: () => planner.plans,
    onError,
  });
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
  const samples = new EventSamples({ events, rows });
  const maySendUserEvents = async (creator: Creator) => {
    const principal = await creators.find(creator);
    // What a deleted principal received before is unknown.
    return principal === null || policies.find(principal, 'read', '_admin:accounts') !== null;
  };
  return { endpoints, sender, replays, samples, maySendUserEvents, close: () => closers.close() };
}

/** That a delivery of such an event failed is no event, or one failure would make the next one. */
async function recordDead(activity: AuditEvents, deliveries: readonly Delivery[]): Promise<void> {
  const reported = deliveries.filter(({ type }) => !type.startsWith(DELIVERY_EVENT_PREFIX));
  const details = reported.map(({ id: delivery, endpoint, event, type }) => ({ endpoint, delivery, event, type }));
  await activity.recordAll('system.delivery.failed', details, SYSTEM_STAMP);
}
