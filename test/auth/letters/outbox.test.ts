/**
 * Letters outlive the process that was asked for them and a mail server that is away; owners see what came of each; people
 * are told what happens to their accounts, in their language, and are not flooded.
 */
import t from 'tap';
import { OutboxStore } from '../../../src/auth/letters/outbox-store.ts';
import { openAuth } from '../../../src/auth/open-auth.ts';
import { ask, PASSWORD, signIn, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor } from '../../helpers/factors/authenticator.ts';
import { linkIn, testMailbox } from '../../helpers/network/mailbox.ts';
import { until } from '../../helpers/until.ts';

const BASE = 'https://app.example.org';
const NEXT = 'five paper planes glide';

t.test('letters', async (t) => {
  const mailbox = await testMailbox(t);
  const { app, parts } = await buildTestApp(t, { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: BASE });
  const owner = await signInOwner(app, parts);
  const told: string[] = [];
  /** Another process, whose clock is ahead by some milliseconds, sends what is due then. */
  const sendAt = async (ms: number): Promise<void> => {
    const { mode, auth } = parts.config;
    const onError = (error: unknown) => told.push(String(error));
    const other = await openAuth(parts.mongo, { mode, auth, onError, now: () => Date.now() + ms });
    await other.outbox.settled();
    await other.close();
  };
  const listed = async (to: string, state = '') => {
    const answer = await ask(app, `GET /admin/letters/sent?limit=1000${state && `&state=${state}`}`, undefined, owner);
    return answer.json().filter((one: { to: string }) => one.to === to);
  };
  const member = async (name: string, more = {}) => {
    const account = await signUp(app, name, { email: `${name}@example.org`, ...more });
    const { token } = linkIn(await mailbox.next(`${name}@example.org`));
    await ask(app, 'POST /auth/verify', { token }, account);
    return account;
  };

  await t.test('a refusal that may pass is tried again later, by whichever process is there', async (t) => {
    mailbox.refused.set('ada@example.org', 451);
    await signUp(app, 'ada', { email: 'ada@example.org' });
    await until(async () => (await listed('ada@example.org'))[0]?.error != null, 'the first try failed');
    const [row] = await listed('ada@example.org', 'waiting');
    t.match(row, { kind: 'verify-address', state: 'waiting', tries: 1, error: /refused the sender .* \(SMTP 451\)$/ });
    t.notMatch(row.error, /leak/, 'without the words of the server');
    t.ok(Date.parse(row.nextAt) > Date.now() + 2_000);
    mailbox.refused.delete('ada@example.org');
    await sendAt(15_000);
    const letter = await mailbox.next('ada@example.org');
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(letter).token })).statusCode, 204);
    t.match(await listed('ada@example.org'), [{ state: 'sent', tries: 2, error: null, nextAt: null, endedAt: /.+/ }]);
  });

  await t.test('a refusal for good is not tried again', async (t) => {
    mailbox.refused.set('gone@example.org', 550);
    await signUp(app, 'gone', { email: 'gone@example.org' });
    await until(async () => (await listed('gone@example.org', 'failed')).length === 1, 'it has failed');
    t.match(await listed('gone@example.org'), [{ state: 'failed', tries: 1, error: /\(SMTP 550\)$/ }]);
    const before = mailbox.tries('gone@example.org');
    await sendAt(3_600_000);
    t.equal(mailbox.tries('gone@example.org'), before);
  });

  await t.test('a letter of a process that died is sent by another, once its turn is over', async (t) => {
    const store = new OutboxStore(parts.mongo);
    const at = new Date();
    const { id } = await member('rosa');
    await parts.auth.outbox.settled();
    await store.insert({
      _id: 'left behind',
      kind: 'verify-address',
      to: 'rosa@left.example',
      facts: { user: id, email: 'rosa@left.example' },
      language: null,
      state: 'waiting',
      tries: 1,
      error: null,
      madeAt: at,
      dueAt: new Date(at.getTime() + 120_000),
      until: new Date(at.getTime() + 3_600_000),
      endedAt: null,
      take: 'the dead process',
    });
    await sendAt(60_000);
    t.equal(mailbox.tries('rosa@left.example'), 0, 'the process may live');
    await sendAt(121_000);
    t.equal(mailbox.tries('rosa@left.example'), 1);
    t.match(await listed('rosa@left.example'), [{ state: 'sent', tries: 2 }]);
  });

  await t.test('a letter that is not worth sending any more is given up', async (t) => {
    mailbox.refused.set('late@example.org', 451);
    const { id } = await member('late2');
    await parts.auth.recovery.sendVerification(await parts.auth.users.get(id), 'late@example.org', null);
    await until(async () => (await listed('late@example.org'))[0]?.error != null, 'the first try failed');
    await sendAt(25 * 3_600_000);
    t.match(await listed('late@example.org'), [{ state: 'failed', error: /SMTP 451/ }]);
    t.match(told.join(), /A letter was not sent \(change-address/);
  });

  await t.test('no row holds a link or a code', async (t) => {
    const rows = await parts.mongo.log.collection('letters').find().toArray();
    t.ok(rows.length > 3);
    t.notMatch(JSON.stringify(rows), /#[\w-]{43}|\b\d{4} \d{4}\b/);
    t.strictSame(
      rows.filter(({ state, facts }) => state !== 'waiting' && facts !== undefined),
      [],
    );
  });

  await t.test('the language is that of the account, else of whoever asks, else of the installation', async (t) => {
    const german = { 'accept-language': 'fr;q=0.9, de-AT;q=0.8, en;q=0.5' };
    const register = (username: string, headers: object, profile = {}) => {
      const payload = { username, password: PASSWORD, email: `${username}@example.org`, profile };
      return app.inject({ method: 'POST', url: '/auth/register', payload, headers: { ...headers } });
    };
    await register('anna', german);
    const letter = await mailbox.next('anna@example.org');
    t.equal(letter.subject, 'Bestätigen Sie Ihre E-Mail-Adresse');
    t.match(letter.text, /öffnen Sie innerhalb von 24 Stunden/);
    t.match(letter.html, /<html lang="de">/);
    t.equal(letter.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated');
    await register('bert', german, { locale: 'en-GB' });
    t.equal((await mailbox.next('bert@example.org')).subject, 'Confirm your e-mail address');
    await register('carl', { 'accept-language': 'fr' });
    t.equal((await mailbox.next('carl@example.org')).subject, 'Confirm your e-mail address');
  });

  await t.test('people are told what happens to their accounts', async (t) => {
    const account = await member('kim');
    const email = 'kim@example.org';
    await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, account);
    t.match(await mailbox.next(email, /password was changed/), {
      text: /The password of the account kim at app\.example\.org was changed \(\d{4}-/,
    });
    // Each request comes from a network of its own: the first one of the account was kept quiet, this one is new.
    await signIn(app, 'kim', NEXT);
    t.match(await mailbox.next(email, /^New sign-in/), { text: /Network: 10\.\d+\.\d+\.\d+/ });
    await setUpFactor(app, parts, account);
    t.match(await mailbox.next(email, /A way to sign in/), { text: /^An authenticator app was added\./ });
    await ask(app, 'DELETE /auth/mfa/totp', undefined, account);
    t.match(await mailbox.next(email, /A way to sign in/), { text: /^The authenticator app was removed/ });
    await ask(app, 'PATCH /auth/me', { email: 'kim@new.example', password: NEXT }, account);
    const asked = await mailbox.next('kim@new.example', /^Confirm your new/);
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(asked).token }, account)).statusCode, 204);
    t.match(await mailbox.next(email, /address was changed/), { text: /kim@new\.example/ }, 'the old address is told');
  });

  await t.test(
    'a sign-in from a network that is known is not told, nor is anything to an address nobody proved',
    async (t) => {
      const from = (username: string, remoteAddress: string) =>
        app.inject({ method: 'POST', url: '/auth/login', payload: { username, password: PASSWORD }, remoteAddress });
      const account = await member('lou');
      const stranger = await signUp(app, 'sly', { email: 'victim@example.org' });
      await mailbox.next('victim@example.org');
      await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, stranger);
      for (const address of ['198.51.100.1', '198.51.100.1', '198.51.100.1']) await from('lou', address);
      await ask(app, 'POST /auth/password', { current: PASSWORD, password: NEXT }, account);
      await mailbox.next('lou@example.org', /password/);
      const to = (address: string, subject: RegExp) =>
        mailbox.letters.filter((one) => one.to?.[0]?.address === address && subject.test(one.subject ?? '')).length;
      await until(() => to('lou@example.org', /^New sign-in/) === 1, 'the first of the three is told');
      await parts.auth.outbox.settled();
      t.equal(to('lou@example.org', /^New sign-in/), 1);
      t.equal(to('victim@example.org', /password/), 0);
    },
  );

  await t.test('of one kind five an hour are told', async (t) => {
    const account = await member('pam');
    let [current, password] = [PASSWORD, NEXT];
    for (let round = 0; round < 7; round++) {
      await ask(app, 'POST /auth/password', { current, password }, account);
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
