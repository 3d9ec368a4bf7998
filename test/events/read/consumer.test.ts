/** A consumer's effects happen once, whatever dies; what keeps failing becomes a dead letter; a broken history is not misread. */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { encodeLogRow, LOG_ROW_DEFAULTS } from '../../../src/events/log/log-row.ts';
import { Consumer, type ConsumerOptions, consumerOutputId } from '../../../src/events/read/consumer.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { eventFixture, type Node } from '../../helpers/events/event-fixture.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { tortureConsumer } from '../../torture/consumer-run.ts';
import { randomOf } from '../../torture/run.ts';

const { url } = await testMongo(t);

/** Records its inserts. Follows from now on; stopped with the test. */
async function consumer(
  t: import('tap').Test,
  node: Node,
  handle: ConsumerOptions['handle'],
  more: Partial<ConsumerOptions> = {},
) {
  const one = new Consumer({ name: 'test', log: node.log, tail: node.tail, allowed: () => true, handle, ...more });
  one.start();
  t.teardown(() => one.stop());
  await until(async () => (await one.cursor()) !== null, 'the cursor is stored');
  return one;
}

t.test('processes are killed during their work, and every effect happens once', async (t) => {
  const kills = Number(process.env['MILLRACE_KILLS'] ?? 3);
  const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 1_000_000);
  t.comment(`MILLRACE_SEED=${seed} MILLRACE_KILLS=${kills}`);
  const fixture = await eventFixture(t, url);
  await fixture.node();
  const verdict = await tortureConsumer(fixture, kills, randomOf(seed));
  t.comment(JSON.stringify(verdict));
  t.match(verdict, { kills, missing: 0 });
  t.equal(verdict.outputs, verdict.events);
});

t.test('an event that keeps failing becomes a dead letter, the others go on, and it can be replayed', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const done: number[] = [];
  let broken = true;
  const one = await consumer(
    t,
    node,
    async (rows) => {
      for (const row of rows)
        if (row.operation === 'insert' && broken && row.after?.includes('bad')) throw new Error('It is bad');
      done.push(...rows.filter((row) => row.operation === 'insert').map((row) => row.number));
    },
    { attempts: 2 },
  );
  await fixture.mongo.data.collection<{ _id: string }>('x').insertMany([{ _id: 'a' }, { _id: 'bad' }, { _id: 'c' }]);
  await until(async () => (await one.deadLetters()).length === 1, 'it is a dead letter');
  await until(() => done.length === 2, 'the others are done');
  const [email] = await one.deadLetters();
  t.match(email, { consumer: 'test', error: /It is bad/ });
  await t.rejects(one.replay(email?._id ?? ''), /It is bad/);
  broken = false;
  t.equal(await one.replay(email?._id ?? ''), true);
  t.same(await one.deadLetters(), []);
  t.equal(await one.replay(email?._id ?? ''), false);
  t.ok(done.includes(email?.number ?? 0));
  t.equal(email?._id, consumerOutputId('test', { epoch: 1, number: email?.number ?? 0 }));
});

t.test('of two processes one consumes, and the other continues when it must stop', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const by: string[] = [];
  const make = (name: string) =>
    consumer(
      t,
      node,
      async (rows) => void by.push(...rows.flatMap((row) => (row.operation === 'insert' ? [name] : []))),
      { allowed: () => allowed === name },
    );
  let allowed = 'one';
  await make('one');
  await make('two');
  await fixture.mongo.data.collection('x').insertOne({});
  await until(() => by.length === 1, 'consumed');
  allowed = 'two';
  await fixture.mongo.data.collection('x').insertOne({});
  await until(() => by.length === 2, 'consumed by the other');
  t.same(by, ['one', 'two']);
});

t.test('a consumer continues where another process has moved the cursor', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const begun: number[] = [];
  const seen: number[] = [];
  const cursors = fixture.mongo.log.collection<{ _id: string; epoch: number; number: number }>('consumers');
  let ahead = 0;
  await consumer(
    t,
    node,
    async (rows) => {
      seen.push(...rows.map((row) => row.number));
      if (ahead === 0) ahead = (rows.at(-1)?.number ?? 0) + 2;
      await cursors.updateOne({ _id: 'test', number: { $lt: ahead } }, { $set: { number: ahead } });
    },
    { begin: async ({ number }) => void begun.push(number), concerns: (row) => row.operation === 'insert' },
  );
  const things = fixture.mongo.data.collection('x');
  await things.insertOne({});
  await until(() => ahead > 0, 'the other has moved it');
  while (node.tail.position.number <= ahead) await things.insertOne({});
  await until(() => seen.some((number) => number > ahead), 'it continues');
  t.ok(begun.includes(ahead), `started at ${begun}, moved to ${ahead}`);
  t.notOk(
    seen.some((number) => number > ahead - 2 && number <= ahead),
    'what the other did is not done again',
  );
});

t.test('what fails because the database or the policies are away is no dead letter', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const codes: ('database-unavailable' | 'policies-unavailable')[] = [];
  for (let count = 0; count < 3; count += 1) codes.push('database-unavailable', 'policies-unavailable');
  const seen: number[] = [];
  const one = await consumer(
    t,
    node,
    async (rows) => {
      const code = codes.pop();
      if (code !== undefined) throw new MillraceError(code, 'Not at the moment');
      seen.push(...rows.flatMap((row) => (row.operation === 'insert' ? [row.number] : [])));
    },
    { attempts: 1 },
  );
  await fixture.mongo.data.collection('x').insertOne({});
  await until(() => seen.length === 1, 'it is handled in the end');
  t.same(await one.deadLetters(), []);
});

t.test('a cursor ahead of a log that was restored continues from the gap', async (t) => {
  const fixture = await eventFixture(t, url);
  await fixture.log.open();
  const put = async (number: number, epoch: number, operation: 'insert' | 'gap' = 'insert') => {
    const row = {
      ...LOG_ROW_DEFAULTS,
      number,
      epoch,
      operation,
      collection: 'a',
      token: '82AA',
      time: new Timestamp({ t: 1, i: 1 }),
      wall: new Date(),
    };
    await fixture.mongo.log.command({ insert: 'log', documents: [encodeLogRow(row)], writeConcern: { w: 'majority' } });
  };
  for (let number = 1; number <= 5; number += 1) await put(number, 1);
  await put(6, 2, 'gap');
  await put(7, 2);
  await fixture.mongo.log
    .collection<{ _id: string; epoch: number; number: number }>('consumers')
    .insertOne({ _id: 'test', epoch: 1, number: 5000 });
  const node = await fixture.node({ records: false });
  const seen: number[] = [];
  await consumer(t, node, async (rows) => void seen.push(...rows.map((row) => row.number)));
  await until(() => seen.length === 2, 'told');
  t.same(seen, [6, 7]);
});

t.test('a consumer that was overtaken by retention continues behind it, and the gap is recorded', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  await fixture.mongo.data.collection('x').insertMany(Array.from({ length: 50 }, () => ({})));
  await until(() => node.tail.position.number >= 50, 'told');
  await fixture.mongo.log
    .collection<{ _id: string; epoch: number; number: number }>('consumers')
    .insertOne({ _id: 'test', epoch: 1, number: 3 });
  await fixture.log.raiseFloor(40);
  await fixture.log.deleteBelow(40, 1000);
  const late = await fixture.node({ records: false });
  const seen: number[] = [];
  const one = await consumer(t, late, async (rows) => void seen.push(...rows.map((row) => row.number)));
  await until(() => seen.includes(50), 'told');
  t.equal(seen[0], 40);
  t.match(await one.deadLetters(), [{ number: 4, error: /Rows 4 to 39 were deleted/ }]);
});
