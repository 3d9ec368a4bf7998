/**
 * One batch of rows adds no more than the limit to a client's queue: the subscription leaves its group at its position.
 */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { ByteBudget, MemoryAccount } from '../../../src/lib/memory/byte-budget.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { LogRowBatch } from '../../../src/realtime/hub/log-row-batch.ts';
import type { SubscriptionGroupMember } from '../../../src/realtime/hub/subscription-group.ts';
import { SubscriptionGroupIndex } from '../../../src/realtime/hub/subscription-group-index.ts';
import { LiveQuery } from '../../../src/realtime/result/live-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import type { SnapshotReader } from '../../../src/realtime/result/snapshot-reader.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';

const MIB = 1024 * 1024;
const NAME = parseCollectionName('todos');

function rowOf(number: number, bytes: number, transaction: LogRow['transaction'] = null): LogRow {
  const _id = `d${number}`;
  return {
    ...LOG_ROW_DEFAULTS,
    number,
    epoch: 1,
    token: '',
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(0),
    operation: 'insert',
    collection: NAME,
    key: Buffer.from(BSON.serialize({ _id })),
    after: Buffer.from(BSON.serialize({ _id, text: 'x'.repeat(bytes) })),
    transaction,
  };
}

/** Subscriptions of clients whose connections accept nothing, each with the position where it was left behind. */
function fixture(each: number) {
  const budget = new ByteBudget({ each, all: 100 * each });
  const registry = new SubscriptionGroupIndex();
  const turns = new FlushScheduler();
  const join = (id: string, query: object, queue = client()) => {
    const left: number[] = [];
    const requested = toSubscriptionQuery(parseQueryJson(query), false, new Date());
    const live = new LiveQuery(
      toLiveQuerySpec(NAME, requested, unlimitedScope({ kind: 'anonymous' }, 'read')),
      {} as SnapshotReader,
      queue.account,
    );
    live.fill([]);
    const field: SubscriptionGroupMember = {
      id,
      queue,
      after: 0,
      until: null,
      absent: null,
      reset: () => {},
      lag: (reported) => {
        left.push(reported);
        registry.leave(group, field);
      },
    };
    const group = registry.join(field, live, null);
    return { queue, left };
  };
  function client(): SendQueue {
    const line = { writableLength: 0, writable: true, cork() {}, uncork() {}, on() {}, write: () => true };
    return new SendQueue(line, turns, new MemoryAccount(budget, 'other'));
  }
  const report = async (rows: readonly LogRow[]) => {
    const batch = new LogRowBatch(registry, (error) => {
      throw error;
    });
    await batch.judge(rows);
    batch.report();
    batch.release();
  };
  return { budget, join, report, turns };
}

t.test('a client with more queued than the limit of a turn leaves after the last row that it received', async (t) => {
  const { join, report } = fixture(1_000 * MIB);
  const { left, queue } = join('a', {});
  await report([1, 2, 3, 4, 5].map((number) => rowOf(number, 3 * MIB)));
  t.strictSame(left, [3]);
  t.ok(queue.queuedBytes > 9 * MIB && queue.queuedBytes < 10 * MIB);
});

t.test(
  'a transaction that does not fit is read again from its start, one that fits is sent to one client',
  async (t) => {
    const { join, report } = fixture(1_000 * MIB);
    const { left, queue } = join('a', {});
    const other = join('b', { filter: { text: { $exists: true } } }, queue);
    const rows = [2, 3].map((number) => rowOf(number, 3 * MIB, { id: 'x', index: number - 2, last: number === 3 }));
    await report([rowOf(1, 10), ...rows]);
    t.strictSame([...left, ...other.left], [1], 'the other one received all of it');
    t.ok(queue.queuedBytes < 9 * MIB);
  },
);

t.test('a window receives a whole batch, or leaves at its beginning', async (t) => {
  const { join, report } = fixture(1_000 * MIB);
  const { left } = join('a', { limit: 10 });
  await report([1, 2, 3, 4, 5].map((number) => rowOf(number, 3 * MIB)));
  t.strictSame(left, [0]);
});

t.test('a large change is not copied for each subscription id', async (t) => {
  const { budget, join, report, turns } = fixture(20 * MIB);
  const all = Array.from({ length: 500 }, (_, n) => join(`name ${n}`, {}));
  await report([rowOf(1, MIB)]);
  t.strictSame(
    all.flatMap(({ left }) => left),
    [],
  );
  t.ok(budget.total < 4 * MIB, `${budget.total} bytes for all of them`);
  turns.flush();
  t.equal(budget.total, 0);
});

t.test('the messages of different queries about one change are limited for their client', async (t) => {
  const { budget, join, report, turns } = fixture(20 * MIB);
  const all = Array.from({ length: 100 }, (_, n) => join('s', { filter: { text: { $exists: true }, n: { $ne: n } } }));
  await report([rowOf(1, MIB)]);
  const left = all.flatMap(({ left }) => left);
  t.ok(left.length > 80 && left.length < 100, `${left.length} of 100 leave`);
  t.ok(left.every((reported) => reported === 0));
  t.ok(budget.total < 30 * MIB);
  turns.flush();
  t.equal(budget.total, 0);
});
