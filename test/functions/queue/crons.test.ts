/** Crons: each time once, whoever plans; what was missed, what overlaps, time zones, changed schedules. */
import t from 'tap';
import { cronTimes } from '../../../src/functions/plugins/manifest/cron.ts';
import { onTime, queueWorld, type Said } from '../../helpers/functions/queue-world.ts';
import { until } from '../../helpers/until.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
// In the future, so that MongoDB removes no run as expired while the test goes on.
const START = Date.parse('2096-03-10T10:00:30Z');

t.setTimeout(120_000);
const world = await queueWorld(t);
const { log } = world.parts.mongo;
const standing = log.collection('function_standing');
const times = async (filter: object = {}) =>
  (await world.runs({ kind: 'cron', ...filter })).map((run) => run.scheduledAt?.toISOString().slice(5, 16)).sort();

/** Waits until a schedule is in force: a queue that does not record yet would be quiet, too. */
const stands = async (schedule: string) => {
  await until(async () => (await standing.countDocuments({ schedule })) > 0, `'${schedule}' is in force`);
};

t.beforeEach(async () => {
  world.clock.now = START;
  for (const collection of [log.collection('runs'), standing]) await collection.deleteMany({});
});

t.test('each time makes one run, with several processes that plan', async (t) => {
  const inputs: unknown[] = [];
  const said = { it: onTime('*/5 * * * *', ({ input }) => void inputs.push(input)) };
  const nodes = [await world.node(said), await world.node(said), await world.node(said)];
  await stands('*/5 * * * *');
  for (const { queue } of nodes) await queue.quiet();
  t.strictSame(await times(), [], 'none at once');
  for (let count = 0; count < 3; count += 1) {
    world.clock.now += 5 * MINUTE;
    await Promise.all(nodes.map(({ queue }) => queue.look()));
    await world.reaches({ state: 'ok' }, count + 1);
  }
  t.strictSame(await times(), ['03-10T10:05', '03-10T10:10', '03-10T10:15']);
  t.strictSame(
    inputs,
    [5, 10, 15].map((m) => ({ scheduledAt: `2096-03-10T10:${String(m).padStart(2, '0')}:00.000Z` })),
  );
  t.strictSame(
    (await world.runs()).map(({ attempt }) => attempt),
    [1, 1, 1],
  );
  for (const node of nodes) {
    t.strictSame(node.errors, []);
    await node.stop();
  }
});

t.test('a time that comes while crons are looked at is not missed', async (t) => {
  const stepMs = 50;
  const node = await world.node({ it: onTime('*/5 * * * *', () => {}) });
  await stands('*/5 * * * *');
  await node.queue.quiet();
  let now = START;
  const still = { value: START, writable: true, configurable: true };
  t.teardown(() => Object.defineProperty(world.clock, 'now', still));
  Object.defineProperty(world.clock, 'now', { get: () => (now += stepMs), configurable: true });
  // Each look at the clock sees a later time. The cron is due at the first of these looks, then at the second, and so on.
  for (let looks = 1; looks <= 8; looks += 1) {
    now = START - MINUTE / 2 + looks * 5 * MINUTE - looks * stepMs;
    await node.queue.look();
    await until(async () => (await times()).length === looks, `time ${looks} has its run`, 10_000);
  }
  await node.stop();
});

t.test('times that nobody was there for are made up for once, for a day', async (t) => {
  const said = { it: onTime('0 * * * *', () => {}) };
  const first = await world.node(said);
  await stands('0 * * * *');
  await first.queue.quiet();
  await first.stop();
  world.clock.now += 5 * 60 * MINUTE;
  const second = await world.node(said);
  await world.reaches({ state: 'ok' });
  t.strictSame(await times(), ['03-10T15:00'], 'only the last of them');
  await second.stop();

  const daily = { it: onTime('0 8 * * *', () => {}) };
  const third = await world.node(daily);
  await stands('0 8 * * *');
  await third.queue.quiet();
  await third.stop();
  world.clock.now = Date.parse('2096-03-13T07:59:00Z');
  const fourth = await world.node(daily);
  await world.reaches({ state: 'ok' }, 2);
  t.strictSame(await times(), ['03-10T15:00', '03-12T08:00']);
  await fourth.stop();
  world.clock.now += 4 * DAY + 2 * MINUTE;
  await standing.updateOne({}, { $set: { schedule: '0 8 13 * *' } });
  const monthly = await world.node({ it: onTime('0 8 13 * *', () => {}) });
  await monthly.queue.quiet();
  t.strictSame(await times(), ['03-10T15:00', '03-12T08:00'], 'not after more than a day');
  await monthly.stop();
});

t.test('a time that comes while a run goes on is refused', async (t) => {
  const end = Promise.withResolvers<void>();
  const node = await world.node({ it: onTime('* * * * *', () => end.promise) });
  await stands('* * * * *');
  await node.queue.quiet();
  await world.pass(node, MINUTE);
  await world.reaches({ state: 'running' });
  await world.pass(node, MINUTE);
  const [refused] = await world.reaches({ state: 'refused' });
  t.match(refused, { error: { code: 'still-running' }, attempt: 0 });
  end.resolve();
  await world.reaches({ state: 'ok' });
  await world.pass(node, MINUTE);
  await world.reaches({ state: 'ok' }, 2);
  t.strictSame(await times({ state: 'ok' }), ['03-10T10:01', '03-10T10:03']);
  await node.stop();
});

t.test('a changed schedule is in force at once; one that was away begins anew', async (t) => {
  const every = (schedule: string, more: Partial<Said> = {}) => ({ it: { ...onTime(schedule, () => {}), ...more } });
  const node = await world.node(every('0 * * * *'));
  await stands('0 * * * *');
  node.use(every('*/10 * * * *'));
  await stands('*/10 * * * *');
  await node.queue.quiet();
  await world.pass(node, 10 * MINUTE);
  await world.reaches({ state: 'ok' });
  node.use(every('*/10 * * * *', { isQuarantined: true }));
  await node.queue.quiet();
  await world.pass(node, 20 * MINUTE);
  node.use(every('*/10 * * * *'));
  await node.queue.quiet();
  t.strictSame(await times(), ['03-10T10:10'], 'what passed in quarantine is not made up for');
  node.use({});
  await until(async () => (await standing.countDocuments({})) === 0, 'nothing stands');
  world.clock.now += 20 * MINUTE;
  node.use(every('*/10 * * * *'));
  await stands('*/10 * * * *');
  await node.queue.quiet();
  await world.pass(node, 10 * MINUTE);
  await world.reaches({ state: 'ok' }, 2);
  t.strictSame(await times(), ['03-10T10:10', '03-10T11:00']);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('a time that comes while recording pauses for a moment is not left out', async (t) => {
  let records = true;
  const node = await world.node({ it: onTime('*/10 * * * *', () => {}) }, () => records);
  await stands('*/10 * * * *');
  await node.queue.quiet();
  records = false;
  await world.pass(node, 10 * MINUTE);
  t.strictSame(await times(), []);
  records = true;
  await world.reaches({ state: 'ok' });
  t.equal((await times()).length, 1);
  await node.stop();
});

t.test('times follow the clock of the time zone', async (t) => {
  const nightly = await cronTimes('30 2 * * *', 'Europe/Berlin');
  const after = (moment: string) => nightly.after(new Date(moment))?.toISOString();
  t.equal(after('2026-03-28T12:00:00Z'), '2026-03-29T01:00:00.000Z', 'the hour that is left out: when it has passed');
  t.equal(after('2026-03-29T12:00:00Z'), '2026-03-30T00:30:00.000Z');
  t.equal(after('2026-10-24T12:00:00Z'), '2026-10-25T00:30:00.000Z', 'the hour that comes twice: once');
  t.equal(after('2026-10-25T00:30:00Z'), '2026-10-26T01:30:00.000Z');
  const minutes = await cronTimes('*/5 * * * *', 'UTC');
  const moment = new Date('2026-01-01T00:05:00Z');
  t.equal(minutes.upTo(moment)?.toISOString(), moment.toISOString());
  t.equal(minutes.upTo(new Date(moment.getTime() - 1))?.toISOString(), '2026-01-01T00:00:00.000Z');
  t.equal((await cronTimes('0 0 30 2 *', 'UTC')).after(moment), null);
  await t.rejects(cronTimes('0 0 0 30 2 *', 'UTC'), TypeError);
});
