/**
 * The key ring: one for all processes, rotated without an interruption, and public for programs that verify tokens
 * themselves.
 */
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ACCESS_TOKEN_LIFETIME_MS } from '../../../src/auth/tokens/access-tokens.ts';
import { SigningKeyStore } from '../../../src/auth/tokens/signing-key-store.ts';
import { SigningKeySet } from '../../../src/auth/tokens/signing-keys.ts';
import { signingKeys } from '../../../src/commands/signing-keys.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { connectMongo } from '../../../src/database/mongo.ts';
import { Encryption } from '../../../src/lib/encryption.ts';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { ask, signUp, toUser } from '../../helpers/users.ts';

const TERMS = { issuer: 'https://app.example.org', audience: 'millrace:x', lifetimeMs: ACCESS_TOKEN_LIFETIME_MS };

t.test('a key ring', async (t) => {
  const { url, database } = await testMongo(t);
  const mongo = await connectMongo({ url, database });
  t.teardown(() => mongo.close());
  let now = Date.now();
  const open = async () => {
    const ring = new SigningKeySet({
      store: new SigningKeyStore(mongo, new Encryption([])),
      tokenOptions: TERMS,
      now: () => now,
    });
    await ring.start();
    return ring;
  };
  const rings = await Promise.all(Array.from({ length: 8 }, open));
  const kids = new Set(rings.flatMap((ring) => ring.publicKeys().map(({ kid }) => kid)));
  t.equal(kids.size, 1, 'eight starts at once make one key');
  const [one, other] = rings;
  if (one === undefined || other === undefined) throw new Error('There is no ring');

  const old = one.sign({ sub: 'u', sid: 's' });
  t.match(await other.verify(old), { sub: 'u', sid: 's', iss: TERMS.issuer, aud: TERMS.audience });
  await Promise.all([one.rotate(), other.rotate()]);
  await one.reload();
  t.equal(one.publicKeys().length, 3, 'two rotations at once are two');
  const fresh = one.sign({ sub: 'u', sid: 's' });
  t.not(fresh.split('.')[0], old.split('.')[0]);
  now += 2_000;
  const [, , third] = rings;
  t.match(await third?.verify(fresh), { sub: 'u' }, 'a key that another process made is looked up');
  t.match(await one.verify(old), { sub: 'u' }, 'the old key still verifies');
  now += ACCESS_TOKEN_LIFETIME_MS + 60_001;
  await one.reload();
  t.equal(one.publicKeys().length, 1, 'until its last token is dead');
  await t.rejects(one.verify(old));
  await one.rotate(true);
  t.equal(one.publicKeys().length, 1, 'or at once');
  await t.rejects(one.verify(fresh));
});

t.test('the key ring over HTTP', async (t) => {
  const { app, services } = await buildTestApp(t);
  const user = await signUp(app, 'ada');
  await services.auth.rotateKeys(false);
  const { headers, json } = await ask(app, 'GET /.well-known/jwks.json');
  t.match(headers, { 'cache-control': /public/, vary: 'Origin' }, 'a cache keeps one for each origin');
  const { keys } = json();
  t.match(keys, [
    { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' },
    { kty: 'OKP', crv: 'Ed25519' },
  ]);
  t.notMatch(JSON.stringify(keys), /"d"|PRIVATE/);
  t.equal((await ask(app, 'GET /auth/me', undefined, user)).statusCode, 200, 'tokens of the old key are good');
  const renewed = toUser(await ask(app, 'POST /auth/refresh', { refreshToken: user.refreshToken }));
  const [header = '', payload = '', signature = ''] = renewed.accessToken.split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  t.equal(kid, keys[0].kid, 'the newest key signs');
  const key = createPublicKey({ key: keys[0], format: 'jwk' });
  t.ok(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
});

t.test('a token is valid in every process of the instance, wherever each listens', async (t) => {
  const testDatabase = await testMongo(t);
  const at = (settings: Record<string, string>, where = testDatabase) => buildTestApp(t, settings, where);
  const issuerOf = ({ accessToken }: { accessToken: string }) =>
    JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()).iss;
  const [one, other] = [await at({ PORT: '3101' }), await at({ PORT: '3103', HOST: '127.0.0.2' })];
  const user = await signUp(one.app, 'ada');
  t.equal((await ask(other.app, 'GET /auth/me', undefined, user)).statusCode, 200);
  t.match(issuerOf(user), /^urn:uuid:[\da-f-]{36}$/);
  const elsewhere = await at({ PORT: '3101' }, await testMongo(t));
  t.not(issuerOf(await signUp(elsewhere.app, 'ada')), issuerOf(user), 'each installation has a name of its own');
  const named = await at({ MILLRACE_PUBLIC_URL: TERMS.issuer });
  t.equal(issuerOf(await signUp(named.app, 'grace')), TERMS.issuer, 'settings give another');
});

t.test('millrace signing-keys', async (t) => {
  const testDatabase = await testMongo(t);
  const { app } = await buildTestApp(t, {}, testDatabase);
  const user = await signUp(app, 'ada');
  const env = { MONGODB_URL: testDatabase.url, MILLRACE_DB: testDatabase.database };
  const run = async (...words: string[]) => (await signingKeys(words, env)).text ?? '';
  const signing = async () => (await ask(app, 'GET /.well-known/jwks.json')).json().keys[0].kid;
  t.match(await run(), /millrace signing-keys rotate/, 'without a word it says what there is');
  const before = await signing();
  const [, kid] = /^The active signing key is now ([\w-]{12})$/.exec(await run('rotate')) ?? [];
  t.not(kid, before);
  await until(async () => (await signing()) === kid, 'the running program signs with it');
  t.equal((await ask(app, 'GET /auth/me', undefined, user)).statusCode, 200);
  await run('rotate', '--drop-old');
  await until(async () => (await ask(app, 'GET /auth/me', undefined, user)).statusCode === 401, 'its tokens end');
});

t.test('the key ring with a master key', async (t) => {
  const testDatabase = await testMongo(t);
  const [first, second] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  const kept = async (services: Services) => {
    const [ring, secret] = await Promise.all([
      services.mongo.log.collection('signing_keys').findOne(),
      services.mongo.log.collection<{ _id: string; value: string }>('secrets').findOne({ _id: 'refresh-tokens' }),
    ]);
    return [ring?.['keys'][0].privateKey, secret?.value].map((text) => String(text).split('.').slice(0, 2).join('.'));
  };
  const plain = await buildTestApp(t, {}, testDatabase);
  const user = await signUp(plain.app, 'ada');
  t.match((await kept(plain.services))[0], /PRIVATE KEY/);
  const encrypted = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, testDatabase);
  const [ring, secret] = await kept(encrypted.services);
  t.match(ring, /^enc1\.[\w-]{8}$/, 'what was plain is sealed at the next start');
  t.equal(secret, ring);
  t.equal((await ask(encrypted.app, 'GET /auth/me', undefined, user)).statusCode, 200, 'and means the same');
  const renewed = await ask(encrypted.app, 'POST /auth/refresh', { refreshToken: user.refreshToken });
  t.equal(renewed.statusCode, 200);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-master-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'keys'), `${second},${first}\n`);
  const next = await buildTestApp(t, { MILLRACE_MASTER_KEY: `file:${join(folder, 'keys')}` }, testDatabase);
  t.not((await kept(next.services))[0], ring, 'the next key takes over');
  t.equal((await ask(next.app, 'GET /auth/me', undefined, user)).statusCode, 200);
  await t.rejects(buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, testDatabase), {
    message: /MILLRACE_MASTER_KEY to its previous value/,
  });
  await t.rejects(buildTestApp(t, {}, testDatabase), { message: /MILLRACE_MASTER_KEY to its previous value/ });
  t.throws(() => loadConfig({ MILLRACE_MASTER_KEY: 'c2hvcnQ=' }), {
    message: /MILLRACE_MASTER_KEY=…: a key must be 32 bytes/,
  });
});
