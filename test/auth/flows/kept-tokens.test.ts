/** The tokens of a provider: kept where it says so, sealed, and only as long as the identity belongs to an account. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { KeptTokens } from '../../../src/auth/providers/kept-tokens.ts';
import { openMongo } from '../../../src/database/mongo.ts';
import { Sealer } from '../../../src/kernel/sealer.ts';
import { ask } from '../../helpers/accounts.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { signInWorld } from '../../helpers/providers/sign-in-world.ts';

const IDENTITY = 'acme:subject-1';

t.test('tokens are kept where the provider says so, and go with the identity', async (t) => {
  const master = randomBytes(32);
  const world = await signInWorld(t, { MILLRACE_MASTER_KEY: master.toString('base64') });
  const { app, parts } = world;
  const boss = { headers: { authorization: '', ...speakingAs(parts)(owner()) } };
  const kept = new KeptTokens(parts.mongo, new Sealer([master]));
  const rows = parts.mongo.log.collection('provider_tokens');
  const provider = await startLyingProvider(t);
  provider.claims['thin'] = 'asked of user info';
  provider.thin = ['thin'];
  const { issuer, clientId, clientSecret } = provider;
  const mapping = { profile: { thin: 'thin' } };
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, mapping, register: true };
  /** Signs in; the access token that the provider gave. */
  const enter = async () => {
    const answer = await world.enter('acme');
    t.equal(answer.statusCode, 200, answer.body);
    const asked = provider.requests.filter(({ url }) => url.pathname === '/userinfo').at(-1);
    return { token: asked?.headers.authorization?.slice(7) ?? '', user: answer.json() };
  };

  await world.provide(acme);
  await enter();
  t.equal(await rows.countDocuments(), 0, 'none without keepTokens');

  await world.provide({ ...acme, keepTokens: true });
  const { token } = await enter();
  const found = await kept.find(IDENTITY);
  t.match(found, { accessToken: token, refreshToken: null, idToken: /^[\w-]+\.[\w-]+\.[\w-]+$/ });
  const lifetime = Number(found?.expiresAt) - Date.now();
  t.ok(lifetime > 500_000 && lifetime <= 600_000, `${lifetime} ms`);
  t.match(await rows.findOne(), { provider: 'acme', sealed: /^sealed1\./ });
  t.equal(await new KeptTokens(parts.mongo, new Sealer([randomBytes(32)])).find(IDENTITY), null, 'another master key');

  const { token: next, user } = await enter();
  t.not(next, token);
  t.match(await kept.find(IDENTITY), { accessToken: next }, 'the newest ones');
  t.equal(await rows.countDocuments(), 1);

  const gone = async (what: string) => t.equal(await rows.countDocuments(), 0, `they go with ${what}`);
  await ask(app, `DELETE /admin/users/${user.user.id}`, undefined, boss);
  await gone('the account');
  await enter();
  await world.provide(acme);
  await gone('keepTokens');
  await world.provide({ ...acme, keepTokens: true });
  const as = await enter();
  const headers = { authorization: `Bearer ${as.user.accessToken}` };
  await parts.auth.passwords.set(as.user.user.id, 'four wooden ships sail');
  t.equal((await ask(app, 'DELETE /auth/identities/acme', undefined, { headers })).statusCode, 204);
  await gone('the identity');
  provider.claims['sub'] = 'subject-2';
  provider.claims['email'] = 'grace@provider.example';
  await enter();
  t.equal(await rows.countDocuments(), 1);
  await ask(app, 'DELETE /admin/providers/acme', undefined, boss);
  await gone('the provider');
});

t.test('what another master key sealed, or none, is sealed with the newest at the next start', async (t) => {
  const { url, database } = await testMongo(t);
  const mongo = await openMongo({ url, database });
  t.teardown(() => mongo.close());
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const rows = mongo.log.collection<{ _id: string; sealed: string }>('provider_tokens');
  const tokens = { accessToken: 'planted', refreshToken: null, idToken: null, expiresAt: null };
  const keep = async (identity: string, sealer: Sealer) => {
    const kept = new KeptTokens(mongo, sealer);
    await kept.save(identity, kept.seal(identity, tokens) ?? '');
  };
  const names = Array.from({ length: 501 }, (_, n) => `acme:subject-${n}`);
  await keep('acme:lost', new Sealer([randomBytes(32)]));
  await keep('acme:older', new Sealer([first]));
  await keep('acme:newest', new Sealer([second]));
  for (const name of names) await keep(name, new Sealer([]));
  const before = await rows.findOne({ _id: 'acme:newest' });

  await new KeptTokens(mongo, new Sealer([second, first])).start();
  t.strictSame(await rows.findOne({ _id: 'acme:newest' }), before, 'what it sealed already stays');
  t.equal(await rows.countDocuments({ sealed: /planted/ }), 0, 'nothing stands in clear');
  const now = new KeptTokens(mongo, new Sealer([second]));
  for (const name of ['acme:older', 'acme:newest', names[0], names.at(-1)]) {
    t.strictSame(await now.find(String(name)), tokens, `the older key is not needed for ${name}`);
  }
  t.equal(await now.find('acme:lost'), null);
});
