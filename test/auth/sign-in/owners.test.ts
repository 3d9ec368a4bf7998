/** How somebody comes to run an installation, what the four roles may, and that there is always an owner left. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { owner } from '../../../src/commands/owner.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { makeParts } from '../../../src/parts.ts';
import { ask, PASSWORD, signIn, signInOwner, signUp, toAccount } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const PRODUCTION = { MILLRACE_MODE: 'production' };
const BASE = 'https://app.example.org';

t.test('a set-up link', async (t) => {
  const { app, parts } = await buildTestApp(t, PRODUCTION);
  const link = async () => {
    const [, token = ''] = (await parts.auth.owners.link(BASE)).split(`${BASE}/dashboard/setup#`);
    return token;
  };
  const setUp = (token: string, email: string, password = PASSWORD) =>
    ask(app, 'POST /setup', { token, email, password });

  t.equal(await parts.auth.owners.exists(), false);
  const old = await link();
  const token = await link();
  t.match(token, /^[\w-]{43}$/);
  t.match((await setUp(old, 'a@example.org')).json(), { status: 410, code: 'link-unusable' }, 'a newer one kills it');
  t.match((await setUp(token, 'a@example.org', 'password')).json(), { code: 'password-refused' });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => setUp(token, `owner-${n}@example.org`)));
  const [first, ...more] = answers.filter(({ statusCode }) => statusCode === 201);
  if (first === undefined) throw new Error('Nobody became the owner');
  t.strictSame(more, [], 'of 50 that use it at once, one becomes the owner');
  t.match(first.json(), { user: { kind: 'owner', roles: ['owner'] } });
  t.equal(await parts.auth.owners.exists(), true);
  const owner = toAccount(first);
  t.match((await ask(app, 'GET /auth/me', undefined, owner)).json(), { kind: 'owner' });
  t.equal((await ask(app, 'GET /admin/state', undefined, owner)).statusCode, 200);

  await t.test('tells only its holder which addresses have accounts, and stays when nobody was made', async (t) => {
    const held = await link();
    const taken = await parts.auth.users.get(owner.id);
    for (const email of [taken.email ?? '', 'free@example.org']) {
      t.equal((await setUp('x'.repeat(43), email)).json().code, 'link-unusable');
    }
    t.match((await setUp(held, taken.email ?? '')).json(), { status: 409, code: 'unique-violation' });
    t.equal((await setUp(held, 'free@example.org')).statusCode, 201);
    t.equal((await setUp(held, 'other@example.org')).statusCode, 410);
  });

  await t.test('expires', async (t) => {
    const late = await link();
    await parts.mongo.log
      .collection('single_use')
      .updateMany({ purpose: 'setup' }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    t.equal((await setUp(late, 'late@example.org')).statusCode, 410);
  });

  await t.test('opens a page that runs nothing but itself', async (t) => {
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

t.test('what anybody made in development counts in production from the first owner on, who is told', async (t) => {
  const place = await testMongo(t);
  const { app: open } = await buildTestApp(t, {}, place);
  await ask(open, 'POST /api/todos', { title: 'x' });
  const key = (await ask(open, 'POST /admin/keys', { name: 'back door' })).json();
  await signUp(open, 'eve');
  await ask(open, 'POST /admin/providers', { name: 'hub', kind: 'github', clientId: 'c', clientSecret: 's' });
  const everything = { collections: ['*'], actions: ['read'], effect: 'allow' };
  for (const principals of [{ keys: [key.id] }, { authenticated: true }, { anonymous: true }]) {
    const policy = { name: `for ${Object.keys(principals)}`, ...everything, principals };
    t.equal((await ask(open, 'POST /admin/policies', policy)).statusCode, 201);
  }

  const [{ app, parts }, other] = [await buildTestApp(t, PRODUCTION, place), await buildTestApp(t, PRODUCTION, place)];
  const byKey = { headers: { authorization: `Bearer ${key.key}` } };
  const eve = await signIn(app, 'eve');
  const reads = async () => {
    const answers = [app, other.app].flatMap((at) => [undefined, eve, byKey].map((as) => read(at, as)));
    return (await Promise.all(answers)).join(' ');
  };
  const read = async (at: typeof app, as?: Pick<typeof eve, 'headers'>) =>
    (await ask(at, 'GET /api/todos', undefined, as)).statusCode;
  t.equal(await reads(), '401 403 403 401 403 403');
  const told =
    /^Made before there was an owner: policies 3, API keys 1, accounts 1, identity providers 1\. .*\/admin\/policies/;
  t.match(parts.auth.leftBehind, told);
  const [, token] = (await parts.auth.owners.link(BASE)).split('#');
  const made = await ask(app, 'POST /setup', { token, email: 'a@example.org', password: PASSWORD });
  t.match(made.json(), { user: { kind: 'owner' }, note: told });
  await until(async () => (await reads()) === '200 200 200 200 200 200', 'they count everywhere');
  t.equal(await parts.auth.owners.leftBehind(), null);
  const [, next] = (await parts.auth.owners.link(BASE)).split('#');
  const second = await ask(app, 'POST /setup', { token: next, email: 'b@example.org', password: PASSWORD });
  t.notMatch(second.json(), { note: String }, 'a later owner could have looked');
});

t.test('an owner that settings make', async (t) => {
  const place = await testMongo(t);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-owner-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  const settings = { ...PRODUCTION, MILLRACE_OWNER_EMAIL: 'root@example.org', MILLRACE_OWNER_PASSWORD_FILE: file };
  await t.rejects(buildTestApp(t, settings, place), { message: /MILLRACE_OWNER_PASSWORD_FILE: ENOENT/ });
  await writeFile(file, 'password\n');
  await t.rejects(buildTestApp(t, settings, place), { message: /MILLRACE_OWNER_PASSWORD_FILE=.*attackers try/ });
  await writeFile(file, `${PASSWORD}\n`);
  const apps = await Promise.all([buildTestApp(t, settings, place), buildTestApp(t, settings, place)]);
  for (const { app } of apps) t.ok((await signIn(app, 'root@example.org')).id);
  await writeFile(file, 'another password\n');
  const [{ app }] = [await buildTestApp(t, settings, place)];
  t.ok((await signIn(app, 'root@example.org')).id, 'an owner that is there stays as it is');
  t.throws(() => loadConfig({ MILLRACE_OWNER_EMAIL: 'a@b' }), { message: /set both/ });
});

t.test('an owner that settings name and a user stands in the way of', async (t) => {
  const place = await testMongo(t);
  const { app, parts } = await buildTestApp(t, { ...PRODUCTION, MILLRACE_REGISTRATION: 'open' }, place);
  await signUp(app, 'squatter', { email: 'root@example.org' });
  const folder = await mkdtemp(join(tmpdir(), 'millrace-owner-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  await writeFile(file, PASSWORD);
  const settings = { ...PRODUCTION, MILLRACE_OWNER_EMAIL: 'root@example.org', MILLRACE_OWNER_PASSWORD_FILE: file };
  const says =
    /MILLRACE_OWNER_EMAIL=root@example\.org: the account with this address belongs to a user; no owner was made/;
  await t.rejects(buildTestApp(t, settings, place), { message: says }, 'without an owner nothing starts');
  await signInOwner(app, parts);
  const errors: unknown[] = [];
  const config = loadConfig({ MILLRACE_DB: place.database, PORT: '0', ...settings });
  const second = await makeParts(config, place.url, (error) => errors.push(error));
  t.teardown(() => second.close());
  t.match(errors, [{ message: says }], 'with another owner it is told');
});

t.test('millrace owner', async (t) => {
  const place = await testMongo(t);
  const { app, parts } = await buildTestApp(t, PRODUCTION, place);
  const env = { MONGODB_URL: place.url, MILLRACE_DB: place.database, MILLRACE_PUBLIC_URL: BASE };
  const run = (...words: string[]) => owner(words, env);
  const { text = '' } = await run('--link');
  const [, token = ''] = /^https:\/\/app\.example\.org\/dashboard\/setup#([\w-]{43})$/.exec(text) ?? [];
  t.equal((await ask(app, 'POST /setup', { token, email: 'a@example.org', password: PASSWORD })).statusCode, 201);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-owner-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'password');
  await writeFile(file, PASSWORD);
  const made = await run('--email', 'b@example.org', '--password-file', file, '--roles', 'admin,developer');
  t.match(made.text, /^b@example\.org is admin and developer now/);
  const account = await signIn(app, 'b@example.org');
  t.match((await ask(app, 'GET /auth/me', undefined, account)).json(), {
    kind: 'owner',
    roles: ['admin', 'developer'],
  });
  const refused = (message: RegExp, ...words: string[]) => t.rejects(run(...words), { message });
  await refused(/notmail: .*an e-mail/, '--email', 'notmail', '--password-file', file);

  await t.test('mends a lost password', async (t) => {
    const { users } = parts.auth;
    await users.change(account.id, { disabled: true }, { by: null, request: null });
    await writeFile(file, 'password');
    await refused(/attackers/, '--email', 'b@example.org', '--password-file', file);
    t.match(await users.get(account.id), { disabled: true, roles: ['admin', 'developer'] }, 'refused as a whole');
    await writeFile(file, 'five wooden ships sail');
    const mended = await run('--email', 'B@example.org', '--password-file', file);
    t.equal(mended.text, `B@example.org is owner now (${account.id})`);
    t.match(await users.get(account.id), { kind: 'owner', disabled: false, roles: ['owner'] });
    t.ok((await signIn(app, 'b@example.org', 'five wooden ships sail')).id);
    const old = { username: 'b@example.org', password: PASSWORD };
    t.equal((await ask(app, 'POST /auth/login', old)).statusCode, 401, 'the old password is none any more');
    const { refreshToken } = account;
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken })).statusCode, 401, 'its sessions have ended');
  });

  await t.test('makes no owner of a user', async (t) => {
    const user = await parts.auth.users.create(
      { username: 'squatter', email: 'u@example.org', password: PASSWORD },
      { by: null, request: null },
    );
    await refused(/to a user/, '--email', 'u@example.org', '--password-file', file);
    t.match(await parts.auth.users.get(user._id), { kind: 'user', roles: [] });
    t.ok((await signIn(app, 'squatter')).id);
  });

  await refused(/known are/, '--email', 'c@example.org', '--password-file', file, '--roles', 'god');
});

t.test('roles', async (t) => {
  const { app, parts } = await buildTestApp(t, { ...PRODUCTION, MILLRACE_REGISTRATION: 'open' });
  const as = {
    owner: await signInOwner(app, parts, ['owner']),
    admin: await signInOwner(app, parts, ['admin']),
    developer: await signInOwner(app, parts, ['developer']),
    viewer: await signInOwner(app, parts, ['viewer']),
    user: await signUp(app, 'ada'),
  };
  const grid: [request: Parameters<typeof ask>[1], body: object | undefined, allowed: readonly (keyof typeof as)[]][] =
    [
      ['GET /admin/state', undefined, ['owner', 'admin', 'developer', 'viewer']],
      ['GET /admin/users', undefined, ['owner', 'admin']],
      ['GET /admin/keys', undefined, ['owner', 'admin']],
      ['GET /admin/audit', undefined, ['owner', 'admin']],
      ['POST /admin/keys', { name: 'k' }, ['owner', 'admin']],
      [`PATCH /admin/users/${as.user.id}`, { roles: ['x'] }, ['owner', 'admin']],
      [`PATCH /admin/users/${as.viewer.id}`, { roles: ['viewer'] }, ['owner']],
      [`DELETE /admin/users/${as.viewer.id}/sessions/none`, undefined, []],
      ['POST /api/todos', { title: 'x' }, ['owner', 'admin', 'developer']],
      ['GET /api/todos', undefined, ['owner', 'admin', 'developer', 'viewer']],
    ];
  for (const [request, body, allowed] of grid) {
    for (const [name, account] of Object.entries(as)) {
      const { statusCode, body: text } = await ask(app, request, body, account);
      const may = allowed.some((one) => one === name);
      if (may) t.ok(statusCode < 300, `${name} ${request}: ${statusCode} ${text.slice(0, 100)}`);
      else t.ok([403, 404, 409].includes(statusCode), `${name} ${request}: ${statusCode} ${text.slice(0, 100)}`);
    }
    t.equal((await ask(app, request, body)).statusCode, 401, `a stranger ${request}`);
  }

  await t.test('owners are made and changed by owners alone', async (t) => {
    const wanted = { kind: 'owner', email: 'new@example.org', password: PASSWORD, roles: ['viewer'] };
    t.equal((await ask(app, 'POST /admin/users', wanted, as.admin)).statusCode, 403);
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}`, undefined, as.admin)).statusCode, 403);
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}/sessions`, undefined, as.admin)).statusCode, 403);
    const made = await ask(app, 'POST /admin/users', wanted, as.owner);
    t.match(made.json(), { kind: 'owner', roles: ['viewer'] });
    const odd = await ask(app, `PATCH /admin/users/${made.json().id}`, { roles: ['king'] }, as.owner);
    t.match(odd.json(), { code: 'invalid-body' });
    t.equal((await ask(app, `DELETE /admin/users/${made.json().id}`, undefined, as.owner)).statusCode, 204);
  });

  await t.test('the last owner stays', async (t) => {
    for (const change of [{ disabled: true }, { roles: ['viewer'] }]) {
      const answer = await ask(app, `PATCH /admin/users/${as.owner.id}`, change, as.owner);
      t.match(answer.json(), { status: 409, code: 'last-owner' });
    }
    t.equal((await ask(app, `DELETE /admin/users/${as.owner.id}`, undefined, as.owner)).statusCode, 409);
  });
});

t.test('owners who end each other in the same moment do not both end', async (t) => {
  const { parts } = await buildTestApp(t, PRODUCTION);
  const { users } = parts.auth;
  const stamp = { by: null, request: null };
  const make = (n: number) =>
    users.create({ kind: 'owner', email: `${n}@example.org`, password: PASSWORD, roles: ['owner'] }, stamp);
  for (let round = 0; round < 12; round++) {
    for (const user of await users.list({ kind: 'owner', search: null }, null, 10)) {
      await users.change(user._id, { disabled: false, roles: ['owner'] }, stamp);
    }
    const there = await users.list({ kind: 'owner', search: null }, null, 10);
    const pair = [...there, await make(2 * round), await make(2 * round + 1)].slice(0, 2);
    for (const other of (await users.list({ kind: 'owner', search: null }, null, 10)).filter(
      ({ _id }) => !pair.some((one) => one._id === _id),
    )) {
      await users.remove(other._id, stamp);
    }
    const end = (id: string, n: number) =>
      n % 3 === 0 ? users.remove(id, stamp) : users.change(id, n % 3 === 1 ? { disabled: true } : { roles: [] }, stamp);
    await Promise.allSettled(pair.map(({ _id }, index) => end(_id, round + index)));
    const left = (await users.list({ kind: 'owner', search: null }, null, 10)).filter(
      ({ disabled, roles }) => !disabled && roles.includes('owner'),
    );
    t.ok(left.length > 0, `round ${round}: ${left.length} left`);
  }
});

t.test('in development strangers may run it, but make no owners', async (t) => {
  const { app } = await buildTestApp(t);
  t.equal((await ask(app, 'GET /admin/users')).statusCode, 200);
  const wanted = { kind: 'owner', email: 'a@example.org', password: PASSWORD, roles: ['owner'] };
  t.equal((await ask(app, 'POST /admin/users', wanted)).statusCode, 403);
});
