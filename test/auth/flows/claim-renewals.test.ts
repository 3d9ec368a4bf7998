/** Claims are asked again when a session is renewed, where the mapping says so: rights follow the provider. */
import t, { type Test } from 'tap';
import { KeptTokens } from '../../../src/auth/providers/kept-tokens.ts';
import { Sealer } from '../../../src/kernel/sealer.ts';
import { ask } from '../../helpers/accounts.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { newBrowser, newClient, outcomeOf, signInWorld } from '../../helpers/providers/sign-in-world.ts';

const mapping = { when: 'renewal', roles: { claim: 'groups', values: { eng: ['author'] } }, profile: { name: 'name' } };
const ADA = { email: 'ada@example.org', email_verified: true, name: 'Ada', groups: ['eng'], hd: 'example.org' };

async function worldOf(t: Test, more: object = {}) {
  const world = await signInWorld(t);
  const { app, parts, url } = world;
  const { people, issuer, clientId, clientSecret, signIn } = await startOpenIdProvider(t, {
    redirectUris: [`${url}/auth/acme/callback`],
    config: { issueRefreshToken: async () => true },
  });
  people.set('ada', ADA);
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, mapping, register: true, ...more };
  await world.provide({ ...acme, keepTokens: true });
  const client = newClient();
  const browser = newBrowser();
  const page = await signIn(browser, await browser.goto(world.beginning('acme', client)), 'ada');
  let session = (await world.exchange(outcomeOf(page)['code'], client.verifier)).json();
  /** Renews the session as a client does, and waits until the provider was asked; the status of asking who it is. */
  const renew = async () => {
    const { refreshToken } = session;
    session = (await ask(app, 'POST /auth/refresh', { refreshToken })).json();
    await parts.byProviders.claimRenewals.settled();
    return me();
  };
  const me = async () => {
    const answer = await ask(app, 'GET /auth/me', undefined, {
      headers: { authorization: `Bearer ${session.accessToken}` },
    });
    return answer.statusCode === 200 ? answer.json() : answer.statusCode;
  };
  /** As if a minute had passed. */
  const later = () => parts.mongo.log.collection<{ _id: string }>('single_use').deleteMany({ _id: /^held:/ });
  const kept = new KeptTokens(parts.mongo, new Sealer([]));
  return { world, people, issuer, acme, renew, me, later, tokens: () => kept.find('acme:ada') };
}

t.test('roles and profile follow the provider, once a minute', async (t) => {
  const { people, renew, me, later, tokens } = await worldOf(t);
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

t.test('a user that the provider or the restriction does not admit any more is signed out', async (t) => {
  await t.test('by the provider', async (t) => {
    const { people, renew, me } = await worldOf(t);
    t.match(await me(), { roles: ['author'] });
    people.delete('ada');
    t.equal(await renew(), 401);
  });
  await t.test('by the restriction', async (t) => {
    const { people, renew, me } = await worldOf(t, { require: { hd: 'example.org' } });
    t.match(await me(), { roles: ['author'] });
    people.set('ada', { ...ADA, hd: 'elsewhere.example' });
    t.equal(await renew(), 401);
  });
});

t.test('a provider that cannot be asked changes nothing, and one that is not to be asked is not', async (t) => {
  const { world, people, acme, renew, later, tokens } = await worldOf(t);
  people.set('ada', { ...ADA, groups: [] });
  const token = 'http://127.0.0.1:1025/token';
  const moved = { ...acme, endpoints: { token } };
  await world.provide({ ...moved, keepTokens: true });
  t.match(await renew(), { roles: ['author'] }, 'nothing listens there');
  await world.provide({ ...acme, keepTokens: true, enabled: false });
  await later();
  t.match(await renew(), { roles: ['author'] }, 'it is disabled');
  await world.provide({ ...acme, keepTokens: true, mapping: { ...mapping, when: 'each' } });
  await later();
  t.match(await renew(), { roles: ['author'] }, 'the mapping does not say so');
  await world.provide({ ...acme, keepTokens: true });
  await later();
  t.match(await renew(), { roles: [] });
  t.ok(await tokens());
});
