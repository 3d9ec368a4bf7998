/**
 * Policies apply a moment after their row in the log. A client that received a position in between and lost its
 * connection resumes with an earlier state: it restarts.
 */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { RecentRightsChanges } from '../../../src/realtime/subscription/recent-rights-changes.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { user } from '../../helpers/principals.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('resuming with a position between a policy and its effect restarts', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInAdmin(app, services);
  const ann = await signUp(app, 'ann');
  const readers = { effect: 'allow', actions: ['read'], principals: { authenticated: true } };
  const policy = (id: string, more: object) => ({ id, name: id, resources: ['posts'], ...more });
  const put = async (policy: { id: string }) => {
    const response = await ask(app, `PUT /admin/policies/${policy.id}`, policy, boss);
    if (response.statusCode === 404) return (await ask(app, 'POST /admin/policies', policy, boss)).statusCode;
    return response.statusCode;
  };
  t.equal(await put(policy('secrets', { ...readers, effect: 'deny', filter: { secret: 'yes' } })), 201);
  await ask(app, 'POST /api/posts', [{ id: 'a' }, { id: 'b', secret: 'no' }], boss);

  const enter = async (since?: string) => {
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    socket.send({ type: 'subscribe', id: 's', collection: 'posts', ...(since === undefined ? {} : { since }) });
    await socket.frame({ type: 'live' });
    return { socket };
  };
  const { socket } = await enter();

  // This process is slow to read the changed policies.
  const held: Parameters<typeof services.policies.use>[0][] = [];
  const use = services.policies.use.bind(services.policies);
  services.policies.use = (policies) => {
    held.push(policies);
  };
  t.equal(await put(policy('secrets', { ...readers, effect: 'deny', filter: { secret: 'no' } })), 200);
  await ask(app, 'POST /api/posts', { id: 'c' }, boss);
  const { event } = await socket.frame({ type: 'change', documentId: 'c' });
  t.equal(
    socket.of('s').some(({ op }) => op === 'leave'),
    false,
    'the new policy does not apply yet',
  );
  socket.socket.terminate();
  services.policies.use = use;
  for (const policies of held) use(policies);

  const back = await enter(String(event));
  t.match(back.socket.of('s'), [
    { type: 'reset', reason: 'policy-changed' },
    { from: 'snapshot' },
    { documents: [{ id: 'a' }, { id: 'c' }], last: true },
    { type: 'live' },
  ]);
});

t.test('changes of rights near a position prevent resuming', async (t) => {
  const row = (number: number, wallMs: number, more: Partial<LogRow> = {}): LogRow => ({
    ...LOG_ROW_DEFAULTS,
    ...{ epoch: 1, number, token: 'x', time: new Timestamp({ t: 1, i: number }), wall: new Date(wallMs) },
    ...{ operation: 'update', collection: 'posts', ...more },
  });
  const about = (id: string) => Buffer.from(BSON.serialize({ _id: id }));
  const earlier = [row(1, 0, { collection: '_policies' }), row(2, 4_000), row(3, 6_000)];
  const later = [
    row(4, 10_000, { collection: '_users', key: about('u1') }),
    row(5, 11_000, { collection: '_policies', operation: 'meta' }),
    row(6, 12_000),
  ];
  const rows = [...earlier, ...later];
  let report: (rows: readonly LogRow[]) => void = () => t.fail('nobody listens');
  const rights = new RecentRightsChanges({
    log: { about: async ({ through }) => ({ rows: rows.filter(({ number }) => number <= through), through }) },
    tail: {
      position: { epoch: 1, number: 3 },
      read: async (after) => rows.filter(({ number }) => number > after),
      attach: (listener) => {
        report = listener.rows;
        return () => {};
      },
    },
  });
  const unsure = (number: number, id: string) => rights.mayBeOutdated({ epoch: 1, number }, user(id));
  t.equal(await unsure(2, 'u1'), true, 'policies of four seconds before, also those of before this process');
  t.equal(await unsure(3, 'u1'), false, 'policies of six seconds before');
  report(later);
  t.equal(await unsure(6, 'u1'), true, 'its own roles, two seconds before');
  t.equal(await unsure(6, 'u2'), false, 'those of another user, and settings');
  t.equal(await rights.mayBeOutdated({ epoch: 2, number: 6 }, user('u1')), false, 'another history');
});
