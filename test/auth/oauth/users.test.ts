/** Which user a verified identity signs in to, how the user is created, and how identities are linked and unlinked. */
import t from 'tap';
import { setUpFactor } from '../../helpers/mfa/authenticator.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  type Client,
  leadingTo,
  newBrowser,
  newClient,
  outcomeOf,
  person,
  REDIRECT,
  type Reported,
  type SignInFixture,
  signInFixture,
} from '../../helpers/providers/sign-in-fixture.ts';
import { ask, PASSWORD, signIn, signInAdmin, signUp, toUser } from '../../helpers/users.ts';

type Headers = { readonly headers: { readonly authorization: string } };

const RACERS = 20;

/** Links an identity to a signed-in user; returns what the app gets. */
async function joining(
  fixture: SignInFixture,
  name: string,
  as: Headers,
  client: Client = newClient(),
): Promise<Reported> {
  const { challenge: codeChallenge, state } = client;
  const body = { redirect: REDIRECT, codeChallenge, state };
  const { url: address } = (await ask(fixture.app, `POST /auth/identities/${name}`, body, as)).json();
  // The response contains the host of the request; the browser needs the real one.
  const { pathname, search } = new URL(address);
  return outcomeOf(await newBrowser().goto(`${fixture.url}${pathname}${search}`));
}

async function join(fixture: SignInFixture, name: string, as: Headers) {
  const client = newClient();
  const { code } = await joining(fixture, name, as, client);
  return ask(fixture.app, 'POST /auth/identities', { code, codeVerifier: client.verifier }, as);
}

t.test('the first sign-in with a provider', async (t) => {
  const fixture = await signInFixture(t, { MILLRACE_REGISTRATION: 'closed' });
  const liar = await startLyingProvider(t);

  await t.test('a first sign-in creates no user where registration is closed, unless the provider may', async (t) => {
    await fixture.provide(leadingTo('acme', liar));
    person(liar, 'closed');
    t.equal((await fixture.outcome('acme')).error, 'registration-closed');
    await fixture.provide(leadingTo('acme', liar, { register: true, roles: ['member'] }));
    t.match((await fixture.enter('acme')).json(), { user: { email: 'closed@provider.example', roles: ['member'] } });
    await fixture.provide(leadingTo('acme', liar, { register: false }));
    t.equal((await fixture.enter('acme')).statusCode, 200, 'who has an account comes in');
  });

  await t.test('requires the second factor of the user, too', async (t) => {
    await fixture.provide(leadingTo('acme', liar, { register: true }));
    person(liar, 'careful');
    const user = toUser(await fixture.enter('acme'));
    const { code } = await setUpFactor(fixture.app, fixture.services, user);
    const requested = await fixture.enter('acme');
    t.match(requested.json(), { status: 401, code: 'mfa-required', accessToken: undefined });
    const send = { ticket: requested.json().ticket, code: await code() };
    const entered = await ask(fixture.app, 'POST /auth/mfa/login', send);
    t.equal(toUser(entered).id, user.id);
    const { identity } = (await fixture.services.mongo.data
      .collection<{ _id: string; identity?: string }>('_sessions')
      .findOne({ _id: toUser(entered).session })) ?? { identity: '' };
    t.match(identity, /^acme:/, 'the session knows by which identity');
    const { ticket } = (await fixture.enter('acme')).json();
    await fixture.provide(leadingTo('other', liar, { register: true }));
    await join(fixture, 'other', user);
    await ask(fixture.app, 'DELETE /auth/identities/acme', undefined, user);
    const late = await ask(fixture.app, 'POST /auth/mfa/login', { ticket, code: await code() });
    t.match(late.json(), { code: 'invalid-token' }, 'the identity left the account meanwhile');
  });

  await t.test('claims are mapped once, or at each sign-in', async (t) => {
    const mapping = {
      profile: { name: 'name', city: '/address/locality' },
      claims: { tenant: 'tid' },
      roles: { claim: 'groups', values: { eng: ['author'], ops: ['operator'] } },
    };
    await fixture.provide(leadingTo('acme', liar, { register: true, roles: ['member'], mapping }));
    person(liar, 'mapped', { address: { locality: 'London' }, tid: 't-1', groups: ['eng', 'none'] });
    const { user } = (await fixture.enter('acme')).json();
    t.match(user, { profile: { name: 'mapped', city: 'London' }, claims: { tenant: 't-1' } });
    t.strictSame(user.roles, ['member', 'author']);

    person(liar, 'mapped', { name: 'Other', address: { locality: 'Paris' }, tid: 't-2', groups: ['ops'] });
    t.match((await fixture.enter('acme')).json(), { user: { profile: { city: 'London' }, claims: { tenant: 't-1' } } });
    await fixture.provide(leadingTo('acme', liar, { mapping: { ...mapping, when: 'each' } }));
    const again = (await fixture.enter('acme')).json();
    t.match(again.user, { id: user.id, profile: { name: 'Other', city: 'Paris' }, claims: { tenant: 't-2' } });
    t.strictSame(again.user.roles, ['member', 'operator'], 'a role that is no longer given goes; others stay');
  });

  await t.test('one user is created when 20 first sign-ins come at once', async (t) => {
    await fixture.provide(leadingTo('acme', liar, { register: true }));
    person(liar, 'eager');
    const responses = await Promise.all(Array.from({ length: RACERS }, () => fixture.enter('acme')));
    t.strictSame([...new Set(responses.map(({ statusCode }) => statusCode))], [200]);
    t.equal(new Set(responses.map((one) => one.json().user.id)).size, 1);
  });

  await t.test('a sign-in with a provider never grants rights of an administrator', async (t) => {
    const mapping = { roles: { claim: 'groups', values: { all: ['owner', 'manager'] } }, when: 'each' };
    await fixture.provide(leadingTo('acme', liar, { register: true, mapping }));
    person(liar, 'climber', { groups: ['all'] });
    const { accessToken, user } = (await fixture.enter('acme')).json();
    t.equal(user.kind, 'user');
    const as = { headers: { authorization: `Bearer ${accessToken}` } };
    const owner = { kind: 'admin', email: 'made@example.org', password: PASSWORD, roles: ['owner'] };
    t.equal((await ask(fixture.app, 'POST /admin/users', owner, as)).statusCode, 403);
  });
});

t.test('an e-mail address that another user has', async (t) => {
  const fixture = await signInFixture(t);
  const [liar, second] = [await startLyingProvider(t), await startLyingProvider(t)];
  await fixture.provide(leadingTo('acme', liar));
  await fixture.provide(leadingTo('second', second));
  const ada = await signUp(fixture.app, 'ada', { email: 'ada@provider.example' });

  await t.test('is rejected, verified or not, with a hint on how to proceed', async (t) => {
    for (const email_verified of [true, false, 'true']) {
      person(liar, 'ada', { email_verified });
      const reported = await fixture.outcome('acme');
      t.equal(reported.error, 'email-taken');
      t.match(reported.error_description, /sign in with your existing method.*link 'acme'/i);
    }
    person(liar, 'ada', { email: 'ADA@provider.example' });
    t.equal((await fixture.outcome('acme')).error, 'email-taken', 'in any case');
    t.strictSame((await ask(fixture.app, 'GET /auth/identities', undefined, ada)).json(), []);
  });

  await t.test('an identity with the e-mail address of a user is linked by its signed-in user', async (t) => {
    person(liar, 'ada');
    const joined = await join(fixture, 'acme', ada);
    t.equal(joined.statusCode, 201, joined.body);
    t.match(joined.json(), { provider: 'acme', subject: 'ada', linkedAt: /^20/ });
    t.match((await ask(fixture.app, 'GET /auth/identities', undefined, ada)).json(), [{ provider: 'acme' }]);
    t.equal((await fixture.enter('acme')).json().user.id, ada.id);
  });

  await t.test('two providers may sign in to one user, and to no other', async (t) => {
    person(second, 'ada-2', { email: 'ada@provider.example' });
    t.equal((await fixture.outcome('second')).error, 'email-taken');
    t.equal((await join(fixture, 'second', ada)).statusCode, 201);
    t.equal((await fixture.enter('second')).json().user.id, ada.id);
    const grace = await signUp(fixture.app, 'grace');
    t.match((await join(fixture, 'second', grace)).json(), { code: 'identity-taken' });
    person(second, 'ada-3');
    t.match((await join(fixture, 'second', ada)).json(), { code: 'identity-exists' });
  });
});

t.test('linking identities', async (t) => {
  const fixture = await signInFixture(t);
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));
  const [ada, eve] = [await signUp(fixture.app, 'ada'), await signUp(fixture.app, 'eve')];

  await t.test('does not happen when the browser of a victim opens the URL of an attacker', async (t) => {
    person(liar, 'victim');
    const evil = newClient();
    const { code } = await joining(fixture, 'acme', eve, evil);
    // The code is at the app in the browser of the victim, and the verifier is with eve.
    const asVictim = { code, codeVerifier: newClient().verifier };
    t.equal((await ask(fixture.app, 'POST /auth/identities', asVictim, ada)).statusCode, 401);
    t.strictSame((await ask(fixture.app, 'GET /auth/identities', undefined, eve)).json(), []);
    t.strictSame((await ask(fixture.app, 'GET /auth/identities', undefined, ada)).json(), []);
  });

  await t.test('a link request is for the user that started it, once, and is no sign-in', async (t) => {
    person(liar, 'mine');
    const client = newClient();
    const { code } = await joining(fixture, 'acme', ada, client);
    const body = { code, codeVerifier: client.verifier };
    t.equal((await fixture.exchange(code, client.verifier)).statusCode, 401, 'not a session');
    t.equal((await ask(fixture.app, 'POST /auth/identities', body, ada)).statusCode, 201);
    t.equal((await ask(fixture.app, 'POST /auth/identities', body, ada)).statusCode, 401);
    const third = newClient();
    const begun = await joining(fixture, 'acme', ada, third);
    const foreign = { code: begun.code, codeVerifier: third.verifier };
    t.equal((await ask(fixture.app, 'POST /auth/identities', foreign, eve)).statusCode, 401, 'not of another account');
    const other = newClient();
    const signedIn = await fixture.outcome('acme', other);
    const wrong = { code: signedIn.code, codeVerifier: other.verifier };
    t.equal(
      (await ask(fixture.app, 'POST /auth/identities', wrong, eve)).statusCode,
      401,
      'a code of a sign-in joins nothing',
    );
  });

  await t.test('a link request starts with a URL that works once, for its provider and challenge', async (t) => {
    person(liar, 'again');
    const { challenge: codeChallenge } = newClient();
    const body = { redirect: REDIRECT, codeChallenge };
    const { url: address } = (await ask(fixture.app, 'POST /auth/identities/acme', body, eve)).json();
    const { pathname, search } = new URL(address);
    const strange = `${fixture.url}${pathname}${search.replace(codeChallenge, newClient().challenge)}`;
    t.equal(outcomeOf(await newBrowser().goto(strange)).error, 'sign-in-expired');
    t.equal(
      outcomeOf(await newBrowser().goto(`${fixture.url}${pathname}${search}`)).error,
      'sign-in-expired',
      'used up',
    );
    const listed = { ...body, redirect: 'https://attacker.example' };
    t.match((await ask(fixture.app, 'POST /auth/identities/acme', listed, eve)).json(), {
      code: 'redirect-not-allowed',
    });
    t.match((await ask(fixture.app, 'POST /auth/identities/none', body, eve)).json(), { code: 'provider-not-found' });
    t.equal((await ask(fixture.app, 'POST /auth/identities/acme', body)).statusCode, 401);
  });

  await t.test('an administrator may link an identity, and keeps the rights of an administrator', async (t) => {
    const boss = await signInAdmin(fixture.app, fixture.services);
    const mapping = { roles: { claim: 'groups', values: { all: ['author'] } }, when: 'each' };
    await fixture.provide(leadingTo('acme', liar, { mapping }));
    person(liar, 'boss', { groups: ['all'] });
    t.equal((await join(fixture, 'acme', boss)).statusCode, 201);
    const { user } = (await fixture.enter('acme')).json();
    t.match(user, { id: boss.id, kind: 'admin', roles: ['owner'] });
    await fixture.provide(leadingTo('acme', liar));
  });

  await t.test('linking and unlinking identities are events', async (t) => {
    person(liar, 'eventful');
    const grace = await signUp(fixture.app, 'grace');
    await join(fixture, 'acme', grace);
    await ask(fixture.app, 'DELETE /auth/identities/acme', undefined, grace);
    const rows = fixture.services.mongo.data.collection<{ _id: string; type: string }>('_activity');
    const created = await rows
      .find({ 'details.user': grace.id, type: /identity/ })
      .sort({ _id: 1 })
      .toArray();
    t.match(created, [
      { type: 'system.identity.linked', details: { provider: 'acme', subject: 'eventful' } },
      { type: 'system.identity.unlinked', details: { provider: 'acme', subject: 'eventful' } },
    ]);
  });
});

t.test('the last way to sign in', async (t) => {
  const fixture = await signInFixture(t);
  const [one, two] = [await startLyingProvider(t), await startLyingProvider(t)];
  await fixture.provide(leadingTo('one', one));
  await fixture.provide(leadingTo('two', two));
  const enter = async (sub: string) => {
    person(one, sub);
    const { accessToken, user } = (await fixture.enter('one')).json();
    return { id: String(user.id), headers: { authorization: `Bearer ${accessToken}` } };
  };
  const remove = (name: string, as: Headers) => ask(fixture.app, `DELETE /auth/identities/${name}`, undefined, as);

  await t.test('the last way to sign in is not removed', async (t) => {
    const ada = await enter('ada');
    t.match((await remove('one', ada)).json(), { code: 'last-sign-in-method', hint: /reset/ });
    t.equal((await fixture.enter('one')).statusCode, 200);
    t.equal((await remove('two', ada)).statusCode, 404);
  });

  await t.test('the last way to sign in is not removed by two requests at once', async (t) => {
    for (let time = 0; time < 10; time++) {
      const ada = await enter(`racer-${time}`);
      person(two, `racer-${time}`, { email: `other-${time}@provider.example` });
      t.equal((await join(fixture, 'two', ada)).statusCode, 201);
      const responses = await Promise.all([remove('one', ada), remove('two', ada)]);
      t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [204, 409]);
    }
  });

  await t.test('an identity of an unusable provider does not count as a way to sign in', async (t) => {
    const ada = await enter('stranded');
    person(two, 'stranded', { email: 'stranded-2@provider.example' });
    await join(fixture, 'two', ada);
    await fixture.provide(leadingTo('two', two, { enabled: false }));
    t.match((await remove('one', ada)).json(), { code: 'last-sign-in-method' });
    await fixture.provide(leadingTo('two', two));
    t.equal((await remove('one', ada)).statusCode, 204);
  });

  await t.test('a password may be the last way to sign in', async (t) => {
    const grace = await signUp(fixture.app, 'grace');
    person(one, 'grace');
    await join(fixture, 'one', grace);
    t.equal((await remove('one', grace)).statusCode, 204);
    t.equal((await signIn(fixture.app, 'grace')).id, grace.id);
  });
});
