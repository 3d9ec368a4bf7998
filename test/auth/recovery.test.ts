/** Whoever recovers an account by mail or by a new password has it alone: nothing asked for before goes on. */
import t from 'tap';
import { ask, PASSWORD, signIn, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testSmtp } from '../helpers/network/smtp.ts';
import { until } from '../helpers/until.ts';

const NEW = 'another long sentence here';

t.test('recovering an account', async (t) => {
  const smtp = await testSmtp(t);
  const settings = { MILLRACE_SMTP_URL: smtp.url, MILLRACE_PUBLIC_URL: 'https://app.example.org' };
  const { app, parts } = await buildTestApp(t, settings);
  let seen = 0;
  const secret = async () => {
    const links = () => smtp.found(/https:\/\/app\.example\.org\/(?:verify|reset)#([\w-]{43})/g);
    await until(() => links().length > seen, 'a letter arrives');
    return links()[seen++]?.[1] ?? '';
  };

  await t.test('a change of address that was asked for before a reset by mail is off', async (t) => {
    const thief = await signUp(app, 'pat', { email: 'pat@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'PATCH /auth/me', { email: 'thief@example.org', password: PASSWORD }, thief);
    const pending = await secret();
    await ask(app, 'POST /auth/reset', { email: 'pat@example.org' });
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token: await secret(), password: NEW })).statusCode, 204);
    t.equal((await ask(app, 'POST /auth/verify', { token: pending })).statusCode, 410);
    t.equal((await parts.auth.users.get(thief.id)).email, 'pat@example.org');
  });

  await t.test(
    'a passkey of whoever made the account is gone when its address is first proved by a reset',
    async (t) => {
      const maker = await signUp(app, 'sly', { email: 'holder@example.org' });
      const passkeys = parts.mongo.log.collection<{ _id: string; user: string }>('passkeys');
      await passkeys.insertOne({ _id: 'of-the-maker', user: maker.id });
      await secret();
      const reset = async () => {
        await ask(app, 'POST /auth/reset', { email: 'holder@example.org' });
        return (await ask(app, 'POST /auth/reset/confirm', { token: await secret(), password: NEW })).statusCode;
      };
      t.equal(await reset(), 204);
      t.equal(await passkeys.countDocuments({ user: maker.id }), 0);
      t.match(await parts.auth.users.get(maker.id), { emailVerified: true });
      t.ok(await signIn(app, 'sly', NEW));
    },
  );

  await t.test('a change of address that was asked for before a change of password is off', async (t) => {
    const one = await signUp(app, 'kim', { email: 'kim@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'PATCH /auth/me', { email: 'thief2@example.org', password: PASSWORD }, one);
    const pending = await secret();
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEW }, one);
    t.equal((await ask(app, 'POST /auth/verify', { token: pending })).statusCode, 410);
  });

  await t.test('a letter that was asked for before a change of password sets none', async (t) => {
    const one = await signUp(app, 'max', { email: 'max@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'max@example.org' });
    const token = await secret();
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEW }, one);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: PASSWORD })).statusCode, 410);
    t.ok(await signIn(app, 'max', NEW));
  });

  await t.test('a letter that an address was sent before it changed hands proves nothing of another', async (t) => {
    const one = await signUp(app, 'ann', { email: 'ann@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'ann@example.org' });
    const token = await secret();
    const stamp = { by: null, request: null };
    await parts.auth.users.change(one.id, { email: 'ann@new.example', emailVerified: false }, stamp);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: NEW })).statusCode, 410);
    t.equal((await parts.auth.users.get(one.id)).emailVerified, false);
    t.ok(await signIn(app, 'ann'));
  });

  await t.test('others who name an address hold up no letter of its account', async (t) => {
    const stranger = await signUp(app, 'eve');
    await ask(app, 'PATCH /auth/me', { email: 'bob@example.org', password: PASSWORD }, stranger);
    await secret();
    const one = await signUp(app, 'bob', { email: 'bob@example.org' });
    t.equal((await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD })).statusCode, 204);
    t.equal((await parts.auth.users.get(one.id)).emailVerified, true);
  });

  await t.test('a letter to the old address sets no password once the address is another', async (t) => {
    const one = await signUp(app, 'lou', { email: 'lou@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'lou@example.org' });
    const old = await secret();
    await ask(app, 'PATCH /auth/me', { email: 'lou@new.example', password: PASSWORD }, one);
    t.equal((await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD })).statusCode, 204);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token: old, password: NEW })).statusCode, 410);
  });
});

t.test('a sign-in with the old password that runs beside its change leaves no session', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { passwords } = parts.auth;
  const one = await signUp(app, 'ada');
  const mark = passwords.mark.bind(passwords);
  let asked = 0;
  passwords.mark = async (user) => {
    // The second time the session is there, and the change below has looked for sessions before it was.
    if (++asked === 2) await passwords.set(one.id, NEW);
    return mark(user);
  };
  const late = await ask(app, 'POST /auth/login', { username: 'ada', password: PASSWORD });
  t.match(late.json(), { status: 401, code: 'sign-in-failed' });
  t.strictSame(
    (await parts.auth.sessions.list(one.id, null)).map(({ id }) => id),
    [one.session],
  );
  t.ok(await signIn(app, 'ada', NEW));
});

t.test('a sign-in that runs beside the disabling of its account leaves no session for later', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { passwords, users, sessions } = parts.auth;
  const one = await signUp(app, 'ada');
  const mark = passwords.mark.bind(passwords);
  let asked = 0;
  passwords.mark = async (user) => {
    const found = await mark(user);
    // The account was looked at; its sessions are ended before the one of this sign-in is there.
    if (++asked === 1) await users.change(one.id, { disabled: true }, { by: null, request: null });
    return found;
  };
  const late = await ask(app, 'POST /auth/login', { username: 'ada', password: PASSWORD });
  t.match(late.json(), { status: 401, code: 'sign-in-failed' });
  await users.change(one.id, { disabled: false }, { by: null, request: null });
  t.strictSame(await sessions.list(one.id, null), []);
});
