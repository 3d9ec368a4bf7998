/** What is revoked in one process is revoked in the other within a second, for requests and for who holds a principal. */
import t from 'tap';
import type { Principal } from '../../src/auth/identity/principal.ts';
import { ask, PASSWORD, signIn, signInOwner, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ownTimeOf } from '../helpers/own-time.ts';
import { until } from '../helpers/until.ts';

const LIMIT_MS = 1_000;
const within = (fact: () => Promise<boolean>, what: string) => ownTimeOf(() => until(fact, what));

t.test('in a second process', async (t) => {
  const place = await testMongo(t);
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const [here, there] = [await buildTestApp(t, settings, place), await buildTestApp(t, settings, place)];
  const owner = await signInOwner(here.app, here.parts);
  const took: Record<string, number> = {};
  const kept: { principal: Principal; still: boolean }[] = [];
  there.parts.auth.authenticator.onRevoked((still) => {
    for (const one of kept) one.still &&= still(one.principal);
  });
  const hold = async (authorization: string) => {
    const one = { principal: await there.parts.auth.authenticator.authenticate(authorization), still: true };
    kept.push(one);
    return one;
  };
  const status = async (as: { headers: { authorization: string } }) =>
    (await ask(there.app, 'GET /auth/sessions', undefined, as)).statusCode;

  await t.test('a session that is ended', async (t) => {
    const account = await signUp(here.app, 'ada');
    const other = await signIn(here.app, 'ada');
    t.equal(await status(account), 200);
    const [held, unconcerned] = [await hold(account.headers.authorization), await hold(other.headers.authorization)];
    t.ok(
      there.parts.auth.authenticator.authenticate(account.headers.authorization) === held.principal,
      'it is remembered',
    );
    await ask(here.app, 'POST /auth/logout', undefined, account);
    took['session'] = await within(async () => (await status(account)) === 401, 'the session ends there');
    await until(() => !held.still, 'whoever holds the principal is told');
    t.ok(unconcerned.still, 'the other session goes on');
    t.equal(await status(other), 200);
  });

  await t.test('an account that is disabled', async (t) => {
    const account = await signUp(here.app, 'grace');
    const held = await hold(account.headers.authorization);
    await ask(here.app, `PATCH /admin/users/${account.id}`, { disabled: true }, owner);
    took['disabled'] = await within(async () => (await status(account)) === 401, 'the account is disabled there');
    await until(() => !held.still, 'whoever holds the principal is told');
    t.equal((await ask(there.app, 'POST /auth/refresh', { refreshToken: account.refreshToken })).statusCode, 401);
    await ask(here.app, `PATCH /admin/users/${account.id}`, { disabled: false }, owner);
    t.equal(await status(account), 401, 'enabled again, it has to sign in');
    t.ok(await signIn(there.app, 'grace'));
  });

  await t.test('roles that change, and claims', async (t) => {
    const account = await signUp(here.app, 'edsger');
    const now = async () => there.parts.auth.authenticator.authenticate(account.headers.authorization);
    const first = await now();
    // Each alone: either must be told.
    for (const [what, change] of [
      ['roles', { roles: ['author'] }],
      ['claims', { claims: { tenant: 'north' } }],
      ['no roles', { roles: [] }],
      ['no claims', { claims: {} }],
    ] as const) {
      const held = await hold(account.headers.authorization);
      const changed = await ask(here.app, `PATCH /admin/users/${account.id}`, change, owner);
      t.match(changed.json(), change, changed.body);
      took[what] = await within(async () => (await now()) !== held.principal, `${what}: another principal`);
      t.match(await now(), { kind: 'user', ...change, session: account.session });
      await until(() => !held.still, 'whoever holds the principal is told');
    }
    t.strictSame(await now(), first, 'in the end as in the beginning');
    const again = await hold(account.headers.authorization);
    await ask(here.app, 'PATCH /auth/me', { profile: { city: 'Austin' } }, account);
    await until(async () => (await here.parts.events.inShort()).behind === 0, 'the change is told');
    t.ok(again.still, 'a profile is no right');
  });

  await t.test('an account that is deleted', async (t) => {
    const account = await signUp(here.app, 'donald');
    t.equal(await status(account), 200);
    t.equal((await ask(here.app, `DELETE /admin/users/${account.id}`, undefined, owner)).statusCode, 204);
    took['deleted'] = await within(async () => (await status(account)) === 401, 'the account is gone there');
    t.equal((await ask(there.app, 'POST /auth/login', { username: 'donald', password: PASSWORD })).statusCode, 401);
  });

  await t.test('a key that is ended', async (t) => {
    const made = (await ask(here.app, 'POST /admin/keys', { name: 'k' }, owner)).json();
    const headers = { authorization: `Bearer ${made.key}` };
    const reached = async () => (await ask(there.app, 'GET /auth/me', undefined, { headers })).statusCode;
    t.equal(await reached(), 200);
    const held = await hold(headers.authorization);
    await ask(here.app, `DELETE /admin/keys/${made.id}`, undefined, owner);
    took['key'] = await within(async () => (await reached()) === 401, 'the key ends there');
    await until(() => !held.still, 'whoever holds the principal is told');
  });

  await t.test('a signing key that leaked', async (t) => {
    const account = await signUp(here.app, 'tony');
    t.equal(await status(account), 200);
    await here.parts.auth.rotateKeys(true);
    took['signing key'] = await within(async () => (await status(account)) === 401, 'its tokens end there');
    t.equal((await ask(there.app, 'POST /auth/refresh', { refreshToken: account.refreshToken })).statusCode, 200);
  });

  await t.test('a signing key that leaked, of a token that is verified while the new ring is read', async (t) => {
    const { authorization } = (await signUp(here.app, 'barbara')).headers;
    const { authenticator } = there.parts.auth;
    let tried = 0;
    const end = authenticator.onRevoked(() => {
      // What is remembered was just forgotten, and the ring of before is still in memory.
      Promise.resolve(authenticator.authenticate(authorization))
        .catch(() => undefined)
        .finally(() => (tried += 1));
    });
    await here.parts.auth.rotateKeys(true);
    await until(() => tried > 0, 'it was tried by the ring of before');
    await until(() => authenticator.recall(authorization) === undefined, 'it is not remembered', 5_000);
    end();
    await t.rejects(async () => authenticator.authenticate(authorization), { code: 'invalid-credential' });
  });

  for (const [what, ms] of Object.entries(took)) t.ok(ms < LIMIT_MS, `${what}: ${Math.round(ms)} ms`);
});

t.test('names stay apart after the database was dropped', async (t) => {
  const { app, parts } = await buildTestApp(t);
  await parts.mongo.data.dropDatabase();
  await until(
    async () => (await parts.mongo.data.listCollections({ name: '_users' }).toArray()).length > 0,
    'accounts',
  );
  const register = () => ask(app, 'POST /auth/register', { username: 'ada', password: PASSWORD });
  await until(async () => (await parts.mongo.data.collection('_users').indexes()).length > 1, 'their indexes');
  const answers = await Promise.all([register(), register(), register()]);
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [201, 409, 409]);
});
