/** Creates and starts the services of webhooks: endpoints, sender, planner, replays and samples. */
import type { Authenticator } from '../auth/authenticator.ts';
import type { Users } from '../auth/users/users.ts';
import { type Config, ConfigError } from '../config/config.ts';
import type { AuditEvents } from '../database/audit-only-events.ts';
import type { Mongo } from '../database/mongo.ts';
import { type ChangeStamp, SYSTEM_CHANGE_STAMP } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { WriteServerLog } from '../events/log/server-log-forwarder.ts';
import type { EventServices } from '../events/services.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { Policies } from '../policies/policies.ts';
import type { Creator } from './endpoint/endpoint.ts';
import { EndpointStore } from './endpoint/endpoint-store.ts';
import { Endpoints } from './endpoint/endpoints.ts';
import { isDeliveryEvent } from './planning/compiled-endpoint.ts';
import { EventDeliveryBuilder } from './planning/deliveries-for-event.ts';
import { DeliveryNotifier } from './planning/delivery-notifier.ts';
import { DeliveryPlanner } from './planning/delivery-planner.ts';
import { EndpointPrincipals } from './planning/endpoint-principals.ts';
import { endpointsAtPosition } from './planning/endpoints-at-position.ts';
import { EventSamples } from './planning/event-samples.ts';
import { ReplayStore } from './planning/replay-store.ts';
import { WebhookReplays } from './planning/webhook-replays.ts';
import { DirectSender } from './sending/direct/direct-sender.ts';
import type { Delivery, Sender, SenderEvents, StoredEndpointReader } from './sending/sender.ts';

export interface WebhookServices {
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly replays: WebhookReplays;
  readonly samples: EventSamples;
  /** Whether endpoints of a principal may have received user events. */
  readonly maySendUserEvents: (creator: Creator) => Promise<boolean>;
}

/** Creates the sender without starting it. */
type CreateSender = (events: SenderEvents, stored: StoredEndpointReader) => Sender | Promise<Sender>;

export interface WebhookServicesDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly authenticator: Pick<Authenticator, 'principalFor' | 'onRevoked'>;
  readonly users: Pick<Users, 'registerGrants'>;
  readonly activity: AuditEvents;
  readonly encryption: Encryption;
  readonly policies: Policies;
  readonly events: EventServices;
  readonly egress: Pick<Egress, 'checkUrl'>;
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
  readonly createSender: CreateSender;
  readonly onError: (error: unknown) => void;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

export interface SenderDeps {
  readonly mongo: Pick<Mongo, 'log'>;
  readonly egress: Egress;
  readonly onLog: WriteServerLog;
  /** Version of the program. */
  readonly version: string;
}

/** The event log must already be followed. */
export async function createWebhookServices(deps: WebhookServicesDeps): Promise<WebhookServices> {
  const { mongo, transactions, authenticator, activity, policies, events, egress, publicUrl, onError, cleanup } = deps;
  const store = new EndpointStore(mongo, deps.encryption);
  const replayStore = new ReplayStore(mongo);
  await Promise.all([store.start(), replayStore.start()]);

  const reported: SenderEvents = {
    onDisable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onFailed: (deliveries) => recordDead(activity, deliveries),
  };
  const sender = await deps.createSender(reported, {
    ids: () => endpoints.storedIds(),
    one: (id) => endpoints.stored(id),
  });
  const checkUrl = (url: string) => egress.checkUrl(url);
  const endpoints = new Endpoints({ store, transactions, activity, sender, checkUrl, onError });
  const { reloader } = endpoints;
  const grants = { removeAll: (id: string, stamp: ChangeStamp) => endpoints.removeOf({ kind: 'user', id }, stamp) };
  cleanup.defer(deps.users.registerGrants(grants));
  cleanup.adopt(sender, (it) => it.stop());
  await sender.start();
  cleanup.adopt(reloader, (it) => it.stop());
  cleanup.defer(events.tail.attachCache(reloader));
  // While the log is followed, no polling is needed: an idle instance sends the database no queries.
  await reloader.start(() => events.tail.healthy);

  const creators = new EndpointPrincipals(authenticator, () => planner.disableOrphanedEndpoints());
  const rows = new EventDeliveryBuilder({ policies, creators, completed: events.completed, publicUrl });
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
  cleanup.adopt(creators, (it) => it.stop());
  creators.start();
  cleanup.adopt(replays, (it) => it.stop());
  cleanup.adopt(planner, async (it) => {
    ending.abort();
    await it.stop();
  });
  planner.start();
  cleanup.adopt(waker, (it) => it.stop());
  await waker.start();
  const samples = new EventSamples({ events, rows });
  const maySendUserEvents = async (creator: Creator) => {
    const principal = await creators.find(creator);
    // What a deleted principal received before is unknown.
    return principal === null || policies.find(principal, 'read', '_admin:accounts') !== null;
  };
  return { endpoints, sender, replays, samples, maySendUserEvents };
}

/**
 * Chooses the sender by the settings: Svix if configured, otherwise Millrace itself.
 * @throws ConfigError if the egress policy blocks the URL of Svix
 */
export function senderFor({ svix }: Config['webhooks'], deps: SenderDeps): CreateSender {
  const { mongo, egress, onLog, version } = deps;
  if (svix === null) return (events) => new DirectSender({ mongo, egress, onLog, events, version });
  const issue = egress.checkUrl(svix.url);
  if (issue !== null) {
    const hint = 'Add the network of your own server to MILLRACE_EGRESS_ALLOW.';
    throw new ConfigError([`MILLRACE_SVIX_URL: the URL ${issue}. ${hint}`]);
  }
  const { url, token } = svix;
  return async (events, stored) => {
    const { SvixSender } = await import('./sending/svix/svix-sender.ts');
    return new SvixSender({ mongo, egress, onLog, url, token, events, stored });
  };
}

/** That a delivery of such an event failed is no event, or one failure would make the next one. */
async function recordDead(activity: AuditEvents, deliveries: readonly Delivery[]): Promise<void> {
  const reported = deliveries.filter(({ type }) => !isDeliveryEvent(type));
  const details = reported.map(({ id: delivery, endpoint, event, type }) => ({ endpoint, delivery, event, type }));
  await activity.recordAll('system.delivery.failed', details, SYSTEM_CHANGE_STAMP);
}
