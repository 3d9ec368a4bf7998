/** The key ring: one for all processes, rotated without anybody noticing, and public for those who verify themselves. */
import { createPublicKey, verify } from 'node:crypto';
import t from 'tap';
import { ACCESS_MS } from '../../src/auth/access-tokens.ts';
import { KeyRing } from '../../src/auth/key-ring.ts';
import { KeyRingStore } from '../../src/auth/key-ring-store.ts';
import { openMongo } from '../../src/database/mongo.ts';
import { ask, signUp, toAccount } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';

const TERMS = { issuer: 'https://app.example.org', audience: 'millrace:x', lifetimeMs: ACCESS_MS };

t.test('a ring', async (t) => {
  const { url, database } = await testMongo(t);
  const mongo = await openMongo({ url, database });
  t.teardown(() => mongo.close());
  let now = Date.now();
  const open = async () => {
    const ring = new KeyRing({ store: new KeyRingStore(mongo), terms: TERMS, now: () => now });
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
  now += ACCESS_MS + 60_001;
  await one.reload();
  t.equal(one.publicKeys().length, 1, 'until its last token is dead');
  await t.rejects(one.verify(old));
  await one.rotate(true);
  t.equal(one.publicKeys().length, 1, 'or at once');
  await t.rejects(one.verify(fresh));
});

t.test('over HTTP', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const account = await signUp(app, 'ada');
  await parts.auth.rotateKeys(false);
  const { keys } = (await ask(app, 'GET /.well-known/jwks.json')).json();
  t.match(keys, [
    { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' },
    { kty: 'OKP', crv: 'Ed25519' },
  ]);
  t.notMatch(JSON.stringify(keys), /"d"|PRIVATE/);
  t.equal((await ask(app, 'GET /auth/me', undefined, account)).statusCode, 200, 'tokens of the old key are good');
  const renewed = toAccount(await ask(app, 'POST /auth/refresh', { refreshToken: account.refreshToken }));
  const [header = '', payload = '', signature = ''] = renewed.accessToken.split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  t.equal(kid, keys[0].kid, 'the newest key signs');
  const key = createPublicKey({ key: keys[0], format: 'jwk' });
  t.ok(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
});
