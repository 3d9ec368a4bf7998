/** Cron jobs: each time once, in any process; missed and overlapping times, time zones, changed schedules. */
import t from 'tap';
import { cronTimes } from '../../../src/functions/plugins/manifest/cron.ts';
import { onTime, queueFixture, type Said } from '../../helpers/functions/queue-fixture.ts';
import { until } from '../../helpers/until.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
// In the future, so that MongoDB does not delete expired runs during the test.
const START = Date.parse('2096-03-10T10:00:30Z');

t.setTimeout(120_000);
const fixture = await queueFixture(t);
const { log } = fixture.services.mongo;
const standing = log.collection('function_positions');
const times = async (filter: object = {}) =>
  (await fixture.runs({ kind: 'cron', ...filter })).map((run) => run.scheduledAt?.toISOString().slice(5, 16)).sort();

/** Waits until a schedule is active: a queue that does not record yet would be quiet, too. */
const stands = async (schedule: string) => {
  await until(async () => (await standing.countDocuments({ schedule })) > 0, `'${schedule}' is active`);
};

t.beforeEach(async () => {
  fixture.clock.now = START;
  for (const collection of [log.collection('runs'), standing]) await collection.deleteMany({});
});

t.test('Each time creates one run, with several planning processes.', async (t) => {
  const inputs: unknown[] = [];
  const said = { it: onTime('*/5 * * * *', ({ input }) => void inputs.push(input)) };
  const nodes = [await fixture.node(said), await fixture.node(said), await fixture.node(said)];
  await stands('*/5 * * * *');
  for (const { queue } of nodes) await queue.waitUntilIdle();
  t.strictSame(await times(), [], 'none at once');
  for (let count = 0; count < 3; count += 1) {
    fixture.clock.now += 5 * MINUTE;
    await Promise.all(nodes.map(({ queue }) => queue.runDue()));
    await fixture.reaches({ state: 'succeeded' }, count + 1);
  }
  t.strictSame(await times(), ['03-10T10:05', '03-10T10:10', '03-10T10:15']);
  t.strictSame(
    inputs,
    [5, 10, 15].map((m) => ({ scheduledAt: `2096-03-10T10:${String(m).padStart(2, '0')}:00.000Z` })),
  );
  t.strictSame(
    (await fixture.runs()).map(({ attempts }) => attempts),
    [1, 1, 1],
  );
  for (const node of nodes) {
    t.strictSame(node.errors, []);
    await node.stop();
  }
});

t.test('A time that comes during a planning pass is not missed.', async (t) => {
  const stepMs = 50;
  const node = await fixture.node({ it: onTime('*/5 * * * *', () => {}) });
  await stands('*/5 * * * *');
  await node.queue.waitUntilIdle();
  let now = START;
  const still = { value: START, writable: true, configurable: true };
  t.teardown(() => Object.defineProperty(fixture.clock, 'now', still));
  Object.defineProperty(fixture.clock, 'now', { get: () => (now += stepMs), configurable: true });
  // Each reading of the clock gives a later time. The cron job is due at the first reading, then at the second, and so on.
  for (let looks = 1; looks <= 8; looks += 1) {
    now = START - MINUTE / 2 + looks * 5 * MINUTE - looks * stepMs;
    await node.queue.runDue();
    await until(async () => (await times()).length === looks, `time ${looks} has its run`, 10_000);
  }
  await node.stop();
});

t.test('Times missed without a process are made up for once, within a day.', async (t) => {
  const said = { it: onTime('0 * * * *', () => {}) };
  const first = await fixture.node(said);
  await stands('0 * * * *');
  await first.queue.waitUntilIdle();
  await first.stop();
  fixture.clock.now += 5 * 60 * MINUTE;
  const second = await fixture.node(said);
  await fixture.reaches({ state: 'succeeded' });
  t.strictSame(await times(), ['03-10T15:00'], 'only the last of them');
  await second.stop();

  const daily = { it: onTime('0 8 * * *', () => {}) };
  const third = await fixture.node(daily);
  await stands('0 8 * * *');
  await third.queue.waitUntilIdle();
  await third.stop();
  fixture.clock.now = Date.parse('2096-03-13T07:59:00Z');
  const fourth = await fixture.node(daily);
  await fixture.reaches({ state: 'succeeded' }, 2);
  t.strictSame(await times(), ['03-10T15:00', '03-12T08:00']);
  await fourth.stop();
  fixture.clock.now += 4 * DAY + 2 * MINUTE;
  await standing.updateOne({}, { $set: { schedule: '0 8 13 * *' } });
  const monthly = await fixture.node({ it: onTime('0 8 13 * *', () => {}) });
  await monthly.queue.waitUntilIdle();
  t.strictSame(await times(), ['03-10T15:00', '03-12T08:00'], 'not after more than a day');
  await monthly.stop();
});

t.test('a time that comes while a run goes on is skipped', async (t) => {
  const end = Promise.withResolvers<void>();
  const node = await fixture.node({ it: onTime('* * * * *', () => end.promise) });
  await stands('* * * * *');
  await node.queue.waitUntilIdle();
  await fixture.pass(node, MINUTE);
  await fixture.reaches({ state: 'running' });
  await fixture.pass(node, MINUTE);
  const [skipped] = await fixture.reaches({ state: 'skipped' });
  t.match(skipped, { error: { code: 'still-running' }, attempts: 0 });
  end.resolve();
  await fixture.reaches({ state: 'succeeded' });
  await fixture.pass(node, MINUTE);
  await fixture.reaches({ state: 'succeeded' }, 2);
  t.strictSame(await times({ state: 'succeeded' }), ['03-10T10:01', '03-10T10:03']);
  await node.stop();
});

t.test('A changed schedule is active immediately; one that was inactive starts again.', async (t) => {
  const every = (schedule: string, more: Partial<Said> = {}) => ({ it: { ...onTime(schedule, () => {}), ...more } });
  const node = await fixture.node(every('0 * * * *'));
  await stands('0 * * * *');
  node.use(every('*/10 * * * *'));
  await stands('*/10 * * * *');
  await node.queue.waitUntilIdle();
  await fixture.pass(node, 10 * MINUTE);
  await fixture.reaches({ state: 'succeeded' });
  node.use(every('*/10 * * * *', { isQuarantined: true }));
  await node.queue.waitUntilIdle();
  await fixture.pass(node, 20 * MINUTE);
  node.use(every('*/10 * * * *'));
  await node.queue.waitUntilIdle();
  t.strictSame(await times(), ['03-10T10:10'], 'times during quarantine are not made up for');
  node.use({});
  await until(async () => (await standing.countDocuments({})) === 0, 'no positions are stored');
  fixture.clock.now += 20 * MINUTE;
  node.use(every('*/10 * * * *'));
  await stands('*/10 * * * *');
  await node.queue.waitUntilIdle();
  await fixture.pass(node, 10 * MINUTE);
  await fixture.reaches({ state: 'succeeded' }, 2);
  t.strictSame(await times(), ['03-10T10:10', '03-10T11:00']);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('A time that comes during a short pause of recording is not missed.', async (t) => {
  let records = true;
  const node = await fixture.node({ it: onTime('*/10 * * * *', () => {}) }, () => records);
  await stands('*/10 * * * *');
  await node.queue.waitUntilIdle();
  records = false;
  await fixture.pass(node, 10 * MINUTE);
  t.strictSame(await times(), []);
  records = true;
  await fixture.reaches({ state: 'succeeded' });
  t.equal((await times()).length, 1);
  await node.stop();
});

t.test('Times follow the clock of the time zone.', async (t) => {
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
