/**
 * Attacks on access tokens: each is a token that must get 401 and nothing else, whatever is wrong with it. A valid one
 * is among them, which proves that the corpus is close to valid tokens.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:net';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { ask, signUp } from '../helpers/users.ts';

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

t.test('the corpus of access tokens', async (t) => {
  const { app, services } = await buildTestApp(t);
  const user = await signUp(app, 'ada');
  const [header = '', payload = '', signature = ''] = user.accessToken.split('.');
  const said: Record<string, unknown> = JSON.parse(Buffer.from(header, 'base64url').toString());
  const claims: Record<string, unknown> = JSON.parse(Buffer.from(payload, 'base64url').toString());
  t.match(said, { alg: 'EdDSA', typ: 'at+jwt', kid: /^[\w-]{12}$/ });
  t.match(claims, { iss: String, aud: String, sub: user.id, sid: user.session, exp: Number, nbf: Number });

  const ring = await services.mongo.log.collection('signing_keys').findOne();
  if (ring === null) throw new Error('There is no key ring');
  const { privateKey, publicKey } = ring['keys'][0];
  const key = createPrivateKey(privateKey);
  const signed = (head: unknown, body: unknown, by = key) => {
    const input = `${part(head)}.${part(body)}`;
    return `${input}.${sign(null, Buffer.from(input), by).toString('base64url')}`;
  };
  const mac = (head: unknown, secret: string | Buffer) => {
    const input = `${part(head)}.${payload}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  };
  const anonymous = generateKeyPairSync('ed25519').privateKey;
  const now = Math.floor(Date.now() / 1_000);
  let called = false;
  const trap = createServer(() => {
    called = true;
  }).listen(0, '127.0.0.1');
  t.teardown(() => trap.close());
  const address = trap.address();
  const url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/keys`;
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const { kid } = said;

  const bad: Record<string, string> = {
    none: `${part({ ...said, alg: 'none' })}.${payload}.`,
    'None in another case': `${part({ ...said, alg: 'nOnE' })}.${payload}.`,
    'HS256 with the public key': mac({ ...said, alg: 'HS256' }, publicKey),
    'HS256 with the bytes of the public key': mac({ ...said, alg: 'HS256' }, Buffer.from(publicKey)),
    'HS256 with an empty secret': mac({ ...said, alg: 'HS256' }, ''),
    RS256: signed({ ...said, alg: 'RS256' }, claims),
    'stripped signature': `${header}.${payload}.`,
    'stripped signature and dot': `${header}.${payload}`,
    'changed signature': `${header}.${payload}.${signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A'))}`,
    'longer signature': `${header}.${payload}.${signature}AAAA`,
    'changed claims': `${header}.${part({ ...claims, sub: 'somebody-else' })}.${signature}`,
    'duplicate header keys': signed(JSON.stringify(said).replace('{', '{"alg":"none",'), claims),
    'kid is a path': signed({ ...said, kid: '../../../../dev/null' }, claims),
    'kid is an injection': signed({ ...said, kid: `${kid}' OR '1'='1` }, claims),
    'kid is an object': signed({ ...said, kid: { $ne: null } }, claims),
    'kid is __proto__': signed({ ...said, kid: '__proto__' }, claims, anonymous),
    'unknown kid': signed({ ...said, kid: 'AAAAAAAAAAAA' }, claims),
    'no kid': signed({ alg: 'EdDSA', typ: 'at+jwt' }, claims),
    jku: signed({ ...said, jku: url }, claims, anonymous),
    x5u: signed({ ...said, x5u: url }, claims, anonymous),
    jwk: signed({ ...said, jwk }, claims, anonymous),
    crit: signed({ ...said, crit: ['b64'], b64: false }, claims),
    'other typ': signed({ ...said, typ: 'JWT' }, claims),
    'an unknown key': signed(said, claims, anonymous),
    'foreign issuer': signed(said, { ...claims, iss: 'https://evil.example' }),
    'no issuer': signed(said, { ...claims, iss: undefined }),
    'wrong audience': signed(said, { ...claims, aud: 'another' }),
    'no audience': signed(said, { ...claims, aud: undefined }),
    expired: signed(said, { ...claims, exp: now - 1 }),
    'no expiry': signed(said, { ...claims, exp: undefined }),
    'expiry is text': signed(said, { ...claims, exp: '9999999999' }),
    'not yet valid': signed(said, { ...claims, nbf: now + 60 }),
    'no session': signed(said, { ...claims, sid: undefined }),
    'session is an operator': signed(said, { ...claims, sid: { $ne: null } }),
    'subject is an operator': signed(said, { ...claims, sub: { $gt: '' } }),
    "somebody else's session": signed(said, { ...claims, sub: 'somebody-else' }),
    'a session that never was': signed(said, { ...claims, sid: 'AAAAAAAAAAAAAAAAAAAAAA' }),
    'payload is an array': signed(said, []),
    'payload is no JSON': signed(said, 'null'),
    'payload is not JSON at all': signed(said, '{"sub":'),
    empty: '',
    'only dots': '..',
    'five parts': `${user.accessToken}.a.b`,
    'twelve kilobytes': `${header}.${'A'.repeat(12_000)}.${signature}`,
    'a refresh token': user.refreshToken,
    'a made-up key': `mr_AAAAAAAAAAAA_${'A'.repeat(43)}`,
    'not base64url': `${header}=.${payload}.${signature}`,
    'with line break': `${header}.${payload}.${signature}\n`,
  };

  for (const [name, token] of Object.entries(bad)) {
    await t.test(name, async (t) => {
      const response = await ask(app, 'GET /auth/me', undefined, { headers: { authorization: `Bearer ${token}` } });
      t.equal(response.statusCode, 401, response.body);
      t.match(response.json(), { code: 'invalid-token', detail: 'The credential is not valid' });
      t.equal(response.headers['www-authenticate'], 'Bearer realm="millrace", error="invalid_token"');
      const list = await ask(app, 'GET /api/todos', undefined, { headers: { authorization: `Bearer ${token}` } });
      t.equal(list.statusCode, 401, 'also where everything is open to anonymous clients');
    });
  }

  await t.test('other authorization schemes than Bearer', async (t) => {
    for (const authorization of [user.accessToken, `Basic ${part('ada:x')}`, 'Bearer', 'Bearer  ', `Bearer a b`]) {
      t.equal((await ask(app, 'GET /auth/me', undefined, { headers: { authorization } })).statusCode, 401);
    }
  });

  await t.test('the valid access token', async (t) => {
    const again = signed(said, claims);
    for (const token of [user.accessToken, again]) {
      const headers = { authorization: `Bearer ${token}` };
      t.equal((await ask(app, 'GET /auth/me', undefined, { headers })).statusCode, 200);
      t.equal((await ask(app, 'GET /auth/me', undefined, { headers })).statusCode, 200, 'and again');
    }
  });

  await t.test('an access token of a process whose clock is a little ahead', async (t) => {
    const soon = { ...claims, iat: now + 5, nbf: now + 5, exp: now + 605 };
    const headers = { authorization: `Bearer ${signed(said, soon)}` };
    t.equal((await ask(app, 'GET /auth/me', undefined, { headers })).statusCode, 200);
  });

  t.equal(called, false, 'no key was fetched from anywhere');
});
