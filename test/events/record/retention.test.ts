/** What the log forgets: by age and by size, as the settings say, and never the newest rows. */
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { Retention } from '../../../src/events/record/retention.ts';
import type { Parts } from '../../../src/parts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { until } from '../../helpers/until.ts';

/** Newest rows that are kept whatever the limits say. */
const KEPT = 1000;

async function write(app: FastifyInstance, count: number, text: string): Promise<void> {
  const documents = Array.from({ length: count }, (_, n) => ({ n, text }));
  const answer = await app.inject({ method: 'POST', url: '/api/things', payload: documents });
  if (answer.statusCode !== 201) throw new Error(answer.body);
}

const counted = async (parts: Parts) => (await parts.events.log.size()).rows;

t.test('rows that are too old go, and a position of then is refused', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_EVENT_LOG_AGE_MS: '3600000' });
  for (let round = 0; round < 2; round += 1) await write(app, 1000, 'x');
  const newest = async () => (await parts.events.log.newest())?.number ?? 0;
  await markLog(app, parts.events.tail);
  await until(() => parts.events.recorder.state.status === 'recording', 'this process records');

  t.equal(await parts.events.retention.sweep(new Date(Date.now() + 3_000_000)), 1, 'not before their age');
  t.equal((await app.inject('/events?since=1-1')).statusCode, 200);

  const floor = await parts.events.retention.sweep(new Date(Date.now() + 3_700_000));
  t.equal(floor, (await newest()) - KEPT, 'all but the newest');
  t.equal((await parts.events.log.read(0, 5000)).at(0)?.number, floor);
  const answer = await app.inject('/events?since=1-1');
  t.match(answer.json(), { status: 410, code: 'position-expired' });
  t.equal((await app.inject(`/events?since=1-${floor}`)).statusCode, 200);
});

t.test('rows beyond the size go, the oldest first', async (t) => {
  const LIMIT = 1_800_000;
  const { app, parts } = await buildTestApp(t, { MILLRACE_EVENT_LOG_BYTES: String(LIMIT) });
  for (let round = 0; round < 3; round += 1) await write(app, 700, 'x'.repeat(700));
  await markLog(app, parts.events.tail);
  await until(() => parts.events.recorder.state.status === 'recording', 'this process records');
  const before = await parts.events.log.size();
  t.ok(before.bytes > LIMIT, `${before.bytes} bytes in ${before.rows} rows`);
  const floor = await parts.events.retention.sweep(new Date());
  t.ok(floor > 1);
  const { rows, bytes } = await parts.events.log.size();
  // Rows are taken for equally large: what that misses goes with the next sweep.
  t.ok(bytes < LIMIT * 1.01 && bytes > LIMIT * 0.9, `${bytes} bytes`);
  t.ok(rows >= KEPT, `${rows} rows`);
  t.equal((await parts.events.log.read(0, 5000)).at(0)?.number, floor);
});

t.test('a process that does not record leaves the log alone', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_EVENT_LOG_AGE_MS: '1000' });
  for (let round = 0; round < 2; round += 1) await write(app, 900, 'x');
  await markLog(app, parts.events.tail);
  await parts.events.recorder.stop();
  t.equal(await parts.events.retention.sweep(new Date(Date.now() + 5_000)), 0);
  t.ok((await counted(parts)) >= 1800);
});

t.test('a process whose clock is wrong does not take what is young', async (t) => {
  const { app, parts } = await buildTestApp(t);
  for (let round = 0; round < 2; round += 1) await write(app, 900, 'x');
  await markLog(app, parts.events.tail);
  const { log } = parts.events;
  let asked = 0;
  const { Date: RealDate } = globalThis;
  t.teardown(() => (globalThis.Date = RealDate));
  globalThis.Date = class extends RealDate {
    constructor(value?: number) {
      super(value ?? RealDate.now() + 30 * 86_400_000);
    }
  } as DateConstructor;
  const retention = new Retention({ log, allowed: () => ++asked > 0, everyMs: 20 });
  retention.start();
  await until(() => asked >= 10, 'it has swept');
  await retention.stop();
  t.ok((await log.floor()) <= 1, 'the clock is that of the database, by which rows are dated');
});
