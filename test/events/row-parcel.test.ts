/** Rows that go from one thread to another: they arrive as they were, and a slow reader is not drowned in them. */
import { randomBytes } from 'node:crypto';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { BSON } from 'mongodb';
import t from 'tap';
import { EMPTY_ROW, type LogRow } from '../../src/events/row.ts';
import { HandOver, type RowParcel, unpackRows } from '../../src/events/row-parcel.ts';

const row = (number: number, some: Partial<LogRow> = {}): LogRow => ({
  ...EMPTY_ROW,
  number,
  epoch: 2,
  token: '82AB',
  time: new BSON.Timestamp({ t: 0xf0000001, i: 7 }),
  wall: new Date(1_800_000_000_000),
  operation: 'insert',
  ...some,
});

/** The parcel as another thread receives it. */
function sent(parcel: RowParcel): RowParcel {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(parcel, [parcel.bodies.buffer]);
  const received: RowParcel = receiveMessageOnPort(port2)?.message;
  port1.close();
  return received;
}

t.test('rows arrive as they were, whichever bodies they have', async (t) => {
  const reply = randomBytes(400);
  const rows = [
    row(1, { collection: 'todos', key: reply.subarray(3, 20), after: reply.subarray(20, 90), by: 'user:u1' }),
    row(2, { operation: 'drop', collection: 'todos' }),
    row(3, {
      operation: 'update',
      key: reply.subarray(90, 110),
      after: reply.subarray(110, 200),
      before: Buffer.alloc(0),
      update: reply.subarray(300),
      transaction: { id: 'a:1', index: 4, last: true },
    }),
    row(4, { operation: 'gap', from: 'a', to: 'b', big: true }),
  ];
  const parcels: RowParcel[] = [];
  new HandOver({ send: (parcel) => parcels.push(sent(parcel)), again: () => t.fail() }).hand(rows);
  const [parcel] = parcels;
  const arrived = parcel ? unpackRows(parcel) : [];
  t.same(arrived, rows);
  t.ok(arrived[0]?.time instanceof BSON.Timestamp);
  t.ok(Buffer.isBuffer(arrived[0]?.after));
  t.equal(parcel?.bodies.length, 17 + 70 + 20 + 90 + 100, 'and nothing else of the reply they came in');
});

t.test('what a slow reader cannot take in is left out, and it is told when it has room again', async (t) => {
  const numbers: number[] = [];
  let again = 0;
  const over = new HandOver({
    send: ({ heads }) => numbers.push(...heads.map((head) => head.number)),
    again: () => again++,
    limit: 250,
  });
  const hand = (number: number) => over.hand([row(number, { after: Buffer.alloc(100) })]);
  for (let number = 1; number <= 5; number++) hand(number);
  t.same(numbers, [1, 2, 3], 'until more than the limit is under way');
  over.taken(100);
  hand(6);
  t.same([numbers.length, again], [3, 0], 'and nothing behind a hole while the reader is behind');
  over.taken(100);
  t.equal(again, 1, 'half of it is room enough');
  hand(7);
  over.taken(100);
  t.same(numbers, [1, 2, 3, 7]);
  t.equal(again, 1, 'it is told once');
});
