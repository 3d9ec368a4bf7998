/**
 * Creates and connects all parts of webhooks: the book of endpoints, the sender, the planner, replays and samples. What is
 * started here is stopped here, in reverse order. No behaviour of its own. Not here: HTTP (http/).
 */
import type { Users } from '../auth/accounts/users.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Activity } from '../database/activity.ts';
import type { Mongo } from '../database/mongo.ts';
import { ITSELF, type Stamp } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import type { EventParts } from '../events/open-events.ts';
import { Closers } from '../kernel/closers.ts';
import type { Sealer } from '../kernel/sealer.ts';
import type { Policies } from '../policies/policies.ts';
import type { Maker } from './endpoint/endpoint.ts';
import { EndpointStore } from './endpoint/endpoint-store.ts';
import { Endpoints } from './endpoint/endpoints.ts';
import type { MakeSender } from './open-sender.ts';
import { endpointsAt } from './planning/endpoints-at.ts';
import { Makers } from './planning/makers.ts';
import { OF_DELIVERIES } from './planning/planned-endpoint.ts';
import { Planner } from './planning/planner.ts';
import { ReplayStore } from './planning/replay-store.ts';
import { LogReplays } from './planning/replays.ts';
import { RowDeliveries } from './planning/row-deliveries.ts';
import { LogSamples } from './planning/samples.ts';
import { Waker } from './planning/waker.ts';
import type { Delivery, Sender, SenderEvents } from './sending/sender.ts';

export interface WebhookParts {
  readonly endpoints: Endpoints;
  readonly sender: Sender;
  readonly replays: LogReplays;
  readonly samples: LogSamples;
  /** Whether endpoints of a maker may have been sent events of accounts. */
  readonly mayTellOfAccounts: (maker: Maker) => Promise<boolean>;
  close(): Promise<void>;
}

export interface WebhookNeeds {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly auth: {
    readonly authenticator: Pick<Authenticator, 'standing' | 'onRevoked'>;
    readonly users: Pick<Users, 'endWithProof'>;
    readonly activity: Activity;
    readonly sealer: Sealer;
  };
  readonly policies: Policies;
  readonly events: EventParts;
  readonly checkUrl: Egress['checkUrl'];
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
  readonly makeSender: MakeSender;
  readonly onError: (error: unknown) => void;
}

/** Opens and starts webhooks. The event log must be followed already. */
export async function openWebhooks(needs: WebhookNeeds): Promise<WebhookParts> {
  const closers = new Closers();
  try {
    return await openOn(needs, closers);
  } catch (error) {
    await closers.close().catch(needs.onError);
    throw error;
  }
}

async function openOn(needs: WebhookNeeds, closers: Closers): Promise<WebhookParts> {
  const { mongo, transactions, auth, policies, events, checkUrl, publicUrl, onError } = needs;
  const { activity, authenticator } = auth;
  const [store, replayStore] = [new EndpointStore(mongo, auth.sealer), new ReplayStore(mongo)];
  await Promise.all([store.start(), replayStore.start()]);

  const told: SenderEvents = {
    onDisable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onDead: (deliveries) => recordDead(activity, deliveries),
  };
  const sender = await needs.makeSender(told, { ids: () => endpoints.storedIds(), one: (id) => endpoints.stored(id) });
  const endpoints = new Endpoints({ store, transactions, activity, sender, checkUrl, onError });
  const { reloader } = endpoints;
  const grants = { removeAll: (id: string, stamp: Stamp) => endpoints.removeOf({ kind: 'user', id }, stamp) };
  closers.add(auth.users.endWithProof(grants), (it) => it());
  closers.add(sender, (it) => it.stop());
  await sender.start();
  closers.add(reloader, (it) => it.stop());
  const unfollow = events.tail.attach({ rows: (rows) => reloader.follow(rows), lost: () => reloader.follow(null) });
  closers.add(unfollow, (it) => it());
  // While the log is followed nothing is looked for: an idle installation asks the database nothing.
  await reloader.start(() => events.tail.healthy);

  const makers = new Makers(authenticator, () => planner.lookForGone());
  const rows = new RowDeliveries({ policies, makers, completed: events.completed, publicUrl });
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
    endpointsAt: (place) => endpointsAt(place, { data: mongo.data, log, recorder, signal: ending.signal }),
    makers,
    rows,
    sender,
    disable: async (endpoint, reason) => void (await endpoints.disable(endpoint, reason)),
    onReplays: () => replays.run(),
    onError,
  });
  const waker = new Waker({ data: mongo.data, tail: events.tail, sender, plans: () => planner.plans, onError });
  closers.add(makers, (it) => it.stop());
  makers.start();
  closers.add(replays, (it) => it.stop());
  closers.add(planner, async (it) => {
    ending.abort();
    await it.stop();
  });
  planner.start();
  closers.add(waker, (it) => it.stop());
  await waker.start();
  const samples = new LogSamples({ events, rows });
  const mayTellOfAccounts = async (maker: Maker) => {
    const principal = await makers.find(maker);
    // What one that is gone was sent before is not known.
    return principal === null || policies.find(principal, 'read', 'admin:accounts') !== null;
  };
  return { endpoints, sender, replays, samples, mayTellOfAccounts, close: () => closers.close() };
}

/** That a delivery of such an event is dead is no event, or one death would make the next one. */
async function recordDead(activity: Activity, deliveries: readonly Delivery[]): Promise<void> {
  const told = deliveries.filter(({ type }) => !type.startsWith(OF_DELIVERIES));
  const details = told.map(({ id: delivery, endpoint, event, type }) => ({ endpoint, delivery, event, type }));
  await activity.recordAll('system.delivery.dead', details, ITSELF);
}
