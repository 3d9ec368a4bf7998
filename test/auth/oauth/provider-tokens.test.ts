/** The tokens of a provider: stored where it says so, encrypted, and only as long as the identity belongs to a user. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { ProviderTokenVault } from '../../../src/auth/providers/provider-tokens.ts';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Encryption } from '../../../src/lib/encryption.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { ask } from '../../helpers/users.ts';

const IDENTITY = 'acme:subject-1';

t.test('tokens are stored where the provider says so, and deleted with the identity', async (t) => {
  const master = randomBytes(32);
  const fixture = await signInFixture(t, { MILLRACE_MASTER_KEY: master.toString('base64') });
  const { app, services } = fixture;
  const boss = { headers: { authorization: '', ...speakingAs(services)(owner()) } };
  const kept = new ProviderTokenVault(services.mongo, new Encryption([master]));
  const rows = services.mongo.log.collection('provider_tokens');
  const provider = await startLyingProvider(t);
  provider.claims['thin'] = 'asked of user info';
  provider.thin = ['thin'];
  const { issuer, clientId, clientSecret } = provider;
  const mapping = { profile: { thin: 'thin' } };
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, mapping, register: true };
  /** Signs in; returns the access token that the provider issued. */
  const enter = async () => {
    const response = await fixture.enter('acme');
    t.equal(response.statusCode, 200, response.body);
    const requested = provider.requests.filter(({ url }) => url.pathname === '/userinfo').at(-1);
    return { token: requested?.headers.authorization?.slice(7) ?? '', user: response.json() };
  };

  await fixture.provide(acme);
  await enter();
  t.equal(await rows.countDocuments(), 0, 'none without storeTokens');

  await fixture.provide({ ...acme, storeTokens: true });
  const { token } = await enter();
  const found = await kept.find(IDENTITY);
  t.match(found, { accessToken: token, refreshToken: null, idToken: /^[\w-]+\.[\w-]+\.[\w-]+$/ });
  const lifetime = Number(found?.expiresAt) - Date.now();
  t.ok(lifetime > 500_000 && lifetime <= 600_000, `${lifetime} ms`);
  t.match(await rows.findOne(), { provider: 'acme', encrypted: /^enc1\./ });
  t.equal(
    await new ProviderTokenVault(services.mongo, new Encryption([randomBytes(32)])).find(IDENTITY),
    null,
    'another master key',
  );

  const { token: next, user } = await enter();
  t.not(next, token);
  t.match(await kept.find(IDENTITY), { accessToken: next }, 'the newest ones');
  t.equal(await rows.countDocuments(), 1);

  const gone = async (what: string) => t.equal(await rows.countDocuments(), 0, `they go with ${what}`);
  await ask(app, `DELETE /admin/users/${user.user.id}`, undefined, boss);
  await gone('the account');
  await enter();
  await fixture.provide(acme);
  await gone('storeTokens');
  await fixture.provide({ ...acme, storeTokens: true });
  const as = await enter();
  const headers = { authorization: `Bearer ${as.user.accessToken}` };
  await services.auth.passwords.set(as.user.user.id, 'four wooden ships sail');
  t.equal((await ask(app, 'DELETE /auth/identities/acme', undefined, { headers })).statusCode, 204);
  await gone('the identity');
  provider.claims['sub'] = 'subject-2';
  provider.claims['email'] = 'grace@provider.example';
  await enter();
  t.equal(await rows.countDocuments(), 1);
  await ask(app, 'DELETE /admin/providers/acme', undefined, boss);
  await gone('the provider');
});

t.test(
  'tokens that another master key encrypted, or none, are encrypted with the newest at the next start',
  async (t) => {
    const { url, database } = await testMongo(t);
    const mongo = await connectMongo({ url, database });
    t.teardown(() => mongo.close());
    const [first, second] = [randomBytes(32), randomBytes(32)];
    const rows = mongo.log.collection<{ _id: string; encrypted: string }>('provider_tokens');
    const tokens = { accessToken: 'planted', refreshToken: null, idToken: null, expiresAt: null };
    const keep = async (identity: string, encryption: Encryption) => {
      const kept = new ProviderTokenVault(mongo, encryption);
      await kept.save(identity, kept.encrypt(identity, tokens) ?? '');
    };
    const names = Array.from({ length: 501 }, (_, n) => `acme:subject-${n}`);
    await keep('acme:lost', new Encryption([randomBytes(32)]));
    await keep('acme:older', new Encryption([first]));
    await keep('acme:newest', new Encryption([second]));
    for (const name of names) await keep(name, new Encryption([]));
    const before = await rows.findOne({ _id: 'acme:newest' });

    await new ProviderTokenVault(mongo, new Encryption([second, first])).start();
    t.strictSame(await rows.findOne({ _id: 'acme:newest' }), before, 'what it sealed already stays');
    t.equal(await rows.countDocuments({ encrypted: /planted/ }), 0, 'nothing stands in clear');
    const now = new ProviderTokenVault(mongo, new Encryption([second]));
    for (const name of ['acme:older', 'acme:newest', names[0], names.at(-1)]) {
      t.strictSame(await now.find(String(name)), tokens, `the older key is not needed for ${name}`);
    }
    t.equal(await now.find('acme:lost'), null);
  },
);
