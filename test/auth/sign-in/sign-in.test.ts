/** Sign-up, sign-in and sign-out over HTTP, on the real services. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { runScenarios } from '../../helpers/scenario.ts';
import { ask, PASSWORD, signIn, signUp, toUser } from '../../helpers/users.ts';

t.test('sign-in', async (t) => {
  const { app } = await buildTestApp(t);

  await t.test('a user signs up, signs in by name or e-mail address, and reads itself', async (t) => {
    const created = await ask(app, 'POST /auth/register', {
      username: 'Ada',
      password: PASSWORD,
      email: 'Ada@Example.org',
      profile: { city: 'London' },
    });
    t.equal(created.statusCode, 201, created.body);
    t.equal(created.headers['cache-control'], 'no-store');
    t.match(created.json(), {
      accessToken: /^ey/,
      expiresIn: 600,
      refreshToken: /^mrr_/,
      user: {
        kind: 'user',
        username: 'Ada',
        email: 'Ada@Example.org',
        emailVerified: false,
        roles: [],
        disabled: false,
      },
    });
    for (const name of ['ada', 'ADA', ' Ada ', 'ada@example.ORG', 'Ａｄａ']) {
      const { headers } = await signIn(app, name);
      const me = await ask(app, 'GET /auth/me', undefined, { headers });
      t.match(me.json(), { id: created.json().user.id, username: 'Ada', profile: { city: 'London' } }, name);
    }
  });

  await t.test('every cause of a failed sign-in looks the same', async (t) => {
    const { id } = await signUp(app, 'grace');
    await ask(app, `PATCH /admin/users/${id}`, { disabled: true });
    const bodies = await Promise.all(
      [
        { username: 'nobody-at-all', password: PASSWORD },
        { username: 'ada', password: 'wrong password' },
        { username: 'grace', password: PASSWORD },
      ].map(async (send) => {
        const { statusCode, body, headers } = await ask(app, 'POST /auth/login', send);
        t.match(headers, { 'www-authenticate': /^Bearer/ });
        return `${statusCode} ${body.replace(/"request":"[^"]+"/, '')}`;
      }),
    );
    t.equal(new Set(bodies).size, 1, String(bodies));
    t.match(bodies[0], /^401 .*"code":"invalid-credentials"/);
  });

  await runScenarios(t, app, [
    {
      name: 'a name that is taken, in any case',
      request: 'POST /auth/register',
      send: { username: 'ADA', password: PASSWORD },
      status: 409,
      code: 'username-taken',
    },
    {
      name: 'an address that is taken as one',
      request: 'POST /auth/register',
      send: { username: 'other', email: 'ada@example.org', password: PASSWORD },
      status: 409,
      code: 'email-taken',
    },
    {
      name: 'a name that looks like an address',
      request: 'POST /auth/register',
      send: { username: 'a@b', password: PASSWORD },
      status: 400,
      code: 'invalid-body',
      expect: { errors: [{ pointer: '/username' }] },
    },
    {
      name: 'a short password',
      request: 'POST /auth/register',
      send: { username: 'short', password: '1234567' },
      status: 400,
      code: 'weak-password',
    },
    {
      name: 'a long password',
      request: 'POST /auth/register',
      send: { username: 'long', password: 'x1'.repeat(129) },
      status: 400,
      code: 'weak-password',
    },
    {
      name: 'a common password, also in capitals',
      request: 'POST /auth/register',
      send: { username: 'common', password: 'Password123' },
      status: 400,
      code: 'weak-password',
    },
    {
      name: 'the name as password',
      request: 'POST /auth/register',
      send: { username: 'hippopotamus', password: 'Hippopotamus' },
      status: 400,
      code: 'weak-password',
    },
    {
      name: 'a member that is not known, such as roles',
      request: 'POST /auth/register',
      send: { username: 'sly', password: PASSWORD, roles: ['admin'] },
      status: 400,
      code: 'invalid-body',
    },
    {
      name: 'an operator where a name is expected',
      request: 'POST /auth/login',
      send: { username: { $ne: null }, password: PASSWORD },
      status: 400,
      code: 'invalid-body',
    },
    { name: 'no body', request: 'POST /auth/login', status: 400, code: 'body-required' },
    {
      name: 'a parameter',
      request: 'POST /auth/login?a=1',
      send: {},
      status: 400,
      code: 'unknown-parameter',
      expect: { hint: /This route has no parameters/ },
    },
    { name: 'nobody', request: 'GET /auth/me', status: 401, code: 'not-authenticated' },
    {
      name: 'what is configured',
      request: 'GET /auth/providers',
      status: 200,
      expect: { password: true, registration: 'open' },
    },
    {
      name: 'a large profile',
      request: 'POST /auth/register',
      send: { username: 'large', password: PASSWORD, profile: { a: 'x'.repeat(9_000) } },
      status: 400,
      code: 'invalid-body',
    },
  ]);

  await t.test('sessions are listed and ended one by one', async (t) => {
    const first = await signUp(app, 'edsger');
    const second = await signIn(app, 'edsger');
    const anonymous = await signUp(app, 'barbara');
    const listed = await ask(app, 'GET /auth/sessions', undefined, first);
    t.match(listed.json(), [
      { id: first.session, current: true, ip: /^10\./ },
      { id: second.session, current: false },
    ]);
    t.equal((await ask(app, `DELETE /auth/sessions/${second.session}`, undefined, anonymous)).statusCode, 404);
    t.equal((await ask(app, 'GET /auth/me', undefined, second)).statusCode, 200);
    t.equal((await ask(app, `DELETE /auth/sessions/${second.session}`, undefined, first)).statusCode, 204);
    t.match((await ask(app, 'GET /auth/me', undefined, second)).json(), { code: 'invalid-token', status: 401 });
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken: second.refreshToken })).statusCode, 401);
    t.equal((await ask(app, 'POST /auth/logout', undefined, first)).statusCode, 204);
    t.equal((await ask(app, 'GET /auth/me', undefined, first)).statusCode, 401);
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken: first.refreshToken })).statusCode, 401);
  });

  await t.test('a changed password ends the other sessions', async (t) => {
    const first = await signUp(app, 'donald');
    const second = await signIn(app, 'donald');
    const next = 'another good sentence';
    const wrong = await ask(app, 'POST /auth/password', { current: 'wrong password', password: next }, first);
    t.match(wrong.json(), { code: 'invalid-credentials' });
    const change = await ask(app, 'POST /auth/password', { current: PASSWORD, password: next }, first);
    t.equal(change.statusCode, 204, change.body);
    t.equal((await ask(app, 'GET /auth/me', undefined, first)).statusCode, 200);
    t.equal((await ask(app, 'GET /auth/me', undefined, second)).statusCode, 401);
    t.equal((await ask(app, 'POST /auth/login', { username: 'donald', password: PASSWORD })).statusCode, 401);
    t.ok((await signIn(app, 'donald', next)).id);
  });

  await t.test('users change their own profile and name', async (t) => {
    const user = await signUp(app, 'tony');
    const changed = await ask(app, 'PATCH /auth/me', { username: 'hoare', profile: { a: 1 } }, user);
    t.match(changed.json(), { username: 'hoare', profile: { a: 1 } });
    t.equal((await ask(app, 'POST /auth/login', { username: 'tony', password: PASSWORD })).statusCode, 401);
    t.ok((await signIn(app, 'hoare')).id);
    t.match((await ask(app, 'PATCH /auth/me', { username: 'ada' }, user)).json(), { code: 'username-taken' });
    t.match((await ask(app, 'PATCH /auth/me', { roles: ['x'] }, user)).json(), { code: 'invalid-body' });
  });

  await t.test('an expired credential does not prevent getting a new one', async (t) => {
    const { refreshToken } = await signUp(app, 'barry');
    const headers = { authorization: 'Bearer not-any-more' };
    const renewed = await ask(app, 'POST /auth/refresh', { refreshToken }, { headers });
    t.equal(renewed.statusCode, 200);
    t.ok(toUser(renewed).accessToken);
  });
});

t.test('in production only administrators create users unless registration is open', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const response = await ask(app, 'POST /auth/register', { username: 'eve', password: PASSWORD });
  t.match(response.json(), { status: 403, code: 'registration-closed' });
  const other = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  t.ok((await signUp(other.app, 'ada')).id);
});
