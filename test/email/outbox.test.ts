/**
 * E-mails outlive the process that queued them and an unreachable mail server; administrators see the state of each;
 * users are notified of changes, in their language, and are not flooded.
 */
import t from 'tap';
import { createAuthServices } from '../../src/auth/services.ts';
import { OutboxStore } from '../../src/email/outbox-store.ts';
import { buildTestApp } from '../helpers/app.ts';
import { setUpFactor } from '../helpers/mfa/authenticator.ts';
import { linkIn, testMailbox } from '../helpers/network/mailbox.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin, signUp } from '../helpers/users.ts';

const BASE = 'https://app.example.org';
const NEXT = 'five paper planes glide';

t.test('e-mails', async (t) => {
  const mailbox = await testMailbox(t);
  const { app, services } = await buildTestApp(t, { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: BASE });
  const owner = await signInAdmin(app, services);
  const reported: string[] = [];
  /** Another process, whose clock is ahead by some milliseconds, sends what is due then. */
  const sendAt = async (ms: number): Promise<void> => {
    const { mode, auth: config } = services.config;
    const onError = (error: unknown) => reported.push(String(error));
    const now = () => Date.now() + ms;
    await using cleanup = new AsyncDisposableStack();
    const other = await createAuthServices({ mongo: services.mongo, mode, config, onError, now, cleanup });
    await other.email.outbox.settled();
  };
  const listed = async (to: string, state = '') => {
    const response = await ask(app, `GET /admin/emails?limit=1000${state && `&state=${state}`}`, undefined, owner);
    return response.json().filter((one: { to: string }) => one.to === to);
  };
  const verifiedUser = async (name: string, more = {}) => {
    const user = await signUp(app, name, { email: `${name}@example.org`, ...more });
    const { token } = linkIn(await mailbox.next(`${name}@example.org`));
    await ask(app, 'POST /auth/verify', { token }, user);
    return user;
  };

  await t.test('a temporary rejection of an e-mail is retried later, by any process', async (t) => {
    mailbox.refused.set('ada@example.org', 451);
    await signUp(app, 'ada', { email: 'ada@example.org' });
    await until(async () => (await listed('ada@example.org'))[0]?.error != null, 'the first try failed');
    const [row] = await listed('ada@example.org', 'pending');
    t.match(row, {
      kind: 'verify-email',
      state: 'pending',
      attempts: 1,
      error: /rejected the sender .* \(SMTP 451\)$/,
    });
    t.notMatch(row.error, /leak/, 'without the words of the server');
    t.ok(Date.parse(row.nextAttemptAt) > Date.now() + 2_000);
    mailbox.refused.delete('ada@example.org');
    await sendAt(15_000);
    const email = await mailbox.next('ada@example.org');
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(email).token })).statusCode, 204);
    t.match(await listed('ada@example.org'), [
      { state: 'succeeded', attempts: 2, error: null, nextAttemptAt: null, finishedAt: /.+/ },
    ]);
  });

  await t.test('a permanent rejection of an e-mail is not retried', async (t) => {
    mailbox.refused.set('gone@example.org', 550);
    await signUp(app, 'gone', { email: 'gone@example.org' });
    await until(async () => (await listed('gone@example.org', 'failed')).length === 1, 'it has failed');
    t.match(await listed('gone@example.org'), [{ state: 'failed', attempts: 1, error: /\(SMTP 550\)$/ }]);
    const before = mailbox.attempts('gone@example.org');
    await sendAt(3_600_000);
    t.equal(mailbox.attempts('gone@example.org'), before);
  });

  await t.test('an e-mail of a process that died is sent by another, once its lease is over', async (t) => {
    const store = new OutboxStore(services.mongo);
    const at = new Date();
    const { id } = await verifiedUser('rosa');
    await services.auth.email.outbox.settled();
    await store.insert([
      {
        _id: 'left behind',
        kind: 'verify-email',
        to: 'rosa@left.example',
        facts: { user: id, email: 'rosa@left.example' },
        language: null,
        state: 'pending',
        attempts: 1,
        error: null,
        createdAt: at,
        dueAt: new Date(at.getTime() + 120_000),
        until: new Date(at.getTime() + 3_600_000),
        finishedAt: null,
        token: 'the dead process',
      },
    ]);
    await sendAt(60_000);
    t.equal(mailbox.attempts('rosa@left.example'), 0, 'the process may live');
    await sendAt(121_000);
    t.equal(mailbox.attempts('rosa@left.example'), 1);
    t.match(await listed('rosa@left.example'), [{ state: 'succeeded', attempts: 2 }]);
  });

  await t.test('an e-mail that is no longer worth sending fails', async (t) => {
    mailbox.refused.set('late@example.org', 451);
    const { id } = await verifiedUser('late2');
    await services.auth.recovery.sendVerification(await services.auth.users.get(id), 'late@example.org', null);
    await until(async () => (await listed('late@example.org'))[0]?.error != null, 'the first try failed');
    await sendAt(25 * 3_600_000);
    t.match(await listed('late@example.org'), [{ state: 'failed', error: /SMTP 451/ }]);
    t.match(reported.join(), /An e-mail was not sent \(change-email/);
  });

  await t.test('no row of the e-mail queue has a link or a code', async (t) => {
    const rows = await services.mongo.log.collection('emails').find().toArray();
    t.ok(rows.length > 3);
    t.notMatch(JSON.stringify(rows), /#[\w-]{43}|\b\d{4} \d{4}\b/);
    t.strictSame(
      rows.filter(({ state, facts }) => state !== 'pending' && facts !== undefined),
      [],
    );
  });

  await t.test(
    'the language of an e-mail is that of the user, else of the requester, else of the instance',
    async (t) => {
      const german = { 'accept-language': 'fr;q=0.9, de-AT;q=0.8, en;q=0.5' };
      const register = (username: string, headers: object, profile = {}) => {
        const payload = { username, password: PASSWORD, email: `${username}@example.org`, profile };
        return app.inject({ method: 'POST', url: '/auth/register', payload, headers: { ...headers } });
      };
      await register('anna', german);
      const email = await mailbox.next('anna@example.org');
      t.equal(email.subject, 'Bestätigen Sie Ihre E-Mail-Adresse');
      t.match(email.text, /öffnen Sie innerhalb von 24 Stunden/);
      t.match(email.html, /<html lang="de">/);
      t.equal(email.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated');
      await register('bert', german, { locale: 'en-GB' });
      t.equal((await mailbox.next('bert@example.org')).subject, 'Verify your e-mail address');
      await register('carl', { 'accept-language': 'fr' });
      t.equal((await mailbox.next('carl@example.org')).subject, 'Verify your e-mail address');
    },
  );

  await t.test('users are notified of changes', async (t) => {
    const user = await verifiedUser('kim');
    const email = 'kim@example.org';
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, user);
    t.match(await mailbox.next(email, /password was changed/), {
      text: /The password of the account kim at app\.example\.org was changed \(\d{4}-/,
    });
    // Each request comes from its own network: the first one of the user is known without a notification, this one is
    // new.
    await signIn(app, 'kim', NEXT);
    t.match(await mailbox.next(email, /^New sign-in/), { text: /IP address: 10\.\d+\.\d+\.\d+/ });
    await setUpFactor(app, services, user);
    t.match(await mailbox.next(email, /A sign-in method/), { text: /^An authenticator app was added\./ });
    await ask(app, 'DELETE /auth/mfa/totp', undefined, user);
    t.match(await mailbox.next(email, /A sign-in method/), { text: /^The authenticator app was removed/ });
    await ask(app, 'PATCH /auth/me', { email: 'kim@new.example', password: NEXT }, user);
    const requested = await mailbox.next('kim@new.example', /^Verify your new/);
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(requested).token }, user)).statusCode, 204);
    t.match(
      await mailbox.next(email, /address was changed/),
      { text: /kim@new\.example/ },
      'the old address is notified',
    );
  });

  await t.test(
    'a sign-in from a known network sends no notification, nor does anything to an unverified e-mail address',
    async (t) => {
      const from = (username: string, remoteAddress: string) =>
        app.inject({ method: 'POST', url: '/auth/login', payload: { username, password: PASSWORD }, remoteAddress });
      const user = await verifiedUser('lou');
      const anonymous = await signUp(app, 'sly', { email: 'victim@example.org' });
      await mailbox.next('victim@example.org');
      await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, anonymous);
      for (const address of ['198.51.100.1', '198.51.100.1', '198.51.100.1']) await from('lou', address);
      await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, user);
      await mailbox.next('lou@example.org', /password/);
      const to = (address: string, subject: RegExp) =>
        mailbox.emails.filter((one) => one.to?.[0]?.address === address && subject.test(one.subject ?? '')).length;
      await until(() => to('lou@example.org', /^New sign-in/) === 1, 'the first of the three is notified');
      await services.auth.email.outbox.settled();
      t.equal(to('lou@example.org', /^New sign-in/), 1);
      t.equal(to('victim@example.org', /password/), 0);
    },
  );

  await t.test('five notifications of one kind an hour are sent', async (t) => {
    const user = await verifiedUser('pam');
    let [current, password] = [PASSWORD, NEXT];
    for (let round = 0; round < 7; round++) {
      await ask(app, 'POST /auth/password', { current, password }, user);
      [current, password] = [password, current];
    }
    await signIn(app, 'pam', current);
    await mailbox.next('pam@example.org', /^New sign-in/);
    t.equal(
      (await listed('pam@example.org')).filter(({ kind }: { kind: string }) => kind === 'password-changed').length,
      5,
    );
  });
});
