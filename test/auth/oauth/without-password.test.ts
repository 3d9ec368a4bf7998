/** Users that sign in only with providers: the responses of the routes for passwords, and how they get one. */
import t from 'tap';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, person, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn } from '../../helpers/users.ts';

t.test('a user without a password', async (t) => {
  const smtp = await testSmtp(t);
  const fixture = await signInFixture(t, { MILLRACE_SMTP_URL: smtp.url, MILLRACE_EMAIL_FROM: 'millrace@example.org' });
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));
  person(liar, 'ada');
  const { accessToken, user } = (await fixture.enter('acme')).json();
  const as = { headers: { authorization: `Bearer ${accessToken}` } };

  await t.test(
    'a user without a password gets a clear error where one is required, and no password signs in',
    async (t) => {
      const change = await ask(
        fixture.app,
        'POST /auth/password',
        { current: PASSWORD, password: `${PASSWORD} again` },
        as,
      );
      t.match(change.json(), { code: 'invalid-credentials', detail: /no password/, hint: /reset/ });
      const address = await ask(fixture.app, 'PATCH /auth/me', { email: 'new@example.org', password: PASSWORD }, as);
      t.match(address.json(), { code: 'invalid-credentials', detail: /no password/ });
      const login = await ask(fixture.app, 'POST /auth/login', {
        username: 'ada@provider.example',
        password: PASSWORD,
      });
      t.equal(login.statusCode, 401);
      const named = await ask(fixture.app, 'POST /auth/login', { username: `id:${user.id}`, password: PASSWORD });
      t.equal(named.statusCode, 401);
    },
  );

  await t.test('a user without a password gets one by e-mail, and then both ways sign in', async (t) => {
    await ask(fixture.app, 'POST /auth/reset', { email: 'ada@provider.example' });
    const link = () => /\/reset#([\w-]{43})/.exec(smtp.received())?.[1];
    await until(() => link() !== undefined, 'a letter arrives');
    const body = { token: link(), password: PASSWORD };
    t.equal((await ask(fixture.app, 'POST /auth/reset/confirm', body)).statusCode, 204);
    t.equal((await signIn(fixture.app, 'ada@provider.example')).id, user.id);
    const again = (await fixture.enter('acme')).json();
    t.equal(again.user.id, user.id);
    const now = { headers: { authorization: `Bearer ${again.accessToken}` } };
    t.equal((await ask(fixture.app, 'DELETE /auth/identities/acme', undefined, now)).statusCode, 204);
  });

  await t.test('several users may have neither a password nor a name', async (t) => {
    person(liar, 'nameless-1', { email: undefined });
    const first = (await fixture.enter('acme')).json();
    person(liar, 'nameless-2', { email: 'no address' });
    const second = (await fixture.enter('acme')).json();
    t.match(
      [first.user, second.user],
      [
        { email: null, username: null },
        { email: null, username: null },
      ],
    );
    t.not(first.user.id, second.user.id);
    const named = { headers: { authorization: `Bearer ${first.accessToken}` } };
    t.equal((await ask(fixture.app, 'PATCH /auth/me', { username: 'chosen' }, named)).statusCode, 200);
  });
});
