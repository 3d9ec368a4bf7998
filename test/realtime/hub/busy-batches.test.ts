/** Rows that many subscriptions evaluate: shared results are computed once, and other work continues in between. */
import { BSON } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { type Scope, unlimitedScope } from '../../../src/policies/scope.ts';
import { isExpensiveMatch } from '../../../src/query/evaluate/filter-cost.ts';
import { matchAllFilter } from '../../../src/query/filter.ts';
import { LogRowBatch } from '../../../src/realtime/hub/log-row-batch.ts';
import { SubscriptionGroupIndex } from '../../../src/realtime/hub/subscription-group-index.ts';
import { LiveEvents } from '../../../src/realtime/result/event-subscription-result.ts';
import type { LiveResult } from '../../../src/realtime/result/live-result-interface.ts';
import { LogRowView } from '../../../src/realtime/result/log-row-view.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const rowOf = (number: number): LogRow => ({
  ...LOG_ROW_DEFAULTS,
  operation: 'insert',
  collection: 'todos',
  key: Buffer.from(BSON.serialize({ _id: number })),
  after: Buffer.from(BSON.serialize({ _id: number, secret: 1 })),
  number,
  epoch: 1,
  token: '',
  time: new BSON.Timestamp({ t: 1, i: number }),
  wall: new Date(0),
});

t.test('a long batch yields to other work', async (t) => {
  const live: LiveResult = {
    key: 'slow',
    collection: null,
    isStateful: false,
    needsRefill: false,
    rendersAlone: false,
    isHeavy: () => false,
    prepare: async () => {},
    applyRow: () => {
      const started = performance.now();
      while (performance.now() - started < 5);
      return [];
    },
    refill: async () => [],
    memoryAccount: unbounded(),
    chargeTo: () => {},
    end: () => {},
  };
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, on: () => {}, write: () => true };
  const queue = new SendQueue(line, new FlushScheduler(), unbounded());
  const registry = new SubscriptionGroupIndex();
  registry.join(
    { id: 's', queue, after: 0, until: null, absent: null, reset: () => t.fail('a reset'), lag: () => {} },
    live,
    null,
  );
  let turns = 0;
  let going = true;
  const tick = () => {
    turns += 1;
    if (going) setImmediate(tick);
  };
  setImmediate(tick);
  const rows = Array.from({ length: 40 }, (_, n) => rowOf(n + 1));
  await new LogRowBatch(registry, (error) => t.fail(String(error))).judge(rows);
  going = false;
  t.ok(turns >= 10, `${turns} turns in 200 ms`);
});

t.test('an event is built once for all readers with the same view', async (t) => {
  let read = 0;
  const { after, ...rest } = rowOf(1);
  const row = {
    ...rest,
    get after() {
      read += 1;
      return after;
    },
  };
  const view = new LogRowView(row);
  const request = (scope: Scope<'read'>) => {
    const query = { types: ['todos.*'], filter: matchAllFilter, principal: scope.principal, key: '' };
    const judged = new LiveEvents(query, { find: () => scope }, unbounded()).applyRow(view);
    return typeof judged === 'string' ? judged : judged.map((reported) => String(reported.chunk()));
  };
  const whole = unlimitedScope({ kind: 'anonymous' }, 'read');
  const [chunk] = request(whole);
  t.match(chunk, '"secret":1');
  const before = read;
  t.strictSame(request(unlimitedScope({ kind: 'anonymous' }, 'read')), [chunk]);
  t.equal(read, before, 'by no other');
  const [grant] = whole.grants;
  if (grant === undefined) throw new Error('Nothing is granted');
  const hidden = { rest: true, fields: new Map([['secret', { rest: false, fields: new Map() }]]) };
  t.notMatch(
    request({ ...whole, grants: [{ ...grant, read: hidden }] }),
    /secret/,
    'a reader with fewer rights receives less',
  );
});

t.test('slow expensive queries leave their groups, and no other waits for them', async (t) => {
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, on: () => {}, write: () => true };
  const queue = new SendQueue(line, new FlushScheduler(), unbounded());
  const registry = new SubscriptionGroupIndex();
  const requested: string[] = [];
  const lagged: string[] = [];
  const join = (key: string, cost: number) => {
    const live: LiveResult = {
      key,
      collection: null,
      isStateful: false,
      needsRefill: false,
      rendersAlone: false,
      isHeavy: ({ bytes }) => isExpensiveMatch(cost, bytes),
      prepare: async () => {
        const started = performance.now();
        while (performance.now() - started < 20);
      },
      applyRow: () => {
        requested.push(key);
        return [];
      },
      refill: async () => [],
      memoryAccount: unbounded(),
      chargeTo: () => {},
      end: () => {},
    };
    const lag = () => {
      lagged.push(key);
      registry.leave(group, field);
    };
    const field = { id: key, queue, after: 0, until: null, absent: null, lag, reset: () => t.fail('a reset') };
    const group = registry.join(field, live, null);
  };
  for (let n = 0; n < 10; n++) join(`heavy ${n}`, 1e9);
  join('light', 1);
  await new LogRowBatch(registry, (error) => t.fail(String(error))).judge([rowOf(1), rowOf(2)]);
  t.equal(requested[0], 'light', 'the light one comes first');
  t.equal(requested.filter((key) => key === 'light').length, 2);
  t.equal(lagged.length, 10, 'each is left once, at the first row or the second');
  t.ok(requested.length - 2 <= 4, `${requested.length - 2} expensive ones were evaluated`);
  t.equal(registry.size, 1);
});
