/** Invalid credentials slow their network down, and do not exclude valid ones of that network. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { ask, signUp } from '../helpers/users.ts';

const ADDRESS = '203.0.113.1';
const BUDGET = 3;

t.test('a network that sends invalid credentials', async (t) => {
  const settings = {
    MILLRACE_MODE: 'production',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_RATE_LIMIT_ANONYMOUS: String(BUDGET),
  };
  const { app, services } = await buildTestApp(t, settings);
  const accounts = await Promise.all(['ada', 'ben', 'cai'].map((name) => signUp(app, name)));
  const [ada, ben, cai] = accounts;
  if (ada === undefined || ben === undefined || cai === undefined) throw new Error('No user is signed in');
  const { key } = await services.auth.keys.create(
    { name: 'reader', roles: [], resources: null, actions: null, expiresAt: null },
    { by: null, request: null },
  );
  const from = (authorization: string, remoteAddress = ADDRESS) =>
    app.inject({ url: '/auth/me', remoteAddress, headers: { authorization } });

  for (let n = 0; n < BUDGET; n++) t.equal((await from(`Bearer bad-${n}`)).statusCode, 401);

  await t.test('a network with too many invalid credentials gets 429', async (t) => {
    for (const bad of ['Bearer bad', 'Basic x', `Bearer mr_AAAAAAAAAAAA_${'x'.repeat(43)}`]) {
      const refused = await from(bad);
      t.match(refused.json(), { status: 429, code: 'rate-limited' }, bad);
      t.match(refused.headers, { 'retry-after': /^\d+$/ });
    }
    t.equal((await from('Bearer bad', '203.0.113.2')).statusCode, 401, 'another network has its own count');
  });

  await t.test('valid credentials of a slowed network that are verified for the first time are accepted', async (t) => {
    t.equal((await from(ada.headers.authorization)).statusCode, 200, 'an access token');
    t.match((await from(`Bearer ${key}`)).json(), { kind: 'key', name: 'reader' }, 'a key');
    const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, ada)).json();
    const headers = { accept: 'text/event-stream' };
    const stream = await app.inject({ url: `/api/none?ticket=${ticket}`, remoteAddress: ADDRESS, headers });
    t.equal(stream.json().code, 'forbidden', 'a ticket of a user who may read nothing');
  });

  await t.test('has one verified at a time, and good ones succeed among hundreds of bad ones', async (t) => {
    const { authenticator } = services.auth;
    const verify = authenticator.authenticate.bind(authenticator);
    let [underWay, most] = [0, 0];
    authenticator.authenticate = async (authorization) => {
      most = Math.max(most, ++underWay);
      try {
        return await verify(authorization);
      } finally {
        underWay--;
      }
    };
    const secret = (n: number) => String(n).padStart(43, 'x');
    const flood = (first: number) =>
      Array.from({ length: 300 }, (_, n) => from(`Bearer mr_AAAAAAAAAAAA_${secret(first + n)}`));
    const before = flood(0);
    const good = [from(ben.headers.authorization), from(cai.headers.authorization)];
    const after = flood(300);
    const statuses = async (responses: typeof good) =>
      (await Promise.all(responses)).map(({ statusCode }) => statusCode);
    t.strictSame(await statuses(good), [200, 200]);
    t.strictSame(new Set(await statuses([...before, ...after])), new Set([429]));
    t.equal(most, 1);
  });
});
