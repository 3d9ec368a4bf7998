/**
 * Where a process starts to follow the log: a row that is not majority-committed when the stream opens arrives after it
 * is.
 */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { changeStreamStartTime } from '../../../src/events/log/change-stream-start-time.ts';
import { encodeLogRow, LOG_ROW_DEFAULTS } from '../../../src/events/log/log-row.ts';
import { LogTail } from '../../../src/events/log/log-tail.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { eventFixture } from '../../helpers/events/event-fixture.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const row = (number: number) =>
  encodeLogRow({
    ...LOG_ROW_DEFAULTS,
    number,
    epoch: 1,
    token: `82${number.toString(16).padStart(8, '0')}`,
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(number),
    operation: 'insert',
    collection: 'a',
  });

t.test('a row that is not majority-committed while the stream is opened still arrives', async (t) => {
  const set = await testReplicaSet(t, { members: 3 });
  const fixture = await eventFixture(t, set.url);
  await fixture.log.open();
  await fixture.mongo.log.command({ insert: 'log', documents: [row(1)], writeConcern: { w: 'majority' } });
  const primary = await set.primary();
  const others = set.members.filter((member) => member !== primary);
  for (const other of others) other.freeze();
  await fixture.mongo.log.command({ insert: 'log', documents: [row(2)], writeConcern: { w: 1 } });

  const tail = new LogTail({ log: fixture.log });
  t.teardown(() => tail.stop());
  const reported: number[] = [];
  tail.attach({ rows: (rows) => reported.push(...rows.map(({ number }) => number)) });
  await tail.start();
  const streams = [
    { $currentOp: { idleCursors: true } },
    { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
  ];
  const isOpen = async () => (await fixture.mongo.client.db('admin').aggregate(streams).toArray()).length > 0;
  await until(isOpen, 'the stream is open');
  t.strictSame([tail.seen.number, reported], [1, []], 'no reader has it yet');
  for (const other of others) other.thaw();
  await until(() => reported.length > 0, 'it arrives');
  t.strictSame(reported, [2]);
});

t.test('a server that returns no time at first, because it has just started, is queried again', async (t) => {
  const { url } = await testMongo(t);
  const fixture = await eventFixture(t, url);
  await fixture.log.open();
  let requested = 0;
  const command = async (...given: Parameters<typeof fixture.log.db.command>) => {
    const { operationTime, ...reply } = await fixture.log.db.command(...given);
    requested += 1;
    return requested < 3 ? reply : { ...reply, operationTime };
  };
  t.ok((await changeStreamStartTime({ command }, AbortSignal.timeout(10_000))) instanceof Timestamp);
  t.equal(requested, 3);
});
