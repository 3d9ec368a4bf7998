/** Concurrent large writes by filter: one after the other, or rejected at once, without delaying other requests. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { MillraceError } from '../../src/lib/errors.ts';
import { buildTestApp } from '../helpers/app.ts';

const WRITES = 4;

t.test('four writes of 22 MB at once all succeed, and other writes proceed', async (t) => {
  const { app, services } = await buildTestApp(t);
  const rows = services.mongo.data.collection('large');
  const text = randomBytes(500_000).toString('hex');
  for (let part = 0; part < WRITES; part++) {
    await rows.insertMany(Array.from({ length: 22 }, () => ({ part, text })));
  }
  const write = async (part: number) => {
    const response = await app.inject({
      method: 'PATCH',
      url: `/api/large?part=${part}`,
      headers: { 'content-type': 'application/vnd.millrace.update+json', prefer: 'max-affected=100' },
      payload: '{"$inc":{"m":1}}',
    });
    return response.body;
  };
  let under = true;
  const writes = Promise.all(Array.from({ length: WRITES }, (_, part) => write(part))).finally(() => {
    under = false;
  });
  let small = 0;
  while (under) {
    const response = await app.inject({ method: 'POST', url: '/api/small', payload: [{ n: 1 }, { n: 2 }] });
    t.equal(response.statusCode, 201);
    small++;
  }
  t.same(await writes, Array(WRITES).fill('{"matched":22,"modified":22}'));
  t.equal(await rows.countDocuments({ m: 1 }), 22 * WRITES);
  t.ok(small > 8 * WRITES, `${small} small transactions meanwhile`);
});

t.test('one large transaction runs, 16 wait without a session, and the next is rejected at once', async (t) => {
  const { services } = await buildTestApp(t);
  const running = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  const large = () =>
    services.atomic.run(async (within) => {
      if (!within.large) {
        within.needsLargeLock = true;
        throw new MillraceError('overloaded', 'A large write must wait for other large writes');
      }
      atOnce++;
      most = Math.max(most, atOnce);
      running.resolve();
      await free.promise;
      atOnce--;
      return 'done';
    });
  const first = large();
  await running.promise;
  const outcomes = Promise.allSettled([first, ...Array.from({ length: 20 }, large)]);
  const isSmallDone = await services.atomic.run(async () => true);
  t.ok(isSmallDone, 'sessions are left for small ones');
  free.resolve();
  const all = await outcomes;
  const refused = all.flatMap((one) => (one.status === 'rejected' ? [one.reason as MillraceError] : []));
  t.equal(refused.length, 4);
  t.ok(refused.every(({ code }) => code === 'overloaded'));
  t.equal(most, 1);
});
