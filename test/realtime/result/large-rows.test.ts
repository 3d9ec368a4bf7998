/**
 * Rows with large documents, under policies with many conditions and for many different queries: other work continues
 * while live queries and events are evaluated and rendered. CPU time is measured, so that a busy machine changes
 * nothing.
 */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { ByteBudget, MemoryAccount } from '../../../src/lib/memory/byte-budget.ts';
import { Policies } from '../../../src/policies/policies.ts';
import { toPolicySet } from '../../../src/policies/policy-set.ts';
import { FairScheduler } from '../../../src/query/evaluate/fair-scheduler.ts';
import { fieldFilter, matchAllFilter } from '../../../src/query/filter.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { LogRowBatch } from '../../../src/realtime/hub/log-row-batch.ts';
import type { SubscriptionGroupMember } from '../../../src/realtime/hub/subscription-group.ts';
import { SubscriptionGroupIndex } from '../../../src/realtime/hub/subscription-group-index.ts';
import { LiveEvents } from '../../../src/realtime/result/event-subscription-result.ts';
import { LiveQuery } from '../../../src/realtime/result/live-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import { prepareRowCooperatively } from '../../../src/realtime/result/live-result-interface.ts';
import { LogRowView } from '../../../src/realtime/result/log-row-view.ts';
import type { SnapshotReader } from '../../../src/realtime/result/snapshot-reader.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { user } from '../../helpers/principals.ts';

t.setTimeout(120_000);

const NAME = parseCollectionName('posts');
const ANN = user('ann');
const budget = new ByteBudget({ each: 2 ** 30, all: 2 ** 31 });

function rowOf(before: object | null, after: object): LogRow {
  return {
    ...LOG_ROW_DEFAULTS,
    number: 1,
    epoch: 1,
    token: '',
    time: new Timestamp({ t: 1, i: 1 }),
    wall: new Date(0),
    operation: before === null ? 'insert' : 'update',
    collection: NAME,
    key: Buffer.from(BSON.serialize({ _id: 'a' })),
    before: before && Buffer.from(BSON.serialize({ _id: 'a', ...before })),
    after: Buffer.from(BSON.serialize({ _id: 'a', ...after })),
  };
}

function policiesOf(...policies: readonly object[]): Policies {
  const all = new Policies('development');
  const common = { resources: ['posts'], actions: ['read'], effect: 'allow' };
  all.use(
    toPolicySet(policies.map((policy, n) => ({ id: `p${n}`, policy: { name: `policy ${n}`, ...common, ...policy } }))),
  );
  return all;
}

const MANY = Array.from({ length: 190 }, (_, n) => ({ tags: { $icontains: `q${n}` } }));
const EXPENSIVE = policiesOf({ fields: { read: ['*', '-hidden'] } }, { effect: 'deny', filter: { $or: MANY } });
const texts = (length: number) => ({ tags: Array.from({ length }, (_, n) => `t${n % 1_000}`) });
const wide = (seed: number) => Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`m${n * 7}`, n * seed]));

function eventsOf(policies: Policies, filter = matchAllFilter): LiveEvents {
  const query = { types: ['posts.*'], filter, principal: ANN, key: 'k' };
  return new LiveEvents(query, policies, new MemoryAccount(budget, 'ann'));
}

t.test('others get their turn while the policies of an event are tested on an array of 20,000 texts', async (t) => {
  const live = eventsOf(EXPENSIVE);
  for (const [what, row] of Object.entries({
    'an event': rowOf(null, texts(20_000)),
    'an event with a state before': rowOf({ ...texts(20_000), n: 1 }, texts(20_000)),
  })) {
    let reported = 0;
    const work = async () => {
      const view = await prepareRowCooperatively(new LogRowView(row), live, new FairScheduler().createTask('ann'));
      const verification = live.applyRow(view);
      for (const one of verification) if (typeof one !== 'string') reported += one.bytes;
    };
    // The first time, the code is compiled.
    const longest = Math.min(await longestHold(work), await longestHold(work));
    t.comment(`${what}: ${longest.toFixed()} ms`);
    t.ok(reported > 1_000, 'it is sent');
    t.ok(longest < 120, `${what} takes ${longest.toFixed()} ms in one go`);
  }
});

t.test('other work continues while a filter is evaluated on an event of 60,000 fields', async (t) => {
  const filters = [matchAllFilter, fieldFilter('data.m7', { op: 'exists', exists: true })];
  const row = rowOf(wide(1), wide(2));
  for (const filter of filters) {
    const live = eventsOf(policiesOf({}), filter);
    const work = async () => {
      const view = await prepareRowCooperatively(new LogRowView(row), live, new FairScheduler().createTask('ann'));
      t.equal(live.applyRow(view).length, 1);
    };
    const longest = Math.min(await longestHold(work), await longestHold(work));
    t.comment(`${longest.toFixed()} ms`);
    t.ok(longest < 120, `it takes ${longest.toFixed()} ms in one go`);
  }
});

/** A batch of rows for as many queries as there are clients. */
async function heldBy(row: LogRow, policies: Policies, queries: readonly object[]) {
  const index = new SubscriptionGroupIndex();
  const reported = queries.map((query, n) => {
    const line = { writableLength: 0, writable: true, cork() {}, uncork() {}, on() {}, write: () => true };
    const queue = new SendQueue(line, new FlushScheduler(), new MemoryAccount(budget, `client ${n}`));
    const requested = toSubscriptionQuery(parseQueryJson(query), false, new Date());
    const spec = toLiveQuerySpec(NAME, requested, policies.scope(ANN, 'read', NAME));
    const live = new LiveQuery(spec, {} as SnapshotReader, queue.account);
    const one = { queue, left: false };
    const property: SubscriptionGroupMember = {
      id: `s${n}`,
      queue,
      after: 0,
      until: null,
      absent: null,
      reset: () => t.fail('no answer is void'),
      lag: () => {
        one.left = true;
        index.leave(group, property);
      },
    };
    const group = index.join(property, live, null);
    return one;
  });
  const longest = await longestHold(async () => {
    const batch = new LogRowBatch(index, (error) => {
      throw error;
    });
    await batch.judge([row]);
    batch.report();
    batch.release();
  });
  return { longest, reported };
}

t.test('others get their turn while a row of 60,000 fields is rendered for 20 different queries', async (t) => {
  const queries = Array.from({ length: 20 }, (_, n) => ({ fields: [`-m${n * 7}`] }));
  for (const row of [rowOf(null, wide(1)), rowOf(wide(1), wide(2))]) {
    const { longest, reported } = await heldBy(row, policiesOf({}), queries);
    const known = reported.filter(({ left, queue }) => left !== queue.queuedBytes > 100_000);
    t.equal(known.length, queries.length, 'each receives it, or reads the log by itself');
    t.comment(`${longest.toFixed()} ms`);
    t.ok(longest < 150, `it takes ${longest.toFixed()} ms in one go`);
  }
});

t.test('other work continues while a document leaves under an expensive policy', async (t) => {
  const row = rowOf({ ...texts(20_000), n: 1 }, { ...texts(20_000), n: 2 });
  const { longest, reported } = await heldBy(row, EXPENSIVE, [{ filter: { n: 1 } }]);
  t.ok(reported.every(({ queue }) => queue.queuedBytes > 0));
  t.comment(`${longest.toFixed()} ms`);
  t.ok(longest < 120, `it takes ${longest.toFixed()} ms in one go`);
});
