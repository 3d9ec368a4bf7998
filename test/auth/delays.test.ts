/** Guessing is slow, in all processes together, for users that exist and for names that do not. */
import t from 'tap';
import { clientNetwork } from '../../src/config/addresses.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ownTimeOf } from '../helpers/own-time.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signIn, signUp } from '../helpers/users.ts';

t.test('the IP addresses of one network count as one', async (t) => {
  for (const [address, network] of [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['203.0.113.9:51234', '203.0.113.9'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2'],
  ] as const) {
    t.equal(clientNetwork(address), network, address);
  }
});

t.test('delays of failed sign-ins', async (t) => {
  const testDatabase = await testMongo(t);
  const [{ app, services }, second] = [
    await buildTestApp(t, {}, testDatabase),
    await buildTestApp(t, {}, testDatabase),
  ];
  const delays = services.mongo.log.collection<{ _id: string; failures: number; at: Date; until: Date }>(
    'login_throttle',
  );
  const guess = (username: string, at = app) => ask(at, 'POST /auth/login', { username, password: 'a wrong guess' });
  const from = (remoteAddress: string, username: string, password = 'a wrong guess') =>
    app.inject({ method: 'POST', url: '/auth/login', payload: { username, password }, remoteAddress });
  /** Lets the delay of the last fifth failure end after a time, so that a slow machine does not have to wait for it. */
  const endAfter = async (kind: 'name' | 'ip' | 'user', ms: number) => {
    const later = { $set: { until: new Date(Date.now() + ms) } };
    const newest = { _id: { $regex: `^${kind}:` }, failures: 5 };
    t.ok(await delays.findOneAndUpdate(newest, later, { sort: { at: -1 } }), 'there is one');
  };
  await signUp(app, 'ada');

  for (const name of ['ada', 'nobody']) {
    await t.test(`from the fifth failure on ${name} waits in every process`, async (t) => {
      for (let n = 1; n <= 5; n++) {
        const { statusCode } = await guess(name, n % 2 === 0 ? app : second.app);
        t.equal(statusCode, 401, `failure ${n}`);
      }
      await endAfter('name', 60_000);
      for (const at of [app, second.app]) {
        const refused = await guess(name, at);
        t.match(refused.json(), { status: 429, code: 'rate-limited' });
        t.match(refused.headers['retry-after'], /^(60|[1-5]?\d)$/);
      }
      const right = await ask(app, 'POST /auth/login', { username: name, password: PASSWORD });
      t.equal(right.statusCode, 429, 'also for the right password');
    });
  }

  await t.test('the delay of a user doubles to a few seconds, that of a network to a minute', async (t) => {
    const delaysOf = async (kind: string, next: (n: number) => ReturnType<typeof from>) => {
      const seconds: number[] = [];
      for (let n = 1; n <= 13; n++) {
        t.equal((await next(n)).statusCode, 401);
        const row = await delays
          .find({ _id: { $regex: `^${kind}:` }, failures: n })
          .sort({ at: -1 })
          .limit(1)
          .next();
        if (row === null) throw new Error('No failure was counted');
        seconds.push((row.until.getTime() - row.at.getTime()) / 1_000);
        await delays.updateOne({ _id: row._id }, { $set: { until: new Date(0) } });
      }
      return seconds;
    };
    const ofAccount = await delaysOf('name', () => guess('grace'));
    t.strictSame(ofAccount, [0, 0, 0, 0, 1, 2, 4, 4, 4, 4, 4, 4, 4]);
    const ofNetwork = await delaysOf('ip', (n) => from('203.0.113.8', `name ${n}`));
    t.strictSame(ofNetwork, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  await t.test('endless guessing does not lock out a user elsewhere', async (t) => {
    await signUp(app, 'ann');
    for (let n = 1; n <= 12; n++) {
      t.equal((await from('127.0.0.2', 'ann')).statusCode, 401);
      await delays.updateMany(n < 12 ? {} : { _id: 'none' }, { $set: { until: new Date(0) } });
    }
    t.match((await from('127.0.0.2', 'ann')).headers, { 'retry-after': /^(60|59)$/ }, 'the guesser waits long');
    const attack = setInterval(() => void from('127.0.0.2', 'ann'), 100);
    t.teardown(() => clearInterval(attack));
    const isIn = async () => (await from('127.0.0.3', 'ann', PASSWORD)).statusCode === 200;
    const ms = await ownTimeOf(() => until(isIn, 'ann is let in'));
    clearInterval(attack);
    t.ok(ms < 10_000, `in a few seconds, ${ms.toFixed()} ms`);
  });

  await t.test('guessing from many networks does not lock out a user in a known network', async (t) => {
    const place = { remoteAddress: '2001:db8:0:1::1' };
    const user = { username: 'zoe', password: PASSWORD };
    await app.inject({ method: 'POST', url: '/auth/register', payload: user, ...place });
    for (let n = 1; n <= 5; n++) t.equal((await from(`2001:db8:1:${n}::1`, 'zoe')).statusCode, 401);
    await endAfter('name', 60_000);
    for (const place of ['2001:db8:1:6::1', '2001:db8:0:2::1']) {
      t.equal((await from(place, 'zoe', PASSWORD)).statusCode, 429, 'a network that is new to the account waits');
    }
    t.equal((await from('2001:db8:0:1::2', 'zoe')).statusCode, 401, 'its own is judged');
    t.equal((await from('2001:db8:0:1::2', 'zoe', PASSWORD)).statusCode, 200);
    for (let n = 1; n <= 4; n++) await from('2001:db8:0:1::2', 'zoe');
    await endAfter('ip', 60_000);
    t.equal((await from('2001:db8:0:1::2', 'zoe', PASSWORD)).statusCode, 429, 'and has its own delay');
  });

  await t.test('a successful sign-in resets the failures of its user', async (t) => {
    await signUp(app, 'edsger');
    for (let n = 1; n <= 4; n++) t.equal((await guess('edsger')).statusCode, 401);
    t.ok(await signIn(app, 'edsger'));
    for (let n = 1; n <= 4; n++) t.equal((await guess('edsger')).statusCode, 401, 'counted anew');
    t.ok(await signIn(app, 'edsger'));
  });

  await t.test('delays do not reveal which e-mail address belongs to a user name', async (t) => {
    const { id } = await signUp(app, 'alan', { email: 'alan@example.org' });
    for (const [one, left, others] of [
      ['alan', 5, ['alan@example.org', id]],
      ['ALAN@example.org', 4, [id]],
      ['nobody-1', 5, ['nobody-1@example.org']],
    ] as const) {
      for (let n = 1; n <= left; n++) t.equal((await guess(one)).statusCode, 401);
      await endAfter('name', 60_000);
      t.equal((await guess(one)).statusCode, 429, `${one} waits`);
      for (const other of others) t.equal((await guess(other)).statusCode, 401, `${other} does not`);
    }
    t.equal((await guess('alan')).statusCode, 429, 'each name of the account waits by now');
  });

  await t.test('a successful sign-in under one name reveals nothing under another', async (t) => {
    await signUp(app, 'kurt', { email: 'kurt@example.org' });
    for (let n = 1; n <= 4; n++) for (const name of ['kurt', 'kurt@example.org']) await guess(name);
    t.ok(await signIn(app, 'kurt'));
    t.equal((await guess('kurt@example.org')).statusCode, 401, 'the fifth of this name');
    await endAfter('name', 60_000);
    t.equal((await guess('kurt@example.org')).statusCode, 429);
  });

  await t.test('a network that is known to the user is delayed under none of its names', async (t) => {
    const remoteAddress = '2001:db8:0:7::1';
    const user = { username: 'emmy', email: 'emmy@example.org', password: PASSWORD };
    await app.inject({ method: 'POST', url: '/auth/register', payload: user, remoteAddress });
    for (const name of ['emmy', 'emmy@example.org']) {
      for (let n = 1; n <= 5; n++) await guess(name);
      await endAfter('name', 60_000);
      t.equal((await guess(name)).statusCode, 429);
      t.equal((await from(remoteAddress, name, PASSWORD)).statusCode, 200, name);
    }
  });

  await t.test('guesses of the password by a session holder are delayed too', async (t) => {
    const user = await signUp(app, 'rosa');
    const change = (current: string) => ask(app, 'POST /auth/password', { current, password: PASSWORD }, user);
    for (let n = 1; n <= 5; n++) t.equal((await change('a wrong guess')).statusCode, 401);
    await endAfter('user', 60_000);
    t.equal((await change(PASSWORD)).statusCode, 429);
    t.ok(await signIn(app, 'rosa'), 'which holds up no sign-in');
  });

  await t.test('an IP address waits too, whatever names it tries', async (t) => {
    const next = (n: number) => from('203.0.113.9', `name-${n}`);
    for (let n = 1; n <= 5; n++) t.equal((await next(n)).statusCode, 401);
    await endAfter('ip', 60_000);
    t.equal((await next(6)).statusCode, 429);
    await endAfter('ip', 500);
    await until(async () => (await next(7)).statusCode === 401, 'the delay is over');
  });

  await t.test('many guesses at once count as few guesses', async (t) => {
    const start = performance.now();
    const responses = await Promise.all(Array.from({ length: 60 }, () => guess('tony')));
    // On a slow machine delays expire meanwhile, and each admits as many guesses as are checked in parallel.
    const most = 8 + 4 * Math.floor((performance.now() - start) / 1_000);
    const tried = responses.filter(({ statusCode }) => statusCode === 401).length;
    t.ok(tried <= most, `${tried} of 60 were looked at, ${most} at most`);
    t.equal(responses.filter(({ statusCode }) => statusCode === 429).length, 60 - tried);
  });
});

t.test('bad credentials from an IP address have a limit before they are verified', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open', MILLRACE_RATE_LIMIT_ANONYMOUS: '3' };
  const { app } = await buildTestApp(t, settings);
  const user = await signUp(app, 'ada');
  const from = (remoteAddress: string, authorization: string) =>
    app.inject({ url: '/auth/me', remoteAddress, headers: { authorization } });
  const good = user.headers.authorization;
  t.equal((await from('203.0.113.1', good)).statusCode, 200);
  for (let n = 0; n < 3; n++) t.equal((await from('203.0.113.1', `Bearer bad-${n}`)).statusCode, 401);
  const refused = await from('203.0.113.1', 'Bearer bad-3');
  t.match(refused.json(), { status: 429, code: 'rate-limited' });
  t.match(refused.headers, { 'retry-after': /^\d+$/ });
  t.equal((await from('203.0.113.1', good)).statusCode, 200, 'one that is known to be good passes');
  t.equal((await from('203.0.113.2', 'Bearer bad')).statusCode, 401, 'another address has its own');
});
