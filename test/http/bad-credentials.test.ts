/** Bad credentials slow their network down, and keep no good one of that network out. */
import t from 'tap';
import { ask, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';

const ADDRESS = '203.0.113.1';
const BUDGET = 3;

t.test('a network that brings bad credentials', async (t) => {
  const settings = {
    MILLRACE_MODE: 'production',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_RATE_ANONYMOUS: String(BUDGET),
  };
  const { app, parts } = await buildTestApp(t, settings);
  const accounts = await Promise.all(['ada', 'ben', 'cai'].map((name) => signUp(app, name)));
  const [ada, ben, cai] = accounts;
  if (ada === undefined || ben === undefined || cai === undefined) throw new Error('Nobody is signed in');
  const { key } = await parts.auth.keys.create(
    { name: 'reader', roles: [], collections: null, actions: null, expiresAt: null },
    { by: null, request: null },
  );
  const from = (authorization: string, remoteAddress = ADDRESS) =>
    app.inject({ url: '/auth/me', remoteAddress, headers: { authorization } });

  for (let n = 0; n < BUDGET; n++) t.equal((await from(`Bearer bad-${n}`)).statusCode, 401);

  await t.test('is told to slow down', async (t) => {
    for (const bad of ['Bearer bad', 'Basic x', `Bearer mr_AAAAAAAAAAAA_${'x'.repeat(43)}`]) {
      const refused = await from(bad);
      t.match(refused.json(), { status: 429, code: 'rate-limited' }, bad);
      t.match(refused.headers, { 'retry-after': /^\d+$/ });
    }
    t.equal((await from('Bearer bad', '203.0.113.2')).statusCode, 401, 'another network has its own count');
  });

  await t.test('brings good ones that are verified for the first time', async (t) => {
    t.equal((await from(ada.headers.authorization)).statusCode, 200, 'an access token');
    t.match((await from(`Bearer ${key}`)).json(), { kind: 'key', name: 'reader' }, 'a key');
    const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, ada)).json();
    const headers = { accept: 'text/event-stream' };
    const stream = await app.inject({ url: `/api/none?ticket=${ticket}`, remoteAddress: ADDRESS, headers });
    t.equal(stream.json().code, 'forbidden', 'a ticket, of somebody who may read nothing');
  });

  await t.test('has one verified at a time, and good ones come through among hundreds of bad ones', async (t) => {
    const { authenticator } = parts.auth;
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
    const statuses = async (answers: typeof good) => (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    t.strictSame(await statuses(good), [200, 200]);
    t.strictSame(new Set(await statuses([...before, ...after])), new Set([429]));
    t.equal(most, 1);
  });
});
