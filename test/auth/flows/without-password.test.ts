/** Accounts that sign in by providers alone: what the routes for passwords say, and how they get one. */
import t from 'tap';
import { ask, PASSWORD, signIn } from '../../helpers/accounts.ts';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, person, signInWorld } from '../../helpers/providers/sign-in-world.ts';
import { until } from '../../helpers/until.ts';

t.test('an account without a password', async (t) => {
  const smtp = await testSmtp(t);
  const world = await signInWorld(t, { MILLRACE_SMTP_URL: smtp.url, MILLRACE_MAIL_FROM: 'millrace@example.org' });
  const liar = await startLyingProvider(t);
  await world.provide(leadingTo('acme', liar));
  person(liar, 'ada');
  const { accessToken, user } = (await world.enter('acme')).json();
  const as = { headers: { authorization: `Bearer ${accessToken}` } };

  await t.test('is told so where a password is asked, and cannot be signed in to by one', async (t) => {
    const change = await ask(
      world.app,
      'POST /auth/password',
      { current: PASSWORD, password: `${PASSWORD} again` },
      as,
    );
    t.match(change.json(), { code: 'sign-in-failed', detail: /no password/, hint: /reset/ });
    const address = await ask(world.app, 'PATCH /auth/me', { email: 'new@example.org', password: PASSWORD }, as);
    t.match(address.json(), { code: 'sign-in-failed', detail: /no password/ });
    const login = await ask(world.app, 'POST /auth/login', { username: 'ada@provider.example', password: PASSWORD });
    t.equal(login.statusCode, 401);
    const named = await ask(world.app, 'POST /auth/login', { username: `id:${user.id}`, password: PASSWORD });
    t.equal(named.statusCode, 401);
  });

  await t.test('gets one by a letter, and then both ways lead to it', async (t) => {
    await ask(world.app, 'POST /auth/reset', { email: 'ada@provider.example' });
    const link = () => /\/reset#([\w-]{43})/.exec(smtp.received())?.[1];
    await until(() => link() !== undefined, 'a letter arrives');
    const body = { token: link(), password: PASSWORD };
    t.equal((await ask(world.app, 'POST /auth/reset/confirm', body)).statusCode, 204);
    t.equal((await signIn(world.app, 'ada@provider.example')).id, user.id);
    const again = (await world.enter('acme')).json();
    t.equal(again.user.id, user.id);
    const now = { headers: { authorization: `Bearer ${again.accessToken}` } };
    t.equal((await ask(world.app, 'DELETE /auth/identities/acme', undefined, now)).statusCode, 204);
  });

  await t.test('and without any name is one of many', async (t) => {
    person(liar, 'nameless-1', { email: undefined });
    const first = (await world.enter('acme')).json();
    person(liar, 'nameless-2', { email: 'no address' });
    const second = (await world.enter('acme')).json();
    t.match(
      [first.user, second.user],
      [
        { email: null, username: null },
        { email: null, username: null },
      ],
    );
    t.not(first.user.id, second.user.id);
    const named = { headers: { authorization: `Bearer ${first.accessToken}` } };
    t.equal((await ask(world.app, 'PATCH /auth/me', { username: 'chosen' }, named)).statusCode, 200);
  });
});
