/** Events of users reach administrators, in order, with their actor, and no one else. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signInAdmin, signUp } from '../helpers/users.ts';

interface Reported {
  readonly id: string;
  readonly type: string;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  readonly request: string | null;
  readonly data: Record<string, unknown> | null;
}

t.test('events of users', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const { app, services } = await buildTestApp(t, settings);
  const since = services.events.feed.position;
  const owner = await signInAdmin(app, services);
  const developer = await signInAdmin(app, services, ['developer']);
  const ada = await signUp(app, 'ada');
  await ask(app, 'POST /auth/login', { username: 'ada', password: 'not the right one' });
  const changed = await ask(app, `PATCH /admin/users/${ada.id}`, { roles: ['author'] }, owner);
  await ask(app, 'POST /auth/logout', undefined, ada);
  const key = (await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).json();
  await ask(app, `DELETE /admin/keys/${key.id}`, undefined, owner);
  await ask(app, `DELETE /admin/users/${ada.id}`, undefined, owner);

  const events = async (as = owner, types = 'system.*'): Promise<Reported[]> => {
    const response = await ask(app, `GET /events?since=${since}&types=${types}`, undefined, as);
    t.equal(response.statusCode, 200, response.body);
    return response.json().events;
  };
  await until(async () => (await events()).some(({ type }) => type === 'system.user.deleted'), 'all is notified');
  const reported = await events();
  const concerning = reported.filter(({ data, actor }) => JSON.stringify([data, actor]).includes(ada.id));
  const of = (type: string) => reported.find((one) => one.type === type && JSON.stringify(one).includes(ada.id));

  await t.test('events of users come in order and name their actor', async (t) => {
    const [first, second] = concerning;
    t.match([first?.type, second?.type], ['system.user.created', 'system.session.created']);
    t.match(of('system.user.created')?.actor, { kind: 'user', id: ada.id }, 'an account that makes itself');
    t.match(of('system.session.created')?.data, { user: ada.id, kind: 'user', ip: /^10\./ });
    t.match(of('system.auth.failed'), { actor: null, data: { details: { user: ada.id, ip: /^10\./ } } });
    const update = of('system.user.updated');
    t.match(update, { actor: { kind: 'admin', id: owner.id }, request: changed.headers['x-request-id'] });
    t.match(update?.data, { roles: ['author'] });
    t.match(of('system.session.revoked')?.data, { details: { session: ada.session, reason: 'logout' } });
    t.match(of('system.session.deleted'), { actor: { kind: 'user', id: ada.id }, documentId: ada.session });
    t.match(of('system.user.deleted'), { actor: { kind: 'admin', id: owner.id }, documentId: ada.id });
    t.match(
      reported.filter(({ type }) => type.startsWith('system.key.')).map(({ type, actor }) => [type, actor?.id]),
      [
        ['system.key.created', owner.id],
        ['system.key.deleted', owner.id],
      ],
    );
  });

  await t.test('events of users have no fields that only the server uses', async (t) => {
    await ask(app, `PATCH /admin/users/${owner.id}`, { claims: { names: 'mine' } }, owner);
    await services.mongo.data
      .collection<{ _id: string }>('_users')
      .updateOne({ _id: developer.id }, { $set: { names: ['x'] } });
    const last = { type: 'system.user.updated', documentId: developer.id };
    const found = async () => (await events()) as (Reported & { changed: string[] | null; before: object | null })[];
    await until(
      async () => (await found()).some((one) => one.type === last.type && JSON.stringify(one).includes(developer.id)),
      'it',
    );
    const ofUsers = (await found()).filter(({ type }) => type.startsWith('system.user.'));
    t.ok(ofUsers.length >= 5);
    for (const { data, before, changed } of ofUsers) {
      const fields = [data, before].flatMap((state) => Object.keys(state ?? {}));
      t.strictSame(
        [...fields, ...(changed ?? [])].filter((name) => name === 'names' || name === 'skeleton'),
        [],
      );
    }
    t.match(
      ofUsers.find(({ data }) => data?.['claims'] && JSON.stringify(data['claims']).includes('mine')),
      {
        data: { claims: { names: 'mine' } },
      },
    );
    const audited = async () =>
      (await ask(app, 'GET /admin/audit?eventType=system.user.created', undefined, owner)).body;
    await until(async () => (await audited()).includes(ada.id), 'the audit has it');
    t.notMatch(await audited(), /"(?:names|skeleton)":/);
  });

  await t.test('events of users are for administrators with the role owner or manager', async (t) => {
    const grace = await signUp(app, 'grace');
    t.equal((await ask(app, 'GET /events', undefined, grace)).statusCode, 403);
    t.equal((await ask(app, 'GET /events')).statusCode, 401);
    const built = await ask(app, 'POST /api/todos', { id: 'a' }, developer);
    t.equal(built.statusCode, 201);
    await until(async () => (await events(developer, '*')).some(({ type }) => type === 'todos.created'), 'the todo');
    const seen = new Set((await events(developer, '*')).map(({ type }) => type));
    t.strictSame(
      [...seen].filter((type) => /^system\.(user|session|key|auth)\./.test(type)),
      [],
      'a developer sees what is built',
    );
    t.ok((await events(await signInAdmin(app, services, ['manager']))).length > 0);
  });

  await t.test('events of users are in the audit log, newest first, by pages', async (t) => {
    const audit = async (query: string) => ask(app, `GET /admin/audit${query}` as 'GET /x', undefined, owner);
    await until(
      async () => (await audit('?eventType=system.user.deleted')).json().length === 1,
      'the audit has read on',
    );
    const whole: Reported[] = (await audit('?limit=1000')).json();
    const [deleted] = whole.filter(({ type }) => type === 'system.user.deleted');
    t.strictSame(deleted, of('system.user.deleted'), 'the same as told');
    const pages: Reported[] = [];
    for (let after = ''; ; ) {
      const page = await audit(`?limit=3${after}`);
      pages.push(...page.json());
      const next = page.headers['millrace-next'];
      if (next === undefined) break;
      after = `&cursor=${String(next)}`;
    }
    const since = new Set(whole.map(({ id }) => id));
    t.strictSame(
      pages.filter(({ id }) => since.has(id)).map(({ id }) => id),
      whole.map(({ id }) => id),
    );
    const failed: Reported[] = (await audit('?eventType=system.auth.*')).json();
    t.ok(failed.length > 0 && failed.every(({ type }) => type.startsWith('system.auth.')));
    for (const query of [
      '?cursor=x',
      '?limit=0',
      '?limit=1&limit=2',
      '?eventType=a&eventType=b',
      '?limit=1001',
      '?other=1',
      '?eventType=a%00',
      '?eventType=%00*',
      '?eventType=system.auth.fail',
    ])
      t.equal((await audit(query)).statusCode, 400, query);
  });

  await t.test('an unknown name takes as long as a known one', async (t) => {
    const { users, passwords } = services.auth;
    const user = await users.create({ username: 'timed', password: PASSWORD }, { by: null, request: null });
    const times = new Map<string | null, number[]>([
      [user._id, []],
      [null, []],
    ]);
    for (let n = 0; n < 15; n++) {
      for (const [id, taken] of times) {
        const start = performance.now();
        t.equal(await passwords.verify(id, 'a wrong guess'), false);
        taken.push(performance.now() - start);
      }
    }
    const [known = 0, unknown = 0] = [...times.values()].map((all) => all.sort((a, b) => a - b)[7]);
    t.comment(`${known.toFixed(1)} ms known, ${unknown.toFixed(1)} ms unknown`);
    t.ok(unknown / known > 0.6 && unknown / known < 1.7, `${(unknown / known).toFixed(2)}`);
  });
});
