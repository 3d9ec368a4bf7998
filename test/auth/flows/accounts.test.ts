/** Which account a proved identity signs in to, what it is made with, and how identities join and leave accounts. */
import t from 'tap';
import { ask, PASSWORD, signIn, signInOwner, signUp, toAccount } from '../../helpers/accounts.ts';
import { setUpFactor } from '../../helpers/factors/authenticator.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  type Client,
  leadingTo,
  newBrowser,
  newClient,
  outcomeOf,
  person,
  REDIRECT,
  type SignInWorld,
  signInWorld,
  type Told,
} from '../../helpers/providers/sign-in-world.ts';

type Headers = { readonly headers: { readonly authorization: string } };

const RACERS = 20;

/** Goes through a flow that joins, for a signed-in user; what the app is told. */
async function joining(world: SignInWorld, name: string, as: Headers, client: Client = newClient()): Promise<Told> {
  const { challenge: codeChallenge, state } = client;
  const body = { redirect: REDIRECT, codeChallenge, state };
  const { address } = (await ask(world.app, `POST /auth/identities/${name}`, body, as)).json();
  // The answer names the server as the request did; the browser reaches it where it listens.
  const { pathname, search } = new URL(address);
  return outcomeOf(await newBrowser().goto(`${world.url}${pathname}${search}`));
}

async function join(world: SignInWorld, name: string, as: Headers) {
  const client = newClient();
  const { code } = await joining(world, name, as, client);
  return ask(world.app, 'POST /auth/identities', { code, codeVerifier: client.verifier }, as);
}

t.test('the first sign-in', async (t) => {
  const world = await signInWorld(t, { MILLRACE_REGISTRATION: 'closed' });
  const liar = await startLyingProvider(t);

  await t.test('makes no account where registration is closed, unless the provider may', async (t) => {
    await world.provide(leadingTo('acme', liar));
    person(liar, 'closed');
    t.equal((await world.outcome('acme')).error, 'registration-closed');
    await world.provide(leadingTo('acme', liar, { register: true, roles: ['member'] }));
    t.match((await world.enter('acme')).json(), { user: { email: 'closed@provider.example', roles: ['member'] } });
    await world.provide(leadingTo('acme', liar, { register: false }));
    t.equal((await world.enter('acme')).statusCode, 200, 'who has an account comes in');
  });

  await t.test('asks for the second factor of the account, too', async (t) => {
    await world.provide(leadingTo('acme', liar, { register: true }));
    person(liar, 'careful');
    const account = toAccount(await world.enter('acme'));
    const { code } = await setUpFactor(world.app, world.parts, account);
    const asked = await world.enter('acme');
    t.match(asked.json(), { status: 401, code: 'mfa-required', accessToken: undefined });
    const send = { ticket: asked.json().ticket, code: await code() };
    const entered = await ask(world.app, 'POST /auth/mfa/login', send);
    t.equal(toAccount(entered).id, account.id);
    const { identity } = (await world.parts.mongo.data
      .collection<{ _id: string; identity?: string }>('_sessions')
      .findOne({ _id: toAccount(entered).session })) ?? { identity: '' };
    t.match(identity, /^acme:/, 'the session knows by which identity');
    const { ticket } = (await world.enter('acme')).json();
    await world.provide(leadingTo('other', liar, { register: true }));
    await join(world, 'other', account);
    await ask(world.app, 'DELETE /auth/identities/acme', undefined, account);
    const late = await ask(world.app, 'POST /auth/mfa/login', { ticket, code: await code() });
    t.match(late.json(), { code: 'invalid-credential' }, 'the identity left the account meanwhile');
  });

  await t.test('maps claims once, or each time', async (t) => {
    const mapping = {
      profile: { name: 'name', city: '/address/locality' },
      claims: { tenant: 'tid' },
      roles: { claim: 'groups', values: { eng: ['author'], ops: ['operator'] } },
    };
    await world.provide(leadingTo('acme', liar, { register: true, roles: ['member'], mapping }));
    person(liar, 'mapped', { address: { locality: 'London' }, tid: 't-1', groups: ['eng', 'none'] });
    const { user } = (await world.enter('acme')).json();
    t.match(user, { profile: { name: 'mapped', city: 'London' }, claims: { tenant: 't-1' } });
    t.strictSame(user.roles, ['member', 'author']);

    person(liar, 'mapped', { name: 'Other', address: { locality: 'Paris' }, tid: 't-2', groups: ['ops'] });
    t.match((await world.enter('acme')).json(), { user: { profile: { city: 'London' }, claims: { tenant: 't-1' } } });
    await world.provide(leadingTo('acme', liar, { mapping: { ...mapping, when: 'each' } }));
    const again = (await world.enter('acme')).json();
    t.match(again.user, { id: user.id, profile: { name: 'Other', city: 'Paris' }, claims: { tenant: 't-2' } });
    t.strictSame(again.user.roles, ['member', 'operator'], 'a role that is no longer given goes; others stay');
  });

  await t.test('makes one account when 20 come at once', async (t) => {
    await world.provide(leadingTo('acme', liar, { register: true }));
    person(liar, 'eager');
    const answers = await Promise.all(Array.from({ length: RACERS }, () => world.enter('acme')));
    t.strictSame([...new Set(answers.map(({ statusCode }) => statusCode))], [200]);
    t.equal(new Set(answers.map((one) => one.json().user.id)).size, 1);
  });

  await t.test('gives nobody rights of an owner', async (t) => {
    const mapping = { roles: { claim: 'groups', values: { all: ['owner', 'admin'] } }, when: 'each' };
    await world.provide(leadingTo('acme', liar, { register: true, mapping }));
    person(liar, 'climber', { groups: ['all'] });
    const { accessToken, user } = (await world.enter('acme')).json();
    t.equal(user.kind, 'user');
    const as = { headers: { authorization: `Bearer ${accessToken}` } };
    const owner = { kind: 'owner', email: 'made@example.org', password: PASSWORD, roles: ['owner'] };
    t.equal((await ask(world.app, 'POST /admin/users', owner, as)).statusCode, 403);
  });
});

t.test('an address that another account has', async (t) => {
  const world = await signInWorld(t);
  const [liar, second] = [await startLyingProvider(t), await startLyingProvider(t)];
  await world.provide(leadingTo('acme', liar));
  await world.provide(leadingTo('second', second));
  const ada = await signUp(world.app, 'ada', { email: 'ada@provider.example' });

  await t.test('is refused, verified or not, with words on what to do', async (t) => {
    for (const email_verified of [true, false, 'true']) {
      person(liar, 'ada', { email_verified });
      const told = await world.outcome('acme');
      t.equal(told.error, 'account-exists');
      t.match(told.error_description, /sign in to it .*join 'acme'/i);
    }
    person(liar, 'ada', { email: 'ADA@provider.example' });
    t.equal((await world.outcome('acme')).error, 'account-exists', 'in any case');
    t.strictSame((await ask(world.app, 'GET /auth/identities', undefined, ada)).json(), []);
  });

  await t.test('is joined by its signed-in user', async (t) => {
    person(liar, 'ada');
    const joined = await join(world, 'acme', ada);
    t.equal(joined.statusCode, 201, joined.body);
    t.match(joined.json(), { provider: 'acme', subject: 'ada', joinedAt: /^20/ });
    t.match((await ask(world.app, 'GET /auth/identities', undefined, ada)).json(), [{ provider: 'acme' }]);
    t.equal((await world.enter('acme')).json().user.id, ada.id);
  });

  await t.test('two providers may vouch for one account, and for no other', async (t) => {
    person(second, 'ada-2', { email: 'ada@provider.example' });
    t.equal((await world.outcome('second')).error, 'account-exists');
    t.equal((await join(world, 'second', ada)).statusCode, 201);
    t.equal((await world.enter('second')).json().user.id, ada.id);
    const grace = await signUp(world.app, 'grace');
    t.match((await join(world, 'second', grace)).json(), { code: 'identity-taken' });
    person(second, 'ada-3');
    t.match((await join(world, 'second', ada)).json(), { code: 'identity-exists' });
  });
});

t.test('joining', async (t) => {
  const world = await signInWorld(t);
  const liar = await startLyingProvider(t);
  await world.provide(leadingTo('acme', liar));
  const [ada, eve] = [await signUp(world.app, 'ada'), await signUp(world.app, 'eve')];

  await t.test("does not happen when a victim's browser opens the address of somebody else", async (t) => {
    person(liar, 'victim');
    const evil = newClient();
    const { code } = await joining(world, 'acme', eve, evil);
    // The code is at the app in the browser of the victim, and the verifier is with eve.
    const asVictim = { code, codeVerifier: newClient().verifier };
    t.equal((await ask(world.app, 'POST /auth/identities', asVictim, ada)).statusCode, 401);
    t.strictSame((await ask(world.app, 'GET /auth/identities', undefined, eve)).json(), []);
    t.strictSame((await ask(world.app, 'GET /auth/identities', undefined, ada)).json(), []);
  });

  await t.test('is for the account that began it, once, and is no sign-in', async (t) => {
    person(liar, 'mine');
    const client = newClient();
    const { code } = await joining(world, 'acme', ada, client);
    const body = { code, codeVerifier: client.verifier };
    t.equal((await world.exchange(code, client.verifier)).statusCode, 401, 'not a session');
    t.equal((await ask(world.app, 'POST /auth/identities', body, ada)).statusCode, 201);
    t.equal((await ask(world.app, 'POST /auth/identities', body, ada)).statusCode, 401);
    const third = newClient();
    const begun = await joining(world, 'acme', ada, third);
    const foreign = { code: begun.code, codeVerifier: third.verifier };
    t.equal((await ask(world.app, 'POST /auth/identities', foreign, eve)).statusCode, 401, 'not of another account');
    const other = newClient();
    const signedIn = await world.outcome('acme', other);
    const wrong = { code: signedIn.code, codeVerifier: other.verifier };
    t.equal(
      (await ask(world.app, 'POST /auth/identities', wrong, eve)).statusCode,
      401,
      'a code of a sign-in joins nothing',
    );
  });

  await t.test('begins with an address that works once, for its provider and challenge', async (t) => {
    person(liar, 'again');
    const { challenge: codeChallenge } = newClient();
    const body = { redirect: REDIRECT, codeChallenge };
    const { address } = (await ask(world.app, 'POST /auth/identities/acme', body, eve)).json();
    const { pathname, search } = new URL(address);
    const strange = `${world.url}${pathname}${search.replace(codeChallenge, newClient().challenge)}`;
    t.equal(outcomeOf(await newBrowser().goto(strange)).error, 'flow-unusable');
    t.equal(outcomeOf(await newBrowser().goto(`${world.url}${pathname}${search}`)).error, 'flow-unusable', 'used up');
    const listed = { ...body, redirect: 'https://attacker.example' };
    t.match((await ask(world.app, 'POST /auth/identities/acme', listed, eve)).json(), { code: 'redirect-not-allowed' });
    t.match((await ask(world.app, 'POST /auth/identities/none', body, eve)).json(), { code: 'provider-not-found' });
    t.equal((await ask(world.app, 'POST /auth/identities/acme', body)).statusCode, 401);
  });

  await t.test('an owner may, and keeps the rights of an owner', async (t) => {
    const boss = await signInOwner(world.app, world.parts);
    const mapping = { roles: { claim: 'groups', values: { all: ['author'] } }, when: 'each' };
    await world.provide(leadingTo('acme', liar, { mapping }));
    person(liar, 'boss', { groups: ['all'] });
    t.equal((await join(world, 'acme', boss)).statusCode, 201);
    const { user } = (await world.enter('acme')).json();
    t.match(user, { id: boss.id, kind: 'owner', roles: ['owner'] });
    await world.provide(leadingTo('acme', liar));
  });

  await t.test('and leaving are events', async (t) => {
    person(liar, 'eventful');
    const grace = await signUp(world.app, 'grace');
    await join(world, 'acme', grace);
    await ask(world.app, 'DELETE /auth/identities/acme', undefined, grace);
    const rows = world.parts.mongo.data.collection<{ _id: string; type: string }>('_activity');
    const made = await rows
      .find({ 'details.user': grace.id, type: /identity/ })
      .sort({ _id: 1 })
      .toArray();
    t.match(made, [
      { type: 'system.identity.joined', details: { provider: 'acme', subject: 'eventful' } },
      { type: 'system.identity.removed', details: { provider: 'acme', subject: 'eventful' } },
    ]);
  });
});

t.test('the last way in', async (t) => {
  const world = await signInWorld(t);
  const [one, two] = [await startLyingProvider(t), await startLyingProvider(t)];
  await world.provide(leadingTo('one', one));
  await world.provide(leadingTo('two', two));
  const enter = async (sub: string) => {
    person(one, sub);
    const { accessToken, user } = (await world.enter('one')).json();
    return { id: String(user.id), headers: { authorization: `Bearer ${accessToken}` } };
  };
  const remove = (name: string, as: Headers) => ask(world.app, `DELETE /auth/identities/${name}`, undefined, as);

  await t.test('is not removed', async (t) => {
    const ada = await enter('ada');
    t.match((await remove('one', ada)).json(), { code: 'last-way-in', hint: /reset/ });
    t.equal((await world.enter('one')).statusCode, 200);
    t.equal((await remove('two', ada)).statusCode, 404);
  });

  await t.test('is not removed by two requests at once', async (t) => {
    for (let time = 0; time < 10; time++) {
      const ada = await enter(`racer-${time}`);
      person(two, `racer-${time}`, { email: `other-${time}@provider.example` });
      t.equal((await join(world, 'two', ada)).statusCode, 201);
      const answers = await Promise.all([remove('one', ada), remove('two', ada)]);
      t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [204, 409]);
    }
  });

  await t.test('is not an identity of a provider that nobody can use', async (t) => {
    const ada = await enter('stranded');
    person(two, 'stranded', { email: 'stranded-2@provider.example' });
    await join(world, 'two', ada);
    await world.provide(leadingTo('two', two, { enabled: false }));
    t.match((await remove('one', ada)).json(), { code: 'last-way-in' });
    await world.provide(leadingTo('two', two));
    t.equal((await remove('one', ada)).statusCode, 204);
  });

  await t.test('may be a password', async (t) => {
    const grace = await signUp(world.app, 'grace');
    person(one, 'grace');
    await join(world, 'one', grace);
    t.equal((await remove('one', grace)).statusCode, 204);
    t.equal((await signIn(world.app, 'grace')).id, grace.id);
  });
});
