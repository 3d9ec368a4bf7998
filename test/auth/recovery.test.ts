/** A user who recovers access by e-mail or by a new password has sole access: nothing requested before continues. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { testSmtp } from '../helpers/network/smtp.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signIn, signUp } from '../helpers/users.ts';

const NEW = 'another long sentence here';

t.test('account recovery', async (t) => {
  const smtp = await testSmtp(t);
  const settings = { MILLRACE_SMTP_URL: smtp.url, MILLRACE_PUBLIC_URL: 'https://app.example.org' };
  const { app, services } = await buildTestApp(t, settings);
  let seen = 0;
  const secret = async () => {
    const links = () => smtp.found(/https:\/\/app\.example\.org\/(?:verify|reset)#([\w-]{43})/g);
    await until(() => links().length > seen, 'a letter arrives');
    return links()[seen++]?.[1] ?? '';
  };

  await t.test('a change of e-mail address that was requested before a reset by e-mail is canceled', async (t) => {
    const thief = await signUp(app, 'pat', { email: 'pat@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'PATCH /auth/me', { email: 'thief@example.org', password: PASSWORD }, thief);
    const pending = await secret();
    await ask(app, 'POST /auth/reset', { email: 'pat@example.org' });
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token: await secret(), password: NEW })).statusCode, 204);
    t.equal((await ask(app, 'POST /auth/verify', { token: pending })).statusCode, 410);
    t.equal((await services.auth.users.get(thief.id)).email, 'pat@example.org');
  });

  await t.test('a passkey of the registrant is removed when a reset first verifies the e-mail address', async (t) => {
    const creator = await signUp(app, 'sly', { email: 'holder@example.org' });
    const passkeys = services.mongo.log.collection<{ _id: string; user: string }>('passkeys');
    await passkeys.insertOne({ _id: 'of-the-creator', user: creator.id });
    await secret();
    const reset = async () => {
      await ask(app, 'POST /auth/reset', { email: 'holder@example.org' });
      return (await ask(app, 'POST /auth/reset/confirm', { token: await secret(), password: NEW })).statusCode;
    };
    t.equal(await reset(), 204);
    t.equal(await passkeys.countDocuments({ user: creator.id }), 0);
    t.match(await services.auth.users.get(creator.id), { emailVerified: true });
    t.ok(await signIn(app, 'sly', NEW));
  });

  await t.test('a change of e-mail address that was requested before a change of password is canceled', async (t) => {
    const one = await signUp(app, 'kim', { email: 'kim@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'PATCH /auth/me', { email: 'thief2@example.org', password: PASSWORD }, one);
    const pending = await secret();
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEW }, one);
    t.equal((await ask(app, 'POST /auth/verify', { token: pending })).statusCode, 410);
  });

  await t.test('a reset e-mail from before a change of password is invalid', async (t) => {
    const one = await signUp(app, 'max', { email: 'max@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'max@example.org' });
    const token = await secret();
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEW }, one);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: PASSWORD })).statusCode, 410);
    t.ok(await signIn(app, 'max', NEW));
  });

  await t.test('an e-mail to an address before it changed hands verifies nothing for another user', async (t) => {
    const one = await signUp(app, 'ann', { email: 'ann@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'ann@example.org' });
    const token = await secret();
    const stamp = { by: null, request: null };
    await services.auth.users.change(one.id, { email: 'ann@new.example', emailVerified: false }, stamp);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: NEW })).statusCode, 410);
    t.equal((await services.auth.users.get(one.id)).emailVerified, false);
    t.ok(await signIn(app, 'ann'));
  });

  await t.test('requests of others for an e-mail address delay no e-mail of its user', async (t) => {
    const anonymous = await signUp(app, 'eve');
    await ask(app, 'PATCH /auth/me', { email: 'bob@example.org', password: PASSWORD }, anonymous);
    await secret();
    const one = await signUp(app, 'bob', { email: 'bob@example.org' });
    t.equal((await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD })).statusCode, 204);
    t.equal((await services.auth.users.get(one.id)).emailVerified, true);
  });

  await t.test('an e-mail to the old address sets no password once the address is another', async (t) => {
    const one = await signUp(app, 'lou', { email: 'lou@example.org' });
    await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD });
    await ask(app, 'POST /auth/reset', { email: 'lou@example.org' });
    const old = await secret();
    await ask(app, 'PATCH /auth/me', { email: 'lou@new.example', password: PASSWORD }, one);
    t.equal((await ask(app, 'POST /auth/verify', { token: await secret(), password: PASSWORD })).statusCode, 204);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token: old, password: NEW })).statusCode, 410);
  });
});

t.test('a sign-in with the old password during its change leaves no session', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { passwords } = services.auth;
  const one = await signUp(app, 'ada');
  const mark = passwords.mark.bind(passwords);
  let requested = 0;
  passwords.mark = async (user) => {
    // The second time the session exists, and the change below has looked for sessions before.
    if (++requested === 2) await passwords.set(one.id, NEW);
    return mark(user);
  };
  const late = await ask(app, 'POST /auth/login', { username: 'ada', password: PASSWORD });
  t.match(late.json(), { status: 401, code: 'invalid-credentials' });
  t.strictSame(
    (await services.auth.sessions.list(one.id, null)).map(({ id }) => id),
    [one.session],
  );
  t.ok(await signIn(app, 'ada', NEW));
});

t.test('a sign-in during the disabling of its user leaves no session', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { passwords, users, sessions } = services.auth;
  const one = await signUp(app, 'ada');
  const mark = passwords.mark.bind(passwords);
  let requested = 0;
  passwords.mark = async (user) => {
    const found = await mark(user);
    // The user was checked; its sessions are ended before the one of this sign-in exists.
    if (++requested === 1) await users.change(one.id, { disabled: true }, { by: null, request: null });
    return found;
  };
  const late = await ask(app, 'POST /auth/login', { username: 'ada', password: PASSWORD });
  t.match(late.json(), { status: 401, code: 'invalid-credentials' });
  await users.change(one.id, { disabled: false }, { by: null, request: null });
  t.strictSame(await sessions.list(one.id, null), []);
});
