/** `/dashboard/session` over HTTP: the cookie, which pages may ask, and that no other route reads it. */
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, PASSWORD, signInAdmin } from '../../helpers/users.ts';

const ORIGIN = 'https://backend.example.org';

async function fixture(t: Test, settings: Record<string, string> = {}) {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PUBLIC_URL: ORIGIN,
    ...settings,
  });
  const owner = await signInAdmin(app, services);
  /** A request of a browser at a page of `origin`, with the cookies that it holds. */
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', cookie?: string, body?: object, origin = ORIGIN) => {
    const headers = { host: 'backend.example.org', origin, ...(cookie === undefined ? {} : { cookie }) };
    const response = await app.inject({ method, url: '/dashboard/session', headers, ...(body && { payload: body }) });
    const set = String(response.headers['set-cookie'] ?? '');
    return {
      status: response.statusCode,
      body: response.body === '' ? null : response.json(),
      set,
      cookie: set.split(';')[0],
    };
  };
  const signIn = () => send('POST', undefined, { username: 'owner@example.org', password: PASSWORD });
  return { app, parts: services, owner, send, signIn };
}

t.test('a sign-in sets a cookie that no script and no other site can use', async (t) => {
  const { app, send, signIn } = await fixture(t);
  const { status, body, set, cookie } = await signIn();
  t.equal(status, 200);
  t.match(set, /^__Host-millrace=\S+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  t.strictSame(Object.keys(body), ['accessToken', 'expiresIn'], 'the refresh token is in the cookie only');
  const me = await app.inject({ url: '/auth/me', headers: { authorization: `Bearer ${body.accessToken}` } });
  t.match(me.json(), { email: 'owner@example.org' });
  t.match((await send('GET', cookie)).body, { signedIn: true, open: false, needsAdmin: false, mode: 'production' });
  t.equal((await app.inject({ url: '/auth/me', headers: { cookie } })).statusCode, 401, 'the API reads no cookie');
  const wrong = await send('POST', undefined, { username: 'owner@example.org', password: 'another one' });
  t.match([wrong.status, wrong.body.code, wrong.set], [401, 'invalid-credentials', '']);
});

t.test('the cookie is renewed, and works once', async (t) => {
  const { send, signIn } = await fixture(t);
  const first = await signIn();
  const second = await send('PUT', first.cookie);
  t.equal(second.status, 200);
  t.not(second.cookie, first.cookie);
  t.equal((await send('PUT', second.cookie)).status, 200);
  t.match(await send('PUT'), { status: 401, body: { code: 'invalid-token' } });
});

t.test('signing out ends the session and removes the cookie', async (t) => {
  const { app, send, signIn } = await fixture(t);
  const { body, cookie } = await signIn();
  const { status, set } = await send('DELETE', cookie);
  t.equal(status, 204);
  t.match(set, /^__Host-millrace=; Max-Age=0; /);
  t.equal((await send('PUT', cookie)).status, 401);
  const me = await app.inject({ url: '/auth/me', headers: { authorization: `Bearer ${body.accessToken}` } });
  t.equal(me.statusCode, 401);
});

t.test('a session that has ended elsewhere takes its cookie with it', async (t) => {
  const { app, owner, send, signIn } = await fixture(t);
  const { cookie } = await signIn();
  const sessions = (await ask(app, 'GET /auth/sessions', undefined, owner)).json();
  for (const { id, current } of sessions) if (!current) await ask(app, `DELETE /auth/sessions/${id}`, undefined, owner);
  const { status, set } = await send('PUT', cookie);
  t.equal(status, 401);
  t.match(set, /Max-Age=0/);
});

t.test('a page of another origin cannot use the session, even if it can use the API', async (t) => {
  const { send, signIn } = await fixture(t, { MILLRACE_CORS_ORIGINS: 'https://app.example.org' });
  const { cookie } = await signIn();
  for (const method of ['POST', 'PUT', 'DELETE'] as const) {
    const body = method === 'POST' ? { username: 'owner@example.org', password: PASSWORD } : undefined;
    t.match(await send(method, cookie, body, 'https://app.example.org'), { status: 403, body: { code: 'forbidden' } });
  }
  t.equal((await send('PUT', cookie)).status, 200, 'nothing was changed');
});

t.test('development mode is open without an account, until a policy closes it', async (t) => {
  const { app } = await buildTestApp(t);
  const look = async () => (await app.inject('/dashboard/session')).json();
  t.match(await look(), { signedIn: false, open: true, needsAdmin: false, mode: 'development' });
  t.equal((await ask(app, 'DELETE /admin/policies/open-in-development')).statusCode, 204);
  t.match(await look(), { open: false });
});

t.test('production without an administrator says that the setup link comes first', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.match((await app.inject('/dashboard/session')).json(), { needsAdmin: true, open: false });
});
