/** E-mails verify an address and set a new password, once, and reveal nothing to unauthenticated clients. */
import t from 'tap';
import { createConsoleMailer } from '../../../src/email/services.ts';
import { createSmtpMailer } from '../../../src/email/smtp-mailer.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signUp } from '../../helpers/users.ts';
import { mailSuite } from '../../suites/mail.ts';

/** How often an e-mail address is verified while the name changes. */
const ROUNDS = runCount(8, 30);

t.test('the SMTP mailer', async (t) => {
  const smtp = await testSmtp(t);
  await mailSuite(t, createSmtpMailer(smtp.url, 'millrace@example.org'), smtp.received);
});

t.test('an e-mail that no server accepts is reported as such', async (t) => {
  const mail = createSmtpMailer('smtp://ada:secret@127.0.0.1:1', 'millrace@example.org');
  t.teardown(() => mail.close());
  const sent = mail.send({ to: 'ada@example.org', subject: 'Hello', text: 'https://example.org/reset#token' });
  const error = await sent.catch((failure: unknown) => failure);
  t.match(error, { message: /cannot be reached/, isFinal: false, cause: { code: 'ESOCKET' } });
  t.notMatch(JSON.stringify([error, error instanceof Error && error.cause]), /secret|token/);
});

t.test('the console mailer', async (t) => {
  let printed = '';
  const mail = createConsoleMailer((text) => {
    printed += text;
  });
  await mailSuite(t, mail, () => printed);
});

t.test('e-mails of sign-in', async (t) => {
  const smtp = await testSmtp(t);
  const settings = { MILLRACE_SMTP_URL: smtp.url, MILLRACE_PUBLIC_URL: 'https://app.example.org' };
  const { app, services } = await buildTestApp(t, settings);
  let seen = 0;
  /** The secret of the next e-mail that arrives. */
  const secret = async (path: 'verify' | 'reset') => {
    const links = () => smtp.found(/https:\/\/app\.example\.org\/(verify|reset)#([\w-]{43})/g);
    await until(() => links().length > seen, 'a letter arrives');
    const [, kind, token = ''] = links()[seen] ?? [];
    seen += 1;
    t.equal(kind, path);
    return token;
  };

  await t.test('an e-mail verifies an address, once', async (t) => {
    const user = await signUp(app, 'ada', { email: 'ada@example.org' });
    const token = await secret('verify');
    const verified = async () => (await ask(app, 'GET /auth/me', undefined, user)).json().emailVerified;
    t.equal(await verified(), false);
    t.equal((await ask(app, 'POST /auth/verify', { token }, user)).statusCode, 204);
    t.equal(await verified(), true);
    t.match((await ask(app, 'POST /auth/verify', { token })).json(), { status: 410, code: 'link-expired' });
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: PASSWORD })).statusCode, 410);
  });

  await t.test('a new e-mail address needs the password, and counts after the link in its e-mail', async (t) => {
    const user = await signIn(app, 'ada');
    const change = (body: object) => ask(app, 'PATCH /auth/me', body, user);
    t.match((await change({ email: 'ada@new.example' })).json(), { code: 'invalid-credentials' });
    const requested = await change({ email: 'ada@new.example', password: PASSWORD });
    t.match(requested.json(), { email: 'ada@example.org' }, 'not yet');
    await ask(app, 'POST /auth/verify', { token: await secret('verify') }, user);
    t.match((await ask(app, 'GET /auth/me', undefined, user)).json(), {
      email: 'ada@new.example',
      emailVerified: true,
    });
  });

  await t.test(
    'an e-mail verifies an address while the name changes, and neither change loses the other',
    async (t) => {
      for (let round = 0; round < ROUNDS; round++) {
        const email = `proved-${round}@example.org`;
        const user = await signUp(app, `first-${round}`);
        await ask(app, 'PATCH /auth/me', { email, password: PASSWORD }, user);
        const token = await secret('verify');
        const rename = (end: string) => ask(app, 'PATCH /auth/me', { username: `${end}-${round}` }, user);
        const responses = await Promise.all([rename('a'), ask(app, 'POST /auth/verify', { token }, user), rename('b')]);
        t.strictSame(
          responses.map(({ statusCode }) => statusCode),
          [200, 204, 200],
        );
        const { username } = (await ask(app, 'GET /auth/me', undefined, user)).json();
        t.strictSame((await services.auth.users.get(user.id)).names, [username, email], `round ${round}`);
        for (const name of [username, email]) t.equal((await signIn(app, name)).id, user.id);
        const other = await ask(app, 'POST /auth/register', { username: `other-${round}`, email, password: PASSWORD });
        t.match(other.json(), { status: 409, code: 'email-taken' });
      }
    },
  );

  await t.test('an e-mail sets a new password, once, and ends every session', async (t) => {
    const user = await signIn(app, 'ada');
    const requested = await ask(app, 'POST /auth/reset', { email: 'ADA@new.example' });
    t.equal(requested.statusCode, 202);
    t.equal(requested.body, '');
    const token = await secret('reset');
    const weak = await ask(app, 'POST /auth/reset/confirm', { token, password: 'password1' });
    t.match(weak.json(), { code: 'weak-password' }, 'the token is not used up by a refused password');
    const named = await ask(app, 'POST /auth/reset/confirm', { token, password: 'ada@new.example' });
    t.match(named.json(), { code: 'weak-password' }, 'nor by one that is the name of the account');
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: 'a quite new sentence' })).statusCode, 204);
    t.equal((await ask(app, 'GET /auth/me', undefined, user)).statusCode, 401);
    t.equal((await ask(app, 'POST /auth/refresh', { refreshToken: user.refreshToken })).statusCode, 401);
    t.ok(await signIn(app, 'ada', 'a quite new sentence'));
    t.equal((await ask(app, 'POST /auth/reset/confirm', { token, password: PASSWORD })).statusCode, 410);
  });

  await t.test('repeated requests for a user keep its earlier e-mails valid; using one ends the others', async (t) => {
    await signUp(app, 'hedy', { email: 'hedy@example.org' });
    await secret('verify');
    const tokens: string[] = [];
    for (let minute = 0; minute < 3; minute++) {
      await ask(app, 'POST /auth/reset', { email: 'hedy@example.org' });
      tokens.push(await secret('reset'));
      await services.mongo.log.collection('one_time_tokens').deleteMany({ purpose: 'held' });
    }
    const use = async (token = '') =>
      (await ask(app, 'POST /auth/reset/confirm', { token, password: 'a quite new sentence' })).statusCode;
    t.equal(await use(tokens[0]), 204);
    t.strictSame([await use(tokens[0]), await use(tokens[1]), await use(tokens[2])], [410, 410, 410]);
  });

  await t.test('of 50 requests with one link, one succeeds', async (t) => {
    await signUp(app, 'grace', { email: 'grace@example.org' });
    await secret('verify');
    await ask(app, 'POST /auth/reset', { email: 'grace@example.org' });
    const token = await secret('reset');
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        ask(app, 'POST /auth/reset/confirm', { token, password: `sentence number ${n}` }),
      ),
    );
    const codes = responses.map(({ statusCode }) => statusCode);
    t.equal(codes.filter((code) => code === 204).length, 1);
    t.equal(codes.filter((code) => code === 410).length, 49);
  });

  await t.test('a reset reveals nothing to anonymous clients, and its e-mails are limited', async (t) => {
    const resets = () => smtp.found(/\/reset#[\w-]{43}/g).length;
    const before = resets();
    for (const email of ['nobody@example.org', 'grace@example.org', 'grace@example.org']) {
      const response = await ask(app, 'POST /auth/reset', { email });
      t.equal(`${response.statusCode} ${response.body}`, '202 ');
    }
    await services.auth.email.outbox.settled();
    t.equal(resets(), before, 'no address, and another letter within the minute');
  });
});
