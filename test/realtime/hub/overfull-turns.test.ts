/** One batch of rows brings no client more than it may have waiting: it leaves its group where it stands. */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/names.ts';
import { EMPTY_ROW, type LogRow } from '../../../src/events/log/row.ts';
import { Account, ByteBudget } from '../../../src/kernel/memory/byte-budget.ts';
import { unlimited } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { LiveQuery } from '../../../src/realtime/answer/live-query.ts';
import { toLiveQuestion, toRequestedQuestion } from '../../../src/realtime/answer/live-question.ts';
import type { SnapshotStore } from '../../../src/realtime/answer/snapshot-store.ts';
import type { GroupMember } from '../../../src/realtime/hub/group.ts';
import { GroupIndex } from '../../../src/realtime/hub/group-index.ts';
import { RowBatch } from '../../../src/realtime/hub/row-batch.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';

const MIB = 1024 * 1024;
const NAME = parseCollectionName('todos');

function rowOf(number: number, bytes: number, transaction: LogRow['transaction'] = null): LogRow {
  const _id = `d${number}`;
  return {
    ...EMPTY_ROW,
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

/** Members of clients whose lines take nothing, each with where it was left behind. */
function world(each: number) {
  const budget = new ByteBudget({ each, all: 100 * each });
  const book = new GroupIndex();
  const turns = new FlushScheduler();
  const join = (id: string, query: object, queue = client()) => {
    const left: number[] = [];
    const asked = toRequestedQuestion(parseQueryJson(query), false, new Date());
    const live = new LiveQuery(
      toLiveQuestion(NAME, asked, unlimited({ kind: 'anonymous' }, 'read')),
      {} as SnapshotStore,
      queue.account,
    );
    live.fill([]);
    const member: GroupMember = {
      id,
      queue,
      after: 0,
      until: null,
      absent: null,
      reset: () => {},
      lag: (told) => {
        left.push(told);
        book.leave(group, member);
      },
    };
    const group = book.join(member, live, null);
    return { queue, left };
  };
  function client(): SendQueue {
    const line = { writableLength: 0, writable: true, cork() {}, uncork() {}, on() {}, write: () => true };
    return new SendQueue(line, turns, new Account(budget, 'stranger'));
  }
  const tell = async (rows: readonly LogRow[]) => {
    const batch = new RowBatch(book, (error) => {
      throw error;
    });
    await batch.judge(rows);
    batch.tell();
    batch.release();
  };
  return { budget, join, tell, turns };
}

t.test('a client that has more waiting than one turn may bring leaves behind the last row it was told', async (t) => {
  const { join, tell } = world(1_000 * MIB);
  const { left, queue } = join('a', {});
  await tell([1, 2, 3, 4, 5].map((number) => rowOf(number, 3 * MIB)));
  t.strictSame(left, [3]);
  t.ok(queue.queuedBytes > 9 * MIB && queue.queuedBytes < 10 * MIB);
});

t.test('a transaction that does not fit is read on from before it, one that fits is told to one', async (t) => {
  const { join, tell } = world(1_000 * MIB);
  const { left, queue } = join('a', {});
  const other = join('b', { filter: { text: { $exists: true } } }, queue);
  const rows = [2, 3].map((number) => rowOf(number, 3 * MIB, { id: 'x', index: number - 2, last: number === 3 }));
  await tell([rowOf(1, 10), ...rows]);
  t.strictSame([...left, ...other.left], [1], 'the other one was told all of it');
  t.ok(queue.queuedBytes < 9 * MIB);
});

t.test('a window is told everything of a batch, or leaves as of its beginning', async (t) => {
  const { join, tell } = world(1_000 * MIB);
  const { left } = join('a', { limit: 10 });
  await tell([1, 2, 3, 4, 5].map((number) => rowOf(number, 3 * MIB)));
  t.strictSame(left, [0]);
});

t.test('a large change is not copied for each name', async (t) => {
  const { budget, join, tell, turns } = world(20 * MIB);
  const all = Array.from({ length: 500 }, (_, n) => join(`name ${n}`, {}));
  await tell([rowOf(1, MIB)]);
  t.strictSame(
    all.flatMap(({ left }) => left),
    [],
  );
  t.ok(budget.total < 4 * MIB, `${budget.total} bytes for all of them`);
  turns.flush();
  t.equal(budget.total, 0);
});

t.test('what different questions make of a change is bounded for their client', async (t) => {
  const { budget, join, tell, turns } = world(20 * MIB);
  const all = Array.from({ length: 100 }, (_, n) => join('s', { filter: { text: { $exists: true }, n: { $ne: n } } }));
  await tell([rowOf(1, MIB)]);
  const left = all.flatMap(({ left }) => left);
  t.ok(left.length > 80 && left.length < 100, `${left.length} of 100 leave`);
  t.ok(left.every((told) => told === 0));
  t.ok(budget.total < 30 * MIB);
  turns.flush();
  t.equal(budget.total, 0);
});
