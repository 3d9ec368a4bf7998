/**
 * A user whom an attacker registers with the e-mail address of another person: the verification of the address ends
 * what was registered before, unless it comes from the person who registered.
 */
import t, { type Test } from 'tap';
import { toPrincipal } from '../../../src/auth/identity/user.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { codeNow, setUpFactor } from '../../helpers/mfa/authenticator.ts';
import { SoftPasskey } from '../../helpers/mfa/passkey-authenticator.ts';
import { codeIn, linkIn, testMailbox } from '../../helpers/network/mailbox.ts';
import { type Account, ask, PASSWORD, signIn, signUp, toUser } from '../../helpers/users.ts';

const ORIGIN = 'https://app.example.org';
const NEW = 'another long sentence here';
const STAMP = { by: null, request: null };

t.test('the first verification of an e-mail address', async (t) => {
  const mailbox = await testMailbox(t);
  const settings = { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: ORIGIN };
  const { app, services } = await buildTestApp(t, settings);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { users, sessions } = services.auth;
  const log = (name: string) => services.mongo.log.collection<{ _id: string }>(name);
  const tokenFor = async (email: string, subject = /./) => linkIn(await mailbox.next(email, subject)).token;
  const verify = (body: object, as?: Pick<Account, 'headers'>) => ask(app, 'POST /auth/verify', body, as);
  const login = (username: string, password = PASSWORD) => ask(app, 'POST /auth/login', { username, password });
  const addPasskey = async (as: Account) => {
    const passkey = new SoftPasskey(ORIGIN);
    const begun = (await ask(app, 'POST /auth/passkeys/registration-options', undefined, as)).json();
    const added = await ask(app, 'POST /auth/passkeys', { credential: passkey.create(begun) }, as);
    t.equal(added.statusCode, 201, added.body);
    return passkey;
  };

  /** A user registered with an e-mail address, and everything that can be added to it. */
  const plant = async (name: string, { hasFactor = true } = {}) => {
    const email = `${name}@example.org`;
    const creator = await signUp(app, name, { email });
    const token = await tokenFor(email);
    const factor = hasFactor ? await setUpFactor(app, services, creator) : null;
    const code = factor === null ? {} : { code: await factor.code() };
    const second = toUser(await ask(app, 'POST /auth/login', { username: name, password: PASSWORD, ...code }));
    const passkey = await addPasskey(creator);
    await users.change(creator.id, { identities: [{ id: `hub:${name}`, linkedAt: new Date() }] }, STAMP);
    const hook = { targetUrl: 'http://127.0.0.1:8099/', event: 'todos.created' };
    t.equal((await ask(app, 'POST /hooks', hook, creator)).statusCode, 201);
    const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, second)).json();
    const socket = await openSocket(t, url, { path: `/realtime?ticket=${ticket}` });
    await socket.frame({ type: 'welcome' });
    return { ...creator, name, email, token, creator, second, passkey, socket };
  };
  const allGone = async (
    t: Test,
    { id, name, creator, second, passkey, socket }: Awaited<ReturnType<typeof plant>>,
  ) => {
    for (const one of [creator, second]) {
      t.equal((await ask(app, 'GET /auth/me', undefined, one)).statusCode, 401, 'sessions');
      t.equal((await ask(app, 'POST /auth/refresh', { refreshToken: one.refreshToken })).statusCode, 401, 'tokens');
    }
    await socket.end();
    t.match((await login(name)).json(), { code: 'invalid-credentials' }, 'the password');
    const challenge = (await ask(app, 'POST /auth/passkeys/authentication-options', {})).json();
    const entered = await ask(app, 'POST /auth/passkeys/login', { credential: passkey.get(challenge) });
    t.match(entered.json(), { code: 'invalid-credentials' }, 'the passkey');
    t.equal(await log('mfa_factors').countDocuments({ _id: id }), 0, 'the second factor');
    const { emailVerified, secondFactor: mfa, identities } = await users.get(id);
    t.strictSame(
      { emailVerified, secondFactor: mfa, identities },
      { emailVerified: true, secondFactor: false, identities: [] },
    );
    const endpoints = await services.webhooks.endpoints.idsOf({ kind: 'user', id });
    t.strictSame(endpoints, [], 'the webhooks');
  };
  const verifyMagicLink = async (email: string) => {
    await ask(app, 'POST /auth/magic-link', { email });
    const code = codeIn(await mailbox.next(email, /^Sign in/));
    return ask(app, 'POST /auth/magic-link/verify', { email, code });
  };

  await t.test('verification by the link alone ends everything that was registered before', async (t) => {
    const planted = await plant('alone');
    t.equal((await verify({ token: planted.token })).statusCode, 204);
    await allGone(t, planted);
    const entered = await verifyMagicLink(planted.email);
    t.equal(entered.json().user.id, planted.id, 'its holder signs in without a code');
    t.equal((await verify({ token: planted.token })).statusCode, 410, 'and the link works once');
  });

  await t.test('verification by the link with a new password ends everything, and sets the password', async (t) => {
    const planted = await plant('fresh');
    t.match((await verify({ token: planted.token, newPassword: 'password' })).json(), { code: 'weak-password' });
    const both = { token: planted.token, password: PASSWORD, newPassword: NEW };
    t.match((await verify(both)).json(), { code: 'invalid-body' });
    t.equal((await verify({ token: planted.token, newPassword: NEW })).statusCode, 204);
    await allGone(t, planted);
    t.equal((await login('fresh', NEW)).statusCode, 200);
  });

  await t.test('by a magic link, a reset, or a session of another user ends everything', async (t) => {
    const linked = await plant('linked');
    t.equal((await verifyMagicLink(linked.email)).statusCode, 200, 'no code of the second factor is required');
    await allGone(t, linked);
    const reset = await plant('reset');
    await ask(app, 'POST /auth/reset', { email: reset.email });
    const token = await tokenFor(reset.email, /new password/);
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: NEW })).statusCode, 204);
    await allGone(t, reset);
    t.equal((await login('reset', NEW)).statusCode, 200, 'no code of the second factor is required');
    const other = await plant('other');
    t.equal((await verify({ token: other.token }, await signUp(app, 'somebody'))).statusCode, 204);
    await allGone(t, other);
  });

  await t.test('verification by the link and a session or the password of the user keeps everything', async (t) => {
    for (const name of ['kept', 'known']) {
      const planted = await plant(name);
      const wrong = await verify({ token: planted.token, password: NEW });
      t.match(wrong.json(), { status: 401, code: 'invalid-credentials' });
      const ended = { headers: { authorization: 'Bearer not-a-token' } };
      t.match((await verify({ token: planted.token }, ended)).json(), { code: 'invalid-token' });
      const right =
        name === 'kept'
          ? await verify({ token: planted.token }, planted.creator)
          : await verify({ token: planted.token, password: PASSWORD });
      t.equal(right.statusCode, 204);
      for (const one of [planted.creator, planted.second]) {
        t.match((await ask(app, 'GET /auth/me', undefined, one)).json(), { emailVerified: true, secondFactor: true });
      }
      t.match((await login(name)).json(), { code: 'mfa-required' });
      t.match(await users.get(planted.id), { identities: [{ id: `hub:${name}` }] });
      t.equal(await log('passkeys').countDocuments({ user: planted.id }), 1);
      await ask(app, 'POST /auth/reset', { email: planted.email });
      const token = await tokenFor(planted.email, /new password/);
      t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: NEW })).statusCode, 204);
      t.match(
        (await login(name, NEW)).json(),
        { code: 'mfa-required' },
        'a reset does not remove a factor of its holder',
      );
    }
  });

  await t.test(
    'verification for a user that signed up without an address ends everything when only the link proves it',
    async (t) => {
      const creator = await signUp(app, 'bare');
      await ask(app, 'PATCH /auth/me', { email: 'bare@example.org', password: PASSWORD }, creator);
      t.equal((await verify({ token: await tokenFor('bare@example.org') })).statusCode, 204);
      t.match(await users.get(creator.id), { email: 'bare@example.org', emailVerified: true });
      t.match((await login('bare')).json(), { code: 'invalid-credentials' });
      t.equal((await ask(app, 'GET /auth/me', undefined, creator)).statusCode, 401);
      const [taken, late] = [await signUp(app, 'taken'), await signUp(app, 'late')];
      for (const one of [taken, late]) {
        await ask(app, 'PATCH /auth/me', { email: 'two@example.org', password: PASSWORD }, one);
      }
      const tokens = [await tokenFor('two@example.org'), await tokenFor('two@example.org')];
      t.equal((await verify({ token: tokens[0] })).statusCode, 204);
      t.match((await verify({ token: tokens[1] })).json(), { code: 'email-taken' });
      const [first, second] = [await users.get(taken.id), await users.get(late.id)];
      const loser = first.emailVerified ? second : first;
      t.equal((await login(loser.username ?? '')).statusCode, 200, 'an address that is taken changes nothing');
    },
  );

  await t.test('does not let the link alone replace a verified e-mail address', async (t) => {
    const creator = await signUp(app, 'moved', { email: 'moved@example.org' });
    await verify({ token: await tokenFor('moved@example.org'), password: PASSWORD });
    await ask(app, 'PATCH /auth/me', { email: 'next@example.org', password: PASSWORD }, creator);
    const token = await tokenFor('next@example.org');
    for (const body of [{ token }, { token, newPassword: NEW }]) {
      t.match((await verify(body)).json(), { status: 401, code: 'not-authenticated', hint: /`password`/ });
    }
    t.match((await ask(app, 'GET /auth/me', undefined, creator)).json(), { email: 'moved@example.org' });
    t.equal((await verify({ token, password: PASSWORD })).statusCode, 204);
    t.match((await ask(app, 'GET /auth/me', undefined, creator)).json(), { email: 'next@example.org' });
  });

  await t.test('verification invalidates earlier links of other addresses', async (t) => {
    const creator = await signUp(app, 'early', { email: 'early@example.org' });
    const own = await tokenFor('early@example.org');
    await ask(app, 'PATCH /auth/me', { email: 'thief@example.org', password: PASSWORD }, creator);
    const pending = await tokenFor('thief@example.org');
    t.equal((await verify({ token: own })).statusCode, 410, 'a newer link replaces the older one');
    t.equal((await verifyMagicLink('early@example.org')).statusCode, 200);
    t.equal((await verify({ token: pending })).statusCode, 410);
  });

  await t.test('ends what concurrent requests add', async (t) => {
    const creator = await signUp(app, 'beside', { email: 'beside@example.org' });
    const token = await tokenFor('beside@example.org');
    const options = (await ask(app, 'POST /auth/passkeys/registration-options', undefined, creator)).json();
    const user = await users.get(creator.id);
    const origin = { ip: '198.18.0.1', userAgent: null, request: 'r' };
    // A change of the password whose check is over when the address is verified.
    const { passwords, factors, identities, signIn: entering } = services.auth;
    const check = passwords.verify.bind(passwords);
    passwords.verify = async (...requested) => {
      const right = await check(...requested);
      passwords.verify = check;
      t.equal((await verify({ token })).statusCode, 204);
      return right;
    };
    const changed = await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEW }, creator);
    t.match(changed.json(), { code: 'invalid-credentials' });
    for (const password of [PASSWORD, NEW])
      t.match((await login('beside', password)).json(), { code: 'invalid-credentials' });
    await t.rejects(entering.changePassword(user, creator.session, PASSWORD, NEW, origin), {
      code: 'invalid-credentials',
    });
    // Requests that were admitted before, and write afterwards.
    const { secret } = await factors.begin(user);
    await t.rejects(factors.confirm(user, creator.session, codeNow(secret), origin, STAMP), {
      code: 'invalid-token',
    });
    await t.rejects(identities.join(user._id, 'hub:1', creator.session, STAMP), { code: 'invalid-token' });
    const { challenge } = options;
    const purpose = { purpose: 'passkey-new', subject: user._id };
    t.equal(await services.mongo.log.collection('one_time_tokens').countDocuments(purpose), 0, `${challenge} is gone`);
    const again = await services.auth.passkeys.begin(user, creator.session);
    const credential = { ...new SoftPasskey(ORIGIN).create(again), type: 'public-key' as const };
    const added = services.auth.passkeys.add(user, creator.session, { name: 'x', credential }, STAMP);
    await t.rejects(added, { code: 'invalid-token' });
    const { authenticator } = services.auth;
    const { authenticate } = authenticator;
    authenticator.authenticate = () => toPrincipal(user, creator.session, Date.now() + 60_000);
    const hook = { targetUrl: 'http://127.0.0.1:8099/', event: 'todos.created' };
    t.match((await ask(app, 'POST /hooks', hook, creator)).json(), { code: 'invalid-token' });
    const endpoint = { url: hook.targetUrl, types: [hook.event] };
    t.match((await ask(app, 'POST /webhooks/endpoints', endpoint, creator)).json(), { code: 'invalid-token' });
    authenticator.authenticate = authenticate;
    t.strictSame(await services.webhooks.endpoints.idsOf({ kind: 'user', id: user._id }), []);
    t.equal(await log('mfa_factors').countDocuments({ _id: user._id }), 0);
    t.equal(await log('passkeys').countDocuments({ user: user._id }), 0);
    t.strictSame((await users.get(user._id)).identities, []);
    t.strictSame(await sessions.list(user._id, null), []);
    t.match((await verifyMagicLink('beside@example.org')).json(), { user: { id: user._id, secondFactor: false } });
  });

  await t.test('verification changes nothing of a user that an administrator created', async (t) => {
    const created = await users.create({ username: 'staff', email: 'staff@example.org', password: PASSWORD }, STAMP);
    const user = await signIn(app, 'staff');
    await setUpFactor(app, services, user);
    t.match((await verifyMagicLink('staff@example.org')).json(), { code: 'mfa-required' });
    await ask(app, 'PATCH /auth/me', { email: 'staff@example.org', password: PASSWORD }, user);
    t.equal((await verify({ token: await tokenFor('staff@example.org', /^Verify/) })).statusCode, 204);
    t.match(await users.get(created._id), { emailVerified: true, secondFactor: true });
    t.match((await login('staff')).json(), { code: 'mfa-required' });
  });
});
