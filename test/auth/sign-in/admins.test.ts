/** How an instance gets administrators, what the four roles may, and that there is always an owner left. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { admin } from '../../../src/commands/admin.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createServices } from '../../../src/services.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin, signUp, toUser } from '../../helpers/users.ts';

const PRODUCTION = { MILLRACE_MODE: 'production' };
const BASE = 'https://app.example.org';

t.test('a set-up link', async (t) => {
  const { app, services } = await buildTestApp(t, PRODUCTION);
  const link = async () => {
    const [, token = ''] = (await services.auth.firstAdmin.link(BASE)).split(`${BASE}/dashboard/setup#`);
    return token;
  };
  const setUp = (token: string, email: string, password = PASSWORD) =>
    ask(app, 'POST /setup', { token, email, password });

  t.equal(await services.auth.firstAdmin.exists(), false);
  const old = await link();
  const token = await link();
  t.match(token, /^[\w-]{43}$/);
  t.match((await setUp(old, 'a@example.org')).json(), { status: 410, code: 'link-expired' }, 'a newer one kills it');
  t.match((await setUp(token, 'a@example.org', 'password')).json(), { code: 'weak-password' });
  const responses = await Promise.all(Array.from({ length: 50 }, (_, n) => setUp(token, `owner-${n}@example.org`)));
  const [first, ...more] = responses.filter(({ statusCode }) => statusCode === 201);
  if (first === undefined) throw new Error('Nobody became the administrator');
  t.strictSame(more, [], 'of 50 that use it at once, one becomes the administrator');
  t.match(first.json(), { user: { kind: 'admin', roles: ['owner'] } });
  t.equal(await services.auth.firstAdmin.exists(), true);
  const owner = toUser(first);
  t.match((await ask(app, 'GET /auth/me', undefined, owner)).json(), { kind: 'admin' });
  t.equal((await ask(app, 'GET /admin/status', undefined, owner)).statusCode, 200);

  await t.test(
    'a set-up link shows only its holder which e-mail addresses have users, and stays valid when no administrator was created',
    async (t) => {
      const held = await link();
      const taken = await services.auth.users.get(owner.id);
      for (const email of [taken.email ?? '', 'free@example.org']) {
        t.equal((await setUp('x'.repeat(43), email)).json().code, 'link-expired');
      }
      t.match((await setUp(held, taken.email ?? '')).json(), { status: 409, code: 'email-taken' });
      t.equal((await setUp(held, 'free@example.org')).statusCode, 201);
      t.equal((await setUp(held, 'other@example.org')).statusCode, 410);
    },
  );

  await t.test('a set-up link expires', async (t) => {
    const late = await link();
    await services.mongo.log
      .collection('one_time_tokens')
      .updateMany({ purpose: 'setup' }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    t.equal((await setUp(late, 'late@example.org')).statusCode, 410);
  });

  await t.test('opens a page that runs only its own scripts', async (t) => {
    t.match((await ask(app, 'GET /setup')).headers, { location: '/dashboard/setup' });
    for (const path of ['/reset', '/verify'] as const) {
      const page = await ask(app, `GET ${path}`);
      t.equal(page.statusCode, 200);
      const policy = String(page.headers['content-security-policy']);
      t.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; /);
      t.notMatch(page.body, /https?:|\son\w+=|\sstyle=|\ssrc=/);
      t.match(page.headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    }
  });
});

t.test(
  'data and credentials from development mode count from the first administrator on, who is notified',
  async (t) => {
    const testDatabase = await testMongo(t);
    const { app: open } = await buildTestApp(t, {}, testDatabase);
    await ask(open, 'POST /api/todos', { title: 'x' });
    const key = (await ask(open, 'POST /admin/keys', { name: 'back door' })).json();
    await signUp(open, 'eve');
    await ask(open, 'POST /admin/providers', { name: 'hub', kind: 'github', clientId: 'c', clientSecret: 's' });
    const everything = { resources: ['*'], actions: ['read'], effect: 'allow' };
    for (const principals of [{ keys: [key.id] }, { authenticated: true }, { anonymous: true }]) {
      const policy = { name: `for ${Object.keys(principals)}`, ...everything, principals };
      t.equal((await ask(open, 'POST /admin/policies', policy)).statusCode, 201);
    }

    const [{ app, services }, other] = [
      await buildTestApp(t, PRODUCTION, testDatabase),
      await buildTestApp(t, PRODUCTION, testDatabase),
    ];
    const byKey = { headers: { authorization: `Bearer ${key.key}` } };
    const eve = await signIn(app, 'eve');
    const reads = async () => {
      const responses = [app, other.app].flatMap((at) => [undefined, eve, byKey].map((as) => read(at, as)));
      return (await Promise.all(responses)).join(' ');
    };
    const read = async (at: typeof app, as?: Pick<typeof eve, 'headers'>) =>
      (await ask(at, 'GET /api/todos', undefined, as)).statusCode;
    t.equal(await reads(), '401 403 403 401 403 403');
    const reported =
      /^Created before there was an administrator: policies 3, API keys 1, users 1, identity providers 1\. .*\/admin\/policies/;
    t.match(services.auth.leftBehind, reported);
    const [, token] = (await services.auth.firstAdmin.link(BASE)).split('#');
    const created = await ask(app, 'POST /setup', { token, email: 'a@example.org', password: PASSWORD });
    t.match(created.json(), { user: { kind: 'admin' }, note: reported });
    await until(async () => (await reads()) === '200 200 200 200 200 200', 'they count everywhere');
    t.equal(await services.auth.firstAdmin.describeDevelopmentLeftovers(), null);
    const [, next] = (await services.auth.firstAdmin.link(BASE)).split('#');
    const second = await ask(app, 'POST /setup', { token: next, email: 'b@example.org', password: PASSWORD });
    t.notMatch(second.json(), { note: String }, 'a later owner could have looked');
  },
);

t.test('an administrator that settings create', async (t) => {
  const testDatabase = await testMongo(t);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-admin-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  const settings = { ...PRODUCTION, MILLRACE_ADMIN_EMAIL: 'root@example.org', MILLRACE_ADMIN_PASSWORD_FILE: file };
  await t.rejects(buildTestApp(t, settings, testDatabase), { message: /MILLRACE_ADMIN_PASSWORD_FILE: ENOENT/ });
  await writeFile(file, 'password\n');
  await t.rejects(buildTestApp(t, settings, testDatabase), { message: /MILLRACE_ADMIN_PASSWORD_FILE=.*most common/ });
  await writeFile(file, `${PASSWORD}\n`);
  const apps = await Promise.all([buildTestApp(t, settings, testDatabase), buildTestApp(t, settings, testDatabase)]);
  for (const { app } of apps) t.ok((await signIn(app, 'root@example.org')).id);
  await writeFile(file, 'another password\n');
  const [{ app }] = [await buildTestApp(t, settings, testDatabase)];
  t.ok((await signIn(app, 'root@example.org')).id, 'an administrator that is there stays as it is');
  t.throws(() => loadConfig({ MILLRACE_ADMIN_EMAIL: 'a@b' }), { message: /set both/ });
});

t.test('an administrator in settings whose e-mail address belongs to a user', async (t) => {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, { ...PRODUCTION, MILLRACE_REGISTRATION: 'open' }, testDatabase);
  await signUp(app, 'squatter', { email: 'root@example.org' });
  const folder = await mkdtemp(join(tmpdir(), 'millrace-admin-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  await writeFile(file, PASSWORD);
  const settings = { ...PRODUCTION, MILLRACE_ADMIN_EMAIL: 'root@example.org', MILLRACE_ADMIN_PASSWORD_FILE: file };
  const says =
    /MILLRACE_ADMIN_EMAIL=root@example\.org: this e-mail address belongs to a user who is not an administrator; no administrator was created/;
  await t.rejects(
    buildTestApp(t, settings, testDatabase),
    { message: says },
    'without an administrator nothing starts',
  );
  await signInAdmin(app, services);
  const errors: unknown[] = [];
  const config = loadConfig({ MILLRACE_DB: testDatabase.database, PORT: '0', ...settings });
  const second = await createServices(config, testDatabase.url, { onError: (error) => errors.push(error) });
  t.teardown(() => second.close());
  t.match(errors, [{ message: says }], 'with another administrator it is notified');
});

t.test('millrace admin', async (t) => {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, PRODUCTION, testDatabase);
  const env = { MONGODB_URL: testDatabase.url, MILLRACE_DB: testDatabase.database, MILLRACE_PUBLIC_URL: BASE };
  const run = (...words: string[]) => admin(words, env);
  const { text = '' } = await run('--setup-link');
  const [, token = ''] = /^https:\/\/app\.example\.org\/dashboard\/setup#([\w-]{43})$/.exec(text) ?? [];
  t.equal((await ask(app, 'POST /setup', { token, email: 'a@example.org', password: PASSWORD })).statusCode, 201);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-admin-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  await writeFile(file, PASSWORD);
  const created = await run('--email', 'b@example.org', '--password-file', file, '--roles', 'manager,developer');
  t.match(created.text, /^b@example\.org is now an administrator with the role manager and developer/);
  const user = await signIn(app, 'b@example.org');
  t.match((await ask(app, 'GET /auth/me', undefined, user)).json(), {
    kind: 'admin',
    roles: ['manager', 'developer'],
  });
  const refused = (message: RegExp, ...words: string[]) => t.rejects(run(...words), { message });
  await refused(/notmail: .*an e-mail/, '--email', 'notmail', '--password-file', file);

  await t.test('millrace admin replaces a lost password', async (t) => {
    const { users } = services.auth;
    await users.change(user.id, { disabled: true }, { by: null, request: null });
    await writeFile(file, 'password');
    await refused(/most common/, '--email', 'b@example.org', '--password-file', file);
    t.match(await users.get(user.id), { disabled: true, roles: ['manager', 'developer'] }, 'refused as a whole');
    await writeFile(file, 'five wooden ships sail');
    const fixed = await run('--email', 'B@example.org', '--password-file', file);
    t.equal(fixed.text, `B@example.org is now an administrator with the role owner (${user.id})`);
    t.match(await users.get(user.id), { kind: 'admin', disabled: false, roles: ['owner'] });
    t.ok((await signIn(app, 'b@example.org', 'five wooden ships sail')).id);
    const old = { username: 'b@example.org', password: PASSWORD };
    t.equal((await ask(app, 'POST /auth/login', old)).statusCode, 401, 'the old password is none any more');
    const { refreshToken } = user;
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken })).statusCode, 401, 'its sessions have ended');
  });

  await t.test('millrace admin turns no user into an administrator', async (t) => {
    const user = await services.auth.users.create(
      { username: 'squatter', email: 'u@example.org', password: PASSWORD },
      { by: null, request: null },
    );
    await refused(/to a user/, '--email', 'u@example.org', '--password-file', file);
    t.match(await services.auth.users.get(user._id), { kind: 'user', roles: [] });
    t.ok((await signIn(app, 'squatter')).id);
  });

  await refused(/must be one of/, '--email', 'c@example.org', '--password-file', file, '--roles', 'god');
});

t.test('roles of administrators', async (t) => {
  const { app, services } = await buildTestApp(t, { ...PRODUCTION, MILLRACE_REGISTRATION: 'open' });
  const as = {
    owner: await signInAdmin(app, services, ['owner']),
    manager: await signInAdmin(app, services, ['manager']),
    developer: await signInAdmin(app, services, ['developer']),
    viewer: await signInAdmin(app, services, ['viewer']),
    user: await signUp(app, 'ada'),
  };
  const grid: [request: Parameters<typeof ask>[1], body: object | undefined, allowed: readonly (keyof typeof as)[]][] =
    [
      ['GET /admin/status', undefined, ['owner', 'manager', 'developer', 'viewer']],
      ['GET /admin/users', undefined, ['owner', 'manager']],
      ['GET /admin/keys', undefined, ['owner', 'manager']],
      ['GET /admin/audit', undefined, ['owner', 'manager']],
      ['POST /admin/keys', { name: 'k' }, ['owner', 'manager']],
      [`PATCH /admin/users/${as.user.id}`, { roles: ['x'] }, ['owner', 'manager']],
      [`PATCH /admin/users/${as.viewer.id}`, { roles: ['viewer'] }, ['owner']],
      [`DELETE /admin/users/${as.viewer.id}/sessions/none`, undefined, []],
      ['POST /api/todos', { title: 'x' }, ['owner', 'manager', 'developer']],
      ['GET /api/todos', undefined, ['owner', 'manager', 'developer', 'viewer']],
    ];
  for (const [request, body, allowed] of grid) {
    for (const [name, user] of Object.entries(as)) {
      const { statusCode, body: text } = await ask(app, request, body, user);
      const may = allowed.some((one) => one === name);
      if (may) t.ok(statusCode < 300, `${name} ${request}: ${statusCode} ${text.slice(0, 100)}`);
      else t.ok([403, 404, 409].includes(statusCode), `${name} ${request}: ${statusCode} ${text.slice(0, 100)}`);
    }
    t.equal((await ask(app, request, body)).statusCode, 401, `anonymous ${request}`);
  }

  await t.test('only administrators create and change administrators', async (t) => {
    const requested = { kind: 'admin', email: 'new@example.org', password: PASSWORD, roles: ['viewer'] };
    t.equal((await ask(app, 'POST /admin/users', requested, as.manager)).statusCode, 403);
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}`, undefined, as.manager)).statusCode, 403);
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}/sessions`, undefined, as.manager)).statusCode, 403);
    const created = await ask(app, 'POST /admin/users', requested, as.owner);
    t.match(created.json(), { kind: 'admin', roles: ['viewer'] });
    const odd = await ask(app, `PATCH /admin/users/${created.json().id}`, { roles: ['king'] }, as.owner);
    t.match(odd.json(), { code: 'invalid-body' });
    t.equal((await ask(app, `DELETE /admin/users/${created.json().id}`, undefined, as.owner)).statusCode, 204);
  });

  await t.test('the last owner cannot be removed', async (t) => {
    for (const change of [{ disabled: true }, { roles: ['viewer'] }]) {
      const response = await ask(app, `PATCH /admin/users/${as.owner.id}`, change, as.owner);
      t.match(response.json(), { status: 409, code: 'last-owner' });
    }
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}`, undefined, as.owner)).statusCode, 409);
  });
});

t.test('two owners who remove each other at the same moment are not both removed', async (t) => {
  const { services } = await buildTestApp(t, PRODUCTION);
  const { users } = services.auth;
  const stamp = { by: null, request: null };
  const make = (n: number) =>
    users.create({ kind: 'admin', email: `${n}@example.org`, password: PASSWORD, roles: ['owner'] }, stamp);
  for (let round = 0; round < 12; round++) {
    for (const user of await users.list({ kind: 'admin', search: null }, null, 10)) {
      await users.change(user._id, { disabled: false, roles: ['owner'] }, stamp);
    }
    const there = await users.list({ kind: 'admin', search: null }, null, 10);
    const pair = [...there, await make(2 * round), await make(2 * round + 1)].slice(0, 2);
    for (const other of (await users.list({ kind: 'admin', search: null }, null, 10)).filter(
      ({ _id }) => !pair.some((one) => one._id === _id),
    )) {
      await users.remove(other._id, stamp);
    }
    const end = (id: string, n: number) =>
      n % 3 === 0 ? users.remove(id, stamp) : users.change(id, n % 3 === 1 ? { disabled: true } : { roles: [] }, stamp);
    await Promise.allSettled(pair.map(({ _id }, index) => end(_id, round + index)));
    const left = (await users.list({ kind: 'admin', search: null }, null, 10)).filter(
      ({ disabled, roles }) => !disabled && roles.includes('owner'),
    );
    t.ok(left.length > 0, `round ${round}: ${left.length} left`);
  }
});

t.test('in development anonymous clients may administer the instance, but create no administrators', async (t) => {
  const { app } = await buildTestApp(t);
  t.equal((await ask(app, 'GET /admin/users')).statusCode, 200);
  const requested = { kind: 'admin', email: 'a@example.org', password: PASSWORD, roles: ['owner'] };
  t.equal((await ask(app, 'POST /admin/users', requested)).statusCode, 403);
});
