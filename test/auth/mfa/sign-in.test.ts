/** Sign-in with a second factor: in all ways, with codes that work once, and with a ticket that binds the two steps. */
import t from 'tap';
import type { User } from '../../../src/auth/identity/user.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { codeNow, setUpFactor, wrongCode } from '../../helpers/mfa/authenticator.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin, signUp, toUser } from '../../helpers/users.ts';

const RACERS = 20;

t.test('a second factor', async (t) => {
  const testDatabase = await testMongo(t);
  const [{ app, services }, second] = [
    await buildTestApp(t, {}, testDatabase),
    await buildTestApp(t, {}, testDatabase),
  ];
  const login = (username: string, code?: string, at = app) =>
    ask(at, 'POST /auth/login', { username, password: PASSWORD, ...(code === undefined ? {} : { code }) });
  const ticketFor = async (username: string): Promise<string> => (await login(username)).json().ticket;
  const goOn = (ticket: string, code: string, at = app) => ask(at, 'POST /auth/mfa/login', { ticket, code });
  /** How many concurrent uses of one code, in two processes, succeed. */
  const winners = async (user: User, code: string) => {
    const racers = Array.from({ length: RACERS }, (_, n) => {
      const origin = { ip: `2001:db8:9:${n}::1`, userAgent: null, request: 'r' };
      return (n % 2 === 0 ? services : second.services).auth.factors.verifyCode(user, code, origin);
    });
    return (await Promise.allSettled(racers)).filter(({ status }) => status === 'fulfilled').length;
  };

  await t.test('a second factor is enrolled with a code, and shows its secrets once', async (t) => {
    const ada = await signUp(app, 'ada', { email: 'ada@example.org' });
    const confirm = (code: string) => ask(app, 'POST /auth/mfa/totp/confirm', { code }, ada);
    t.match((await confirm('123456')).json(), { status: 409, code: 'mfa-enrollment-not-started' });
    const older = (await ask(app, 'POST /auth/mfa/totp', undefined, ada)).json().secret;
    const begun = await ask(app, 'POST /auth/mfa/totp', undefined, ada);
    t.equal(begun.statusCode, 201);
    const { uri, secret, qr } = begun.json();
    t.match(uri, /^otpauth:\/\/totp\/127\.0\.0\.1:ada%40example\.org\?/);
    t.match(qr, /^<svg .*<\/svg>$/s);
    t.notMatch(qr, secret);
    t.ok((await signIn(app, 'ada')).accessToken, 'it asks nothing yet');
    t.match((await confirm(wrongCode(secret))).json(), { status: 401, code: 'invalid-credentials' });
    t.equal((await confirm(codeNow(older))).statusCode, 401, 'a newer one takes the place of one before');
    const confirmed = await confirm(codeNow(secret));
    t.equal(confirmed.statusCode, 200, confirmed.body);
    t.equal(new Set(confirmed.json().recoveryCodes).size, 10);
    t.match((await confirm(codeNow(secret, 30))).json(), { code: 'mfa-already-enrolled' });
    t.match((await ask(app, 'POST /auth/mfa/totp', undefined, ada)).json(), { code: 'mfa-already-enrolled' });
    t.match((await ask(app, 'GET /auth/mfa', undefined, ada)).json(), { since: /^20/, recoveryCodes: 10 });
    t.equal((await ask(app, 'GET /auth/me', undefined, ada)).json().secondFactor, true);
    t.match((await login('ada', codeNow(secret))).json(), { code: 'invalid-credentials' }, 'that code was used');
    t.equal((await ask(app, 'DELETE /auth/mfa/totp', undefined, ada)).statusCode, 204);
    t.equal((await ask(app, 'DELETE /auth/mfa/totp', undefined, ada)).statusCode, 404);
    t.equal((await login('ada')).statusCode, 200);
  });

  await t.test('ends the other sessions of the user when it is enabled', async (t) => {
    const here = await signUp(app, 'two');
    const there = await signIn(app, 'two');
    const stays = await signUp(app, 'beside');
    const { secret } = (await ask(app, 'POST /auth/mfa/totp', undefined, here)).json();
    const confirm = (code: string) => ask(app, 'POST /auth/mfa/totp/confirm', { code }, here);
    t.equal((await confirm(wrongCode(secret))).statusCode, 401);
    t.equal((await ask(app, 'GET /auth/me', undefined, there)).statusCode, 200, 'not before');
    t.equal((await confirm(codeNow(secret))).statusCode, 200);
    for (const [user, status] of [
      [here, 200],
      [there, 401],
      [stays, 200],
    ] as const) {
      t.equal((await ask(app, 'GET /auth/me', undefined, user)).statusCode, status);
    }
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken: there.refreshToken })).statusCode, 401);
    const heard = async () => (await ask(second.app, 'GET /auth/me', undefined, there)).statusCode === 401;
    await until(heard, 'the other process');
  });

  await t.test('a second factor can be removed when the program stopped in the middle of a removal', async (t) => {
    const user = await signUp(app, 'half');
    await setUpFactor(app, services, user);
    await services.mongo.log.collection<{ _id: string }>('mfa_factors').deleteOne({ _id: user.id });
    const remove = async () => (await ask(app, 'DELETE /auth/mfa/totp', undefined, user)).statusCode;
    t.equal(await remove(), 204);
    t.equal((await ask(app, 'GET /auth/me', undefined, user)).json().secondFactor, false);
    t.equal(await remove(), 404);
  });

  await t.test(
    'an enrollment can be completed when the response to its confirmation, or the program, was lost',
    async (t) => {
      const user = await signUp(app, 'cut');
      const { secret } = (await ask(app, 'POST /auth/mfa/totp', undefined, user)).json();
      const { users } = services.auth;
      const change = users.change;
      users.change = async () => {
        throw new Error('The database is gone');
      };
      const lost = await ask(app, 'POST /auth/mfa/totp/confirm', { code: codeNow(secret) }, user);
      users.change = change;
      t.equal(lost.statusCode, 500);
      t.match((await ask(app, 'GET /auth/mfa', undefined, user)).json(), { since: /^20/, recoveryCodes: 10 });
      t.match((await login('cut')).json(), { code: 'mfa-required' }, 'it is asked for nevertheless');
      const { recoveryCodes } = (await ask(app, 'POST /auth/mfa/recovery-codes', undefined, user)).json();
      const entered = await login('cut', recoveryCodes[0]);
      t.match(entered.json(), { user: { id: user.id } });
      t.equal((await users.get(user.id)).secondFactor, true, 'the account says so from the first code on');
    },
  );

  await t.test('is required after the password', async (t) => {
    const user = await signUp(app, 'grace');
    const { code, secret } = await setUpFactor(app, services, user);
    const requested = await login('grace');
    t.match(requested.json(), { status: 401, code: 'mfa-required', ticket: /^[\w-]{43}$/, expiresIn: 300 });
    t.notMatch(requested.body, 'accessToken');
    t.match(
      (await ask(app, 'POST /auth/login', { username: 'grace', password: 'a wrong one', code: await code() })).json(),
      { code: 'invalid-credentials', ticket: undefined },
    );
    t.equal((await login('grace', await code())).statusCode, 200, 'both at once');
    const { ticket } = requested.json();
    t.equal((await goOn(ticket, wrongCode(secret))).statusCode, 401);
    const { id } = toUser(await goOn(ticket, await code(), second.app));
    t.equal(id, user.id, 'in another process, and after a wrong code');
    t.match((await goOn(ticket, await code())).json(), { code: 'invalid-token' }, 'the ticket works once');
    t.match((await goOn('A'.repeat(43), await code())).json(), { code: 'invalid-token' });
  });

  await t.test('a code works once, also in two processes at once', async (t) => {
    const user = await signUp(app, 'once');
    const { code, secret } = await setUpFactor(app, services, user);
    const one = await code();
    t.equal(await winners(await services.auth.users.get(user.id), one), 1);
    await services.mongo.log.collection('login_throttle').deleteMany({});
    t.equal((await login('once', one)).statusCode, 401);
    t.equal((await login('once', codeNow(secret, -30))).statusCode, 401, 'nor an older one after it');
  });

  await t.test('a recovery code works once, also in two processes at once', async (t) => {
    const user = await signUp(app, 'lost');
    const { recoveryCodes } = await setUpFactor(app, services, user);
    const [first = '', next = ''] = recoveryCodes;
    t.equal(await winners(await services.auth.users.get(user.id), first), 1);
    await services.mongo.log.collection('login_throttle').deleteMany({});
    t.equal((await goOn(await ticketFor('lost'), next.toUpperCase())).statusCode, 200, 'with a ticket, too');
    t.equal((await ask(app, 'GET /auth/mfa', undefined, user)).json().recoveryCodes, 8);
    const renewed = (await ask(app, 'POST /auth/mfa/recovery-codes', undefined, user)).json().recoveryCodes;
    t.equal(renewed.length, 10);
    t.equal((await login('lost', recoveryCodes[5])).statusCode, 401, 'the older ones stopped working');
    t.equal((await login('lost', renewed[5])).statusCode, 200);
    for (const [n, one] of renewed.entries()) {
      await services.mongo.log.collection('login_throttle').deleteMany({});
      t.equal(await winners(await services.auth.users.get(user.id), one), n === 5 ? 0 : 1, `each once: ${n}`);
    }
    t.equal((await ask(app, 'GET /auth/mfa', undefined, user)).json().recoveryCodes, 0);
    await services.mongo.log.collection('login_throttle').deleteMany({});
  });

  await t.test('wrong codes are delayed, in all processes', async (t) => {
    const { code, secret } = await setUpFactor(app, services, await signUp(app, 'guessed'));
    const delays = services.mongo.log.collection<{ _id: string; until: Date; at: Date }>('login_throttle');
    const seconds: number[] = [];
    for (let n = 1; n <= 10; n++) {
      t.equal((await login('guessed', wrongCode(secret), n % 2 === 0 ? app : second.app)).statusCode, 401, `${n}`);
      const row = await delays.findOneAndUpdate({ _id: /^factor:/, failures: n }, { $set: { until: new Date(0) } });
      seconds.push(((row?.until.getTime() ?? 0) - (row?.at.getTime() ?? 0)) / 1_000);
    }
    t.strictSame(seconds, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32]);
    await delays.updateMany({ _id: /^factor:/ }, { $set: { until: new Date(Date.now() + 60_000) } });
    for (const at of [app, second.app]) {
      const refused = await login('guessed', await code(), at);
      t.match(refused.json(), { status: 429, code: 'rate-limited' }, 'also for the right one');
      t.ok(Number(refused.headers['retry-after']) > 0);
    }
    await delays.deleteMany({});
    t.equal((await login('guessed', await code())).statusCode, 200);
  });

  await t.test('a ticket ends with its time, the password and the user, and signs in no other user', async (t) => {
    const user = await signUp(app, 'rosa');
    const other = await setUpFactor(app, services, await signUp(app, 'mallory'));
    const { code } = await setUpFactor(app, services, user);
    t.equal((await goOn(await ticketFor('rosa'), await other.code())).statusCode, 401, 'a code of another account');
    const old = await ticketFor('rosa');
    const tickets = services.mongo.log.collection('one_time_tokens');
    await tickets.updateMany({ purpose: 'factor' }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    t.match((await goOn(old, await code())).json(), { code: 'invalid-token' }, 'old');
    const before = await ticketFor('rosa');
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: 'another wooden ship' }, user);
    t.match((await goOn(before, await code())).json(), { code: 'invalid-token' }, 'of the old password');
    await ask(app, 'POST /auth/password', { current: 'another wooden ship', password: PASSWORD }, user);
    const last = await ticketFor('rosa');
    await services.auth.users.change(user.id, { disabled: true }, { by: null, request: null });
    t.match((await goOn(last, await code())).json(), { code: 'invalid-token' }, 'disabled');
    for (const purpose of [user.accessToken, user.refreshToken])
      t.ok((await goOn(purpose, '123456')).statusCode >= 400);
    for (const body of [{}, { ticket: last }, { ticket: last, code: 1 }, { ticket: last, code: '1' }]) {
      t.match((await ask(app, 'POST /auth/mfa/login', body)).json(), { code: 'invalid-body' });
    }
  });

  await t.test('is required by the dashboard, with a ticket and at once', async (t) => {
    const { code } = await setUpFactor(app, services, await signInAdmin(app, services));
    const open = (send: object) => ask(app, 'POST /dashboard/session', send);
    const user = { username: 'owner@example.org', password: PASSWORD };
    const requested = await open(user);
    t.match(requested.json(), { code: 'mfa-required', ticket: /^[\w-]{43}$/ });
    t.equal(requested.headers['set-cookie'], undefined);
    const opened = await open({ ticket: requested.json().ticket, code: await code() });
    t.match(opened.json(), { accessToken: /.+/, refreshToken: undefined });
    t.match(opened.headers['set-cookie'], /^millrace=/);
    t.equal((await open({ ...user, code: await code() })).statusCode, 200);
  });

  await t.test('a second factor is deleted with its user, and that is an event', async (t) => {
    const user = await signUp(app, 'gone');
    await setUpFactor(app, services, user);
    await services.auth.users.remove(user.id, { by: null, request: null });
    t.equal(await services.mongo.log.collection<{ _id: string }>('mfa_factors').findOne({ _id: user.id }), null);
    const reported = async () => (await ask(app, 'GET /admin/audit?eventType=system.mfa.*')).json();
    await until(async () => JSON.stringify(await reported()).includes(user.id), 'the audit');
    const types = new Set((await reported()).map(({ type }: { type: string }) => type));
    for (const what of ['added', 'removed', 'recovery-code-used', 'recovery-codes-regenerated'])
      t.ok(types.has(`system.mfa.${what}`), what);
  });
});
