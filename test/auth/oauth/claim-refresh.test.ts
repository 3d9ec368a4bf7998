/** Claims are read again when a session is renewed, where the mapping says so: rights follow the provider. */
import t, { type Test } from 'tap';
import { ProviderTokenVault } from '../../../src/auth/providers/provider-tokens.ts';
import { Encryption } from '../../../src/lib/encryption.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { newBrowser, newClient, outcomeOf, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { ask } from '../../helpers/users.ts';

const mapping = { when: 'renewal', roles: { claim: 'groups', values: { eng: ['author'] } }, profile: { name: 'name' } };
const ADA = { email: 'ada@example.org', email_verified: true, name: 'Ada', groups: ['eng'], hd: 'example.org' };

async function fixtureOf(t: Test, more: object = {}) {
  const fixture = await signInFixture(t);
  const { app, services, url } = fixture;
  const { people, issuer, clientId, clientSecret, signIn } = await startOpenIdProvider(t, {
    redirectUris: [`${url}/auth/providers/acme/callback`],
    config: { issueRefreshToken: async () => true },
  });
  people.set('ada', ADA);
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, mapping, register: true, ...more };
  await fixture.provide({ ...acme, storeTokens: true });
  const client = newClient();
  const browser = newBrowser();
  const page = await signIn(browser, await browser.goto(fixture.beginning('acme', client)), 'ada');
  let session = (await fixture.exchange(outcomeOf(page)['code'], client.verifier)).json();
  /**
   * Renews the session as a client does, and waits until the provider got the request; returns the status of reading
   * the own user.
   */
  const renew = async () => {
    const { refreshToken } = session;
    session = (await ask(app, 'POST /auth/refresh', { refreshToken })).json();
    await services.oauth.claimRenewals.settled();
    return me();
  };
  const me = async () => {
    const response = await ask(app, 'GET /auth/me', undefined, {
      headers: { authorization: `Bearer ${session.accessToken}` },
    });
    return response.statusCode === 200 ? response.json() : response.statusCode;
  };
  /** As if a minute had passed. */
  const later = () => services.mongo.log.collection<{ _id: string }>('one_time_tokens').deleteMany({ _id: /^held:/ });
  const kept = new ProviderTokenVault(services.mongo, new Encryption([]));
  return { fixture, people, issuer, acme, renew, me, later, tokens: () => kept.find('acme:ada') };
}

t.test('roles and profile follow the provider, once a minute', async (t) => {
  const { people, renew, me, later, tokens } = await fixtureOf(t);
  t.match(await me(), { roles: ['author'], profile: { name: 'Ada' } });
  const first = await tokens();
  t.type(first?.refreshToken, 'string');
  people.set('ada', { ...ADA, name: 'Ada L.', groups: [] });
  t.match(await renew(), { roles: [], profile: { name: 'Ada L.' } });
  const second = await tokens();
  t.not(second?.refreshToken, first?.refreshToken, 'a refresh token that works once is replaced');
  people.set('ada', ADA);
  t.match(await renew(), { roles: [] }, 'not within a minute');
  await later();
  t.match(await renew(), { roles: ['author'] });
});

t.test('a user that the provider or the restriction no longer admits is signed out', async (t) => {
  await t.test('a user that the provider no longer admits is signed out', async (t) => {
    const { people, renew, me } = await fixtureOf(t);
    t.match(await me(), { roles: ['author'] });
    people.delete('ada');
    t.equal(await renew(), 401);
  });
  await t.test('a user that the restriction no longer admits is signed out', async (t) => {
    const { people, renew, me } = await fixtureOf(t, { require: { hd: 'example.org' } });
    t.match(await me(), { roles: ['author'] });
    people.set('ada', { ...ADA, hd: 'elsewhere.example' });
    t.equal(await renew(), 401);
  });
});

t.test('an unreachable provider changes nothing, and one without refresh gets no request', async (t) => {
  const { fixture, people, acme, renew, later, tokens } = await fixtureOf(t);
  people.set('ada', { ...ADA, groups: [] });
  const token = 'http://127.0.0.1:1025/token';
  const moved = { ...acme, endpoints: { token } };
  await fixture.provide({ ...moved, storeTokens: true });
  t.match(await renew(), { roles: ['author'] }, 'nothing listens there');
  await fixture.provide({ ...acme, storeTokens: true, enabled: false });
  await later();
  t.match(await renew(), { roles: ['author'] }, 'it is disabled');
  await fixture.provide({ ...acme, storeTokens: true, mapping: { ...mapping, when: 'each' } });
  await later();
  t.match(await renew(), { roles: ['author'] }, 'the mapping does not say so');
  await fixture.provide({ ...acme, storeTokens: true });
  await later();
  t.match(await renew(), { roles: [] });
  t.ok(await tokens());
});
