/**
 * Each event goes to exactly the endpoints that were active at its log position, whatever is created, changed and
 * deleted in between, and wherever the planner and the recorder stop and restart. The oracle is a plain replay of the
 * log. MILLRACE_RUNS sets the number of runs, MILLRACE_LONG=1 runs 200, MILLRACE_SEED repeats one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Document } from 'mongodb';
import t, { type Test } from 'tap';
import { ensureCollection } from '../../../src/database/system-collection.ts';
import { eventType } from '../../../src/events/log/event.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { formatPosition } from '../../../src/events/log/position.ts';
import { Consumer } from '../../../src/events/read/consumer.ts';
import { eventTypeMatcher } from '../../../src/events/read/type-patterns.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { EventDeliveryBuilder } from '../../../src/webhooks/planning/deliveries-for-event.ts';
import { DeliveryPlanner } from '../../../src/webhooks/planning/delivery-planner.ts';
import {
  applyEndpointRow,
  documentIdOf,
  type EndpointStates,
  isAboutEndpoint,
} from '../../../src/webhooks/planning/endpoint-states.ts';
import { endpointsAtPosition } from '../../../src/webhooks/planning/endpoints-at-position.ts';
import { eventFixture, type Fixture, type Node } from '../../helpers/events/event-fixture.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { owner } from '../../helpers/principals.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { RecordingSender } from './recording-sender.ts';

const RUNS = runCount(3, 200);
const STEPS = 60;
const TYPES = ['a.*', 'a.created', 'b.updated', '*.deleted', '*', 'system.endpoint.*'];
const boss = owner();
const { url } = await testMongo(t);

interface Running {
  readonly node: Node;
  readonly planner: DeliveryPlanner;
  stop(): Promise<void>;
}

/** A process that records and plans. */
async function running(fixture: Fixture, sender: RecordingSender): Promise<Running> {
  const node = await fixture.node();
  const end = new AbortController();
  let allowed = true;
  const creators = { find: () => boss };
  const policies = { find: (_: unknown, action: 'read') => unlimitedScope(boss, action) };
  const planner = new DeliveryPlanner({
    consumer: (options) =>
      new Consumer({
        log: node.log,
        tail: node.tail,
        allowed: () => allowed && node.lease.held(),
        attempts: 1_000,
        ...options,
      }),
    records: () => true,
    endpointsAt: (position) =>
      endpointsAtPosition(position, {
        data: node.mongo.data,
        log: node.log,
        recorder: node.recorder,
        signal: end.signal,
      }),
    creators,
    rows: new EventDeliveryBuilder({
      policies: policies as ConstructorParameters<typeof EventDeliveryBuilder>[0]['policies'],
      creators,
      completed: async (row) => row,
      publicUrl: undefined,
    }),
    sender,
    disable: async () => {},
    onReplays: () => {},
    onError: (error) => sender.issues.push(String(error)),
  });
  planner.start();
  return {
    node,
    planner,
    stop: async () => {
      allowed = false;
      end.abort();
      await planner.stop();
      await node.stop();
    },
  };
}

/** The expected events of each endpoint, by a replay of the log from a position on. */
function replayed(rows: readonly LogRow[]): Set<string> {
  let states: EndpointStates = new Map();
  const due = new Set<string>();
  for (const row of rows) {
    const type = eventType(row);
    for (const { id, types, enabled } of states.values()) {
      if (type !== null && enabled && eventTypeMatcher(types)(type)) due.add(`${id}:${formatPosition(row)}`);
    }
    if (isAboutEndpoint(row)) states = applyEndpointRow(states, row);
  }
  return due;
}

async function play(t: Test, random: Random): Promise<{ due: number; repeats: number; restarts: number }> {
  const fixture = await eventFixture(t, url);
  const { data } = fixture.mongo;
  await ensureCollection(data, '_endpoints');
  await ensureCollection(data, 'a');
  const endpoints = data.collection<Document & { _id: string }>('_endpoints');
  const sender = new RecordingSender();
  sender.fate = () => random.pick(['fine', 'fine', 'fine', 'fine', 'before', 'after'] as const);
  let one = await running(fixture, sender);
  let restarts = 0;
  await until(async () => (await one.planner.cursor()) !== null, 'it starts');
  const body = () => ({ types: [random.pick(TYPES), random.pick(TYPES)], enabled: !random.once(4) });
  const principal = { kind: 'admin', id: 'o1' };
  for (let step = 0; step < STEPS; step += 1) {
    const _id = `e${random.below(6)}`;
    const things = data.collection<{ _id: string; n: number }>(random.pick(['a', 'b']));
    switch (random.below(12)) {
      case 0:
      case 1:
        await endpoints.updateOne({ _id }, { $set: { principal, ...body() } }, { upsert: true });
        break;
      case 2:
        await endpoints.deleteOne({ _id });
        break;
      case 3:
        await data.client.withSession((session) =>
          session.withTransaction(async () => {
            await things.updateOne({ _id }, { $inc: { n: 1 } }, { upsert: true, session });
            await endpoints.replaceOne({ _id }, { principal, ...body() }, { upsert: true, session });
            await things.updateOne({ _id }, { $inc: { n: 1 } }, { session });
          }),
        );
        break;
      case 4:
        if (random.once(2)) {
          restarts += 1;
          const stopping = one.stop();
          // Written while no process records.
          await endpoints.updateOne({ _id }, { $set: { principal, ...body() } }, { upsert: true });
          await things.updateOne({ _id }, { $inc: { n: 1 } }, { upsert: true });
          await stopping;
          one = await running(fixture, sender);
        } else await pause(random.below(30));
        break;
      case 5:
        await things.deleteOne({ _id });
        break;
      default:
        await things.updateOne({ _id }, { $inc: { n: 1 } }, { upsert: true });
    }
  }
  sender.fate = () => 'fine';
  await endpoints.insertOne({ _id: 'last', types: ['last.created'], enabled: true, principal });
  await data.collection('last').insertOne({});
  await until(() => sender.of('last').length === 1, 'all is planned');
  const rows = await fixture.log.read(0, 10_000);
  const due = replayed(rows);
  t.strictSame([...sender.deliveries.keys()].sort(), [...due].sort(), 'exactly what was due');
  const left = new Set((await endpoints.find({}, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
  const deleted = rows.filter((row) => isAboutEndpoint(row) && row.operation === 'delete').map(documentIdOf);
  for (const id of deleted.filter((one) => !left.has(one))) t.ok(sender.removed.has(id), `the sender removes ${id}`);
  t.ok(
    [...sender.deliveries.values()].every(
      ({ body, event, type }) => JSON.parse(body).id === event && JSON.parse(body).type === type,
    ),
    'the body is the event',
  );
  await one.stop();
  return { due: due.size, repeats: sender.repeats, restarts };
}

t.setTimeout(120_000 + RUNS * 30_000);
t.test('each event goes to the endpoints at its log position', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const total = { due: 0, repeats: 0, restarts: 0 };
  for (let run = 0; run < RUNS; run += 1) {
    await t.test(`run ${run}, MILLRACE_SEED=${seed + run}`, async (t) => {
      const counts = await play(t, new Random(seed + run));
      for (const name of ['due', 'repeats', 'restarts'] as const) total[name] += counts[name];
    });
  }
  t.comment(JSON.stringify(total));
  t.ok(total.due > RUNS * 20);
});
