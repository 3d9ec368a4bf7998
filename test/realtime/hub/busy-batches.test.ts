/** Rows that many subscriptions have to judge: what is the same for several is made once, and others go on in between. */
import { BSON } from 'mongodb';
import t from 'tap';
import { EMPTY_ROW, type LogRow } from '../../../src/events/log/row.ts';
import { type Scope, unlimited } from '../../../src/policies/scope.ts';
import { isHeavy } from '../../../src/query/evaluate/cost.ts';
import { everything } from '../../../src/query/filter.ts';
import type { LiveAnswer } from '../../../src/realtime/answer/live-answer.ts';
import { LiveEvents } from '../../../src/realtime/answer/live-events.ts';
import { RowView } from '../../../src/realtime/answer/row-view.ts';
import { GroupIndex } from '../../../src/realtime/hub/group-index.ts';
import { RowBatch } from '../../../src/realtime/hub/row-batch.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const rowOf = (number: number): LogRow => ({
  ...EMPTY_ROW,
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

t.test('a batch that takes long leaves others their turns', async (t) => {
  const live: LiveAnswer = {
    key: 'slow',
    collection: null,
    remembers: false,
    wanting: false,
    rendersAlone: false,
    isHeavy: () => false,
    prepare: async () => {},
    judge: () => {
      const started = performance.now();
      while (performance.now() - started < 5);
      return [];
    },
    refill: async () => [],
    payer: unbounded(),
    payBy: () => {},
    end: () => {},
  };
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, on: () => {}, write: () => true };
  const queue = new SendQueue(line, new FlushScheduler(), unbounded());
  const book = new GroupIndex();
  book.join(
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
  await new RowBatch(book, (error) => t.fail(String(error))).judge(rows);
  going = false;
  t.ok(turns >= 10, `${turns} turns in 200 ms`);
});

t.test('an event is made once for all who see the same of it', async (t) => {
  let read = 0;
  const { after, ...rest } = rowOf(1);
  const row = {
    ...rest,
    get after() {
      read += 1;
      return after;
    },
  };
  const view = new RowView(row);
  const ask = (scope: Scope<'read'>) => {
    const question = { types: ['todos.*'], filter: everything, principal: scope.principal, key: '' };
    const judged = new LiveEvents(question, { find: () => scope }, unbounded()).judge(view);
    return typeof judged === 'string' ? judged : judged.map((told) => String(told.chunk()));
  };
  const whole = unlimited({ kind: 'anonymous' }, 'read');
  const [chunk] = ask(whole);
  t.match(chunk, '"secret":1');
  const before = read;
  t.strictSame(ask(unlimited({ kind: 'anonymous' }, 'read')), [chunk]);
  t.equal(read, before, 'by nobody else');
  const [grant] = whole.grants;
  if (grant === undefined) throw new Error('Nothing is granted');
  const hidden = { rest: true, members: new Map([['secret', { rest: false, members: new Map() }]]) };
  t.notMatch(ask({ ...whole, grants: [{ ...grant, read: hidden }] }), /secret/, 'who sees less is told less');
});

t.test('heavy questions that take long are left behind, and nobody waits for them', async (t) => {
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, on: () => {}, write: () => true };
  const queue = new SendQueue(line, new FlushScheduler(), unbounded());
  const book = new GroupIndex();
  const asked: string[] = [];
  const lagged: string[] = [];
  const join = (key: string, cost: number) => {
    const live: LiveAnswer = {
      key,
      collection: null,
      remembers: false,
      wanting: false,
      rendersAlone: false,
      isHeavy: ({ bytes }) => isHeavy(cost, bytes),
      prepare: async () => {
        const started = performance.now();
        while (performance.now() - started < 20);
      },
      judge: () => {
        asked.push(key);
        return [];
      },
      refill: async () => [],
      payer: unbounded(),
      payBy: () => {},
      end: () => {},
    };
    const lag = () => {
      lagged.push(key);
      book.leave(group, member);
    };
    const member = { id: key, queue, after: 0, until: null, absent: null, lag, reset: () => t.fail('a reset') };
    const group = book.join(member, live, null);
  };
  for (let n = 0; n < 10; n++) join(`heavy ${n}`, 1e9);
  join('light', 1);
  await new RowBatch(book, (error) => t.fail(String(error))).judge([rowOf(1), rowOf(2)]);
  t.equal(asked[0], 'light', 'the light one comes first');
  t.equal(asked.filter((key) => key === 'light').length, 2);
  t.equal(lagged.length, 10, 'each is left once, at the first row or the second');
  t.ok(asked.length - 2 <= 4, `${asked.length - 2} heavy ones were asked`);
  t.equal(book.size, 1);
});
