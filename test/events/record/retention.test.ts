/** Retention of the log: by age and by size, as the settings say, and never the newest rows. */
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { Retention } from '../../../src/events/record/retention.ts';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { until } from '../../helpers/until.ts';

/** Newest rows that are kept whatever the limits are. */
const KEPT = 1000;

async function write(app: FastifyInstance, count: number, text: string): Promise<void> {
  const documents = Array.from({ length: count }, (_, n) => ({ n, text }));
  const response = await app.inject({ method: 'POST', url: '/api/things', payload: documents });
  if (response.statusCode !== 201) throw new Error(response.body);
}

const counted = async (services: Services) => (await services.events.log.size()).rows;

t.test('expired rows are deleted, and their positions are rejected', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_EVENT_RETENTION_MS: '3600000' });
  for (let round = 0; round < 2; round += 1) await write(app, 1000, 'x');
  const newest = async () => (await services.events.log.newest())?.number ?? 0;
  await markLog(app, services.events.tail);
  await until(() => services.events.recorder.state.status === 'recording', 'this process records');

  t.equal(await services.events.retention.deleteOldRows(new Date(Date.now() + 3_000_000)), 1, 'not before their age');
  t.equal((await app.inject('/events?since=1-1')).statusCode, 200);

  const floor = await services.events.retention.deleteOldRows(new Date(Date.now() + 3_700_000));
  t.equal(floor, (await newest()) - KEPT, 'all but the newest');
  t.equal((await services.events.log.read(0, 5000)).at(0)?.number, floor);
  const response = await app.inject('/events?since=1-1');
  t.match(response.json(), { status: 410, code: 'position-expired' });
  t.equal((await app.inject(`/events?since=1-${floor}`)).statusCode, 200);
});

t.test('rows beyond the size are deleted, oldest first', async (t) => {
  const LIMIT = 1_800_000;
  const { app, services } = await buildTestApp(t, { MILLRACE_MAX_EVENT_LOG_BYTES: String(LIMIT) });
  for (let round = 0; round < 3; round += 1) await write(app, 700, 'x'.repeat(700));
  await markLog(app, services.events.tail);
  await until(() => services.events.recorder.state.status === 'recording', 'this process records');
  const before = await services.events.log.size();
  t.ok(before.bytes > LIMIT, `${before.bytes} bytes in ${before.rows} rows`);
  const floor = await services.events.retention.deleteOldRows(new Date());
  t.ok(floor > 1);
  const { rows, bytes } = await services.events.log.size();
  // Rows are assumed to have equal size: the rest is deleted in the next round.
  t.ok(bytes < LIMIT * 1.01 && bytes > LIMIT * 0.9, `${bytes} bytes`);
  t.ok(rows >= KEPT, `${rows} rows`);
  t.equal((await services.events.log.read(0, 5000)).at(0)?.number, floor);
});

t.test('a process that does not record leaves the log alone', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_EVENT_RETENTION_MS: '1000' });
  for (let round = 0; round < 2; round += 1) await write(app, 900, 'x');
  await markLog(app, services.events.tail);
  await services.events.recorder.stop();
  t.equal(await services.events.retention.deleteOldRows(new Date(Date.now() + 5_000)), 0);
  t.ok((await counted(services)) >= 1800);
});

t.test('a process with a wrong clock does not delete recent rows', async (t) => {
  const { app, services } = await buildTestApp(t);
  for (let round = 0; round < 2; round += 1) await write(app, 900, 'x');
  await markLog(app, services.events.tail);
  const { log } = services.events;
  let requested = 0;
  const { Date: RealDate } = globalThis;
  t.teardown(() => (globalThis.Date = RealDate));
  globalThis.Date = class extends RealDate {
    constructor(value?: number) {
      super(value ?? RealDate.now() + 30 * 86_400_000);
    }
  } as DateConstructor;
  const retention = new Retention({ log, allowed: () => ++requested > 0, everyMs: 20 });
  retention.start();
  await until(() => requested >= 10, 'it has swept');
  await retention.stop();
  t.ok((await log.floor()) <= 1, 'the clock is that of the database, by which rows are dated');
});
