/** From where a process follows the log: a row that no majority has yet when the stream opens is told once it has. */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { nextTime } from '../../../src/events/log/next-time.ts';
import { EMPTY_ROW, encodeRow } from '../../../src/events/log/row.ts';
import { Tail } from '../../../src/events/log/tail.ts';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { eventWorld } from '../../helpers/events/event-world.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const row = (number: number) =>
  encodeRow({
    ...EMPTY_ROW,
    number,
    epoch: 1,
    token: `82${number.toString(16).padStart(8, '0')}`,
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(number),
    operation: 'insert',
    collection: 'a',
  });

t.test('a row that is written but held by no majority while the stream is opened is told', async (t) => {
  const set = await testReplicaSet(t, { members: 3 });
  const world = await eventWorld(t, set.url);
  await world.log.open();
  await world.mongo.log.command({ insert: 'log', documents: [row(1)], writeConcern: { w: 'majority' } });
  const primary = await set.primary();
  const others = set.members.filter((member) => member !== primary);
  for (const other of others) other.freeze();
  await world.mongo.log.command({ insert: 'log', documents: [row(2)], writeConcern: { w: 1 } });

  const tail = new Tail({ log: world.log });
  t.teardown(() => tail.stop());
  const told: number[] = [];
  tail.attach({ rows: (rows) => told.push(...rows.map(({ number }) => number)) });
  await tail.start();
  const streams = [
    { $currentOp: { idleCursors: true } },
    { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
  ];
  const isOpen = async () => (await world.mongo.client.db('admin').aggregate(streams).toArray()).length > 0;
  await until(isOpen, 'the stream is open');
  t.strictSame([tail.seen.number, told], [1, []], 'nobody sees it yet');
  for (const other of others) other.thaw();
  await until(() => told.length > 0, 'it is told');
  t.strictSame(told, [2]);
});

t.test('a server that names no time at first, as one that has just been started, is asked again', async (t) => {
  const { url } = await testMongo(t);
  const world = await eventWorld(t, url);
  await world.log.open();
  let asked = 0;
  const command = async (...given: Parameters<typeof world.log.db.command>) => {
    const { operationTime, ...reply } = await world.log.db.command(...given);
    asked += 1;
    return asked < 3 ? reply : { ...reply, operationTime };
  };
  t.ok((await nextTime({ command }, AbortSignal.timeout(10_000))) instanceof Timestamp);
  t.equal(asked, 3);
});
