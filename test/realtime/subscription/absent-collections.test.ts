/**
 * A snapshot that finds no collection may be ahead of the log, which still contains its documents: none of them is
 * sent, until the log says that it was dropped or created.
 */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { LogRowBatch } from '../../../src/realtime/hub/log-row-batch.ts';
import { SubscriptionGroupIndex } from '../../../src/realtime/hub/subscription-group-index.ts';
import { LiveQuery } from '../../../src/realtime/result/live-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import { CollectionSubscription } from '../../../src/realtime/subscription/collection-subscription.ts';
import { SharedSnapshots } from '../../../src/realtime/subscription/shared-snapshots.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import { until } from '../../helpers/until.ts';

const name = parseCollectionName('todos');
const requested = toSubscriptionQuery(parseQueryJson({ sort: 'n', limit: 5 }), true, new Date());

/** A send queue, and what was written to it. */
function listener(turns: FlushScheduler) {
  const reported: string[] = [];
  let text = '';
  const write = (chunk: Buffer) => {
    text += String(chunk);
    if (!text.endsWith('\n\n')) return true;
    const [, type, json = ''] = /^event: (.*)\ndata: (.*)$/m.exec(text) ?? [];
    text = '';
    const { op = '', documentId = '', reason = '' } = JSON.parse(json);
    reported.push([type, op, documentId, reason].filter((word) => word !== '').join(' '));
    return true;
  };
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, on: () => {}, write };
  return { reported, queue: new SendQueue(line, turns, unbounded()) };
}

t.test(
  'a subscription whose snapshot is ahead of an unprocessed drop sends nothing of the dropped documents',
  async (t) => {
    const { app, services } = await buildTestApp(t);
    const common = services.realtime.deps;
    const todos = services.mongo.data.collection<{ _id: string; n: number }>(name);
    await app.inject({ method: 'POST', url: '/api/todos', payload: { id: 'a', n: 1 } });
    await markLog(app, services.events.tail);
    const before = common.hub.newest;
    await todos.updateOne({ _id: 'a' }, { $set: { n: 2 } });
    await todos.deleteOne({ _id: 'a' });
    await todos.drop();
    await app.inject({ method: 'DELETE', url: '/api/marks?filter={}', headers: { prefer: 'max-affected=9' } });
    await markLog(app, services.events.tail);

    // As if the log had not advanced further by the time of the snapshot.
    let early = true;
    const newest = () => {
      if (!early) return common.hub.newest;
      early = false;
      return before;
    };
    const hub = Object.create(common.hub, {
      newest: { get: newest },
      taken: { get: () => common.hub.taken },
      position: { get: () => common.hub.position },
      newestAt: { get: () => common.hub.newestAt },
      turn: { get: () => common.hub.turn },
      passed: { value: common.hub.passed.bind(common.hub) },
      read: { value: common.hub.read.bind(common.hub) },
      join: { value: common.hub.join.bind(common.hub) },
      leave: { value: common.hub.leave.bind(common.hub) },
    });
    const { reported, queue } = listener(common.flushScheduler);
    const snapshots = new SharedSnapshots({ ...common, hub });
    const subscription = new CollectionSubscription({
      ...{
        id: null,
        queue,
        deps: { ...common, hub, snapshots },
        principal: { kind: 'anonymous' },
        collection: name,
        requested,
      },
      onEnd: () => t.fail('it goes on'),
      onTooSlow: () => t.fail('it is quick'),
    });
    subscription.start(null, 0);
    await until(() => reported.includes('live'), 'it is live');
    t.strictSame(reported, ['subscribed', 'snapshot', 'reset dropped', 'subscribed', 'snapshot', 'live']);
    await app.inject({ method: 'POST', url: '/api/todos', payload: { id: 'b', n: 3 } });
    await until(() => reported.length > 6, 'more is sent');
    t.strictSame(reported.slice(6), ['change enter b']);
    subscription.stop();
  },
);

t.test('live subscriptions of a group without a collection', async (t) => {
  const { services } = await buildTestApp(t);
  const query = toLiveQuerySpec(name, requested, unlimitedScope({ kind: 'anonymous' }, 'read'));
  const raw = (document: object) => Buffer.from(BSON.serialize(document));
  const row = (number: number, change: Partial<LogRow> & Pick<LogRow, 'operation'>): LogRow => ({
    ...LOG_ROW_DEFAULTS,
    ...{ epoch: 1, number, token: 'x', time: new Timestamp({ t: 1, i: Math.ceil(number) }), wall: new Date(0) },
    ...{ collection: name, ...change },
  });
  const transaction = { id: 'x', index: 0, last: false };
  const updated = row(1, {
    operation: 'update',
    key: raw({ _id: 'a' }),
    before: raw({ _id: 'a', n: 1 }),
    after: raw({ _id: 'a', n: 2 }),
  });
  const created = row(2, { operation: 'create', transaction });
  const inserted = row(3, {
    ...{ operation: 'insert', key: raw({ _id: 'b' }), after: raw({ _id: 'b', n: 3 }) },
    transaction: { ...transaction, index: 1, last: true },
  });
  for (const [rows, expected] of [
    [[updated, row(2, { operation: 'drop' })], ['reset dropped']],
    [[created, inserted], ['transaction']],
    [[updated, created, inserted], ['transaction']],
    [[row(0.5, { operation: 'meta' }), row(0.6, { operation: 'create', collection: 'others' }), updated], []],
  ] as const) {
    const turns = new FlushScheduler();
    const { reported, queue } = listener(turns);
    const live = new LiveQuery(query, services.realtime.deps.store, unbounded());
    live.window?.fill([], false);
    const registry = new SubscriptionGroupIndex();
    const reset = (reason: string) => reported.push(`reset ${reason}`);
    for (const id of [null, null]) {
      registry.join({ id, queue, after: 0, until: null, absent: name, reset, lag: () => {} }, live, null);
      if (expected[0] !== 'reset dropped') break;
    }
    const batch = new LogRowBatch(registry, (error) => t.fail(String(error)));
    await batch.judge(rows);
    batch.report();
    turns.flush();
    t.strictSame(new Set(reported), new Set(expected), rows.map(({ operation }) => operation).join());
  }
});
