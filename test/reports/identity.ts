/** Reports about accounts and sign-in: accounts registered in wait for somebody, providers, and what events tell of accounts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { codeNow } from '../helpers/factors/authenticator.ts';
import { SoftPasskey } from '../helpers/factors/passkey-authenticator.ts';
import { codeIn, linkIn, type TestMailbox, testMailbox } from '../helpers/network/mailbox.ts';
import type { Product, Reply, Report } from './report.ts';

/** Passkeys need a host name, and a server at port 0 does not know its own. */
const ORIGIN = 'https://app.example.org';
const PASSWORD = 'four wooden ships sail';
const NEW = 'another long sentence here';

const OPEN = { MILLRACE_PUBLIC_URL: ORIGIN, MILLRACE_REGISTRATION: 'open' };

interface Account {
  readonly name: string;
  readonly email: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Products with a mail server, where anybody can register. */
async function withMail(product: Product, work: (it: Product, mailbox: TestMailbox) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = [];
  const mailbox = await testMailbox({ teardown: (end: () => unknown) => void ends.push(end) } as never);
  const settings = { ...OPEN, MILLRACE_SMTP_URL: mailbox.url };
  try {
    await work(await product.another(settings), mailbox);
  } finally {
    for (const end of ends) await end();
  }
}

async function expect(reply: Promise<Reply>, status: number): Promise<Reply['body']> {
  const { status: found, body } = await reply;
  assert.equal(found, status, JSON.stringify(body));
  return body;
}

const post = (it: Product, path: string, body: object, token: string | null = null) =>
  it.call('POST', path, { body, token });

async function register(it: Product, name: string, address: string | null = `${name}@example.org`): Promise<Account> {
  const email = address === null ? {} : { email: address };
  const { accessToken, refreshToken } = await expect(
    post(it, '/auth/register', { username: name, password: PASSWORD, ...email }),
    201,
  );
  return { name, email: address ?? '', accessToken, refreshToken };
}

/** Adds an authenticator app and a passkey. */
async function addFactors(it: Product, { accessToken }: Account): Promise<void> {
  const { secret } = await expect(post(it, '/auth/mfa/totp', {}, accessToken), 201);
  await expect(post(it, '/auth/mfa/totp/confirm', { code: codeNow(secret) }, accessToken), 200);
  await expect(addPasskey(it, accessToken), 201);
}

async function addPasskey(it: Product, token: string, begun?: object): Promise<Reply> {
  const options = begun ?? (await expect(it.call('POST', '/auth/passkeys/begin', { token }), 200));
  const credential = new SoftPasskey(ORIGIN).create(options as never);
  return post(it, '/auth/passkeys', { credential }, token);
}

async function requireGone(it: Product, { accessToken, refreshToken, name }: Account): Promise<void> {
  await expect(it.call('GET', '/auth/me', { token: accessToken }), 401);
  await expect(post(it, '/auth/refresh', { refreshToken }), 401);
  await expect(post(it, '/auth/login', { username: name, password: PASSWORD }), 401);
}

async function signInByCode(it: Product, mailbox: TestMailbox, email: string): Promise<Account> {
  await expect(post(it, '/auth/link', { email }), 202);
  const code = codeIn(await mailbox.next(email, /^Sign in/));
  return expect(post(it, '/auth/link/confirm', { email, code }), 200);
}

async function registeredInWait(product: Product): Promise<void> {
  await withMail(product, async (it, mailbox) => {
    const confirmed = await register(it, 'mallory');
    await addFactors(it, confirmed);
    const { token } = linkIn(await mailbox.next(confirmed.email));
    await expect(post(it, '/auth/verify', { token }), 204);
    await requireGone(it, confirmed);
    const { accessToken } = await signInByCode(it, mailbox, confirmed.email);
    const { passkeys } = await expect(it.call('GET', '/auth/passkeys', { token: accessToken }), 200);
    assert.deepEqual(passkeys, []);
    // Without an address at first, and with the address of the victim by a change.
    const changed = await register(it, 'trudy', null);
    const change = { email: 'victim@example.org', password: PASSWORD };
    await expect(it.call('PATCH', '/auth/me', { body: change, token: changed.accessToken }), 200);
    const link = linkIn(await mailbox.next('victim@example.org'));
    await expect(post(it, '/auth/verify', { token: link.token, newPassword: NEW }), 204);
    await requireGone(it, changed);
    await expect(post(it, '/auth/login', { username: 'victim@example.org', password: NEW }), 200);
    // The person who registered keeps everything.
    for (const [name, body, isSignedIn] of [
      ['alice', {}, true],
      ['bob', { password: PASSWORD }, false],
    ] as const) {
      const own = await register(it, name);
      await addFactors(it, own);
      const { token: mine } = linkIn(await mailbox.next(own.email));
      await expect(post(it, '/auth/verify', { token: mine, ...body }, isSignedIn ? own.accessToken : null), 204);
      const me = await expect(it.call('GET', '/auth/me', { token: own.accessToken }), 200);
      assert.deepEqual([me.emailVerified, me.secondFactor], [true, true]);
    }
  });
}

async function blockedAddress(product: Product): Promise<void> {
  await withMail(product, async (it, mailbox) => {
    const account = await register(it, 'mallory');
    await mailbox.next(account.email);
    await addFactors(it, account);
    await expect(post(it, '/auth/reset', { email: account.email }), 202);
    const { token } = linkIn(await mailbox.next(account.email, /new password/));
    await expect(post(it, '/auth/reset/confirm', { token, password: NEW }), 204);
    const { user } = await expect(post(it, '/auth/login', { username: account.email, password: NEW }), 200);
    assert.equal(user.secondFactor, false);
    await requireGone(it, account);
    const other = await register(it, 'trudy');
    await mailbox.next(other.email);
    await addFactors(it, other);
    await signInByCode(it, mailbox, other.email);
    await requireGone(it, other);
  });
}

async function quickRenewals(product: Product): Promise<void> {
  const it = await product.another(OPEN);
  const { refreshToken } = await register(it, 'hedy');
  const tokens = [refreshToken];
  for (let n = 0; n < 12; n++) {
    const renewed = await expect(post(it, '/auth/refresh', { refreshToken: tokens.at(-1) }), 200);
    tokens.push(renewed.refreshToken);
  }
  for (const at of [0, 3, 11]) {
    const again = await expect(post(it, '/auth/refresh', { refreshToken: tokens[at] }), 200);
    assert.equal(again.refreshToken, tokens[at + 1]);
  }
  await expect(post(it, '/auth/refresh', { refreshToken: tokens.at(-1) }), 200);
}

async function parallelPasskeys(product: Product): Promise<void> {
  const it = await product.another(OPEN);
  const { accessToken } = await register(it, 'hedy');
  for (let n = 0; n < 18; n++) await expect(addPasskey(it, accessToken), 201);
  const begin = () => expect(it.call('POST', '/auth/passkeys/begin', { token: accessToken }), 200);
  const begun = await Promise.all(Array.from({ length: 8 }, begin));
  const added = await Promise.all(begun.map((options) => addPasskey(it, accessToken, options)));
  assert.equal(added.filter(({ status }) => status === 201).length, 2);
  const { passkeys } = await expect(it.call('GET', '/auth/passkeys', { token: accessToken }), 200);
  assert.equal(passkeys.length, 20);
}

const BINDING = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const metadataAt = (signIn: string, logOut: string) =>
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="idp"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><SingleLogoutService Binding="${BINDING}" Location="${logOut}"/><SingleSignOnService Binding="${BINDING}" Location="${signIn}"/></IDPSSODescriptor></EntityDescriptor>`;

async function forbiddenPorts(product: Product): Promise<void> {
  const save = (name: string, saml: object) =>
    product.call('POST', '/admin/providers', { body: { name, kind: 'saml', clientId: 'sp', saml } });
  const [good, bad] = ['https://id.example.org/sso', 'https://id.example.org:25/sso'];
  for (const saml of [
    { metadata: metadataAt(bad, good) },
    { metadata: metadataAt(good, bad) },
    { metadata: metadataAt('javascript:alert(1)', good) },
    { metadataUrl: bad },
  ]) {
    const { errors } = await expect(save('saml-bad', saml), 400);
    assert.match(errors[0].pointer, /^\/saml\/metadata/);
  }
  await expect(save('saml-good', { metadata: metadataAt(good, good) }), 201);
}

async function largeAnswers(product: Product): Promise<void> {
  const post = (path: string, bytes: number) =>
    product.call('POST', path, {
      body: `SAMLResponse=${'A'.repeat(bytes - 13)}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      token: null,
    });
  await expect(
    product.call('POST', '/admin/providers', {
      body: {
        name: 'large',
        kind: 'saml',
        clientId: 'sp',
        saml: { metadata: metadataAt('https://id.example.org/sso', 'https://id.example.org/slo') },
      },
    }),
    201,
  );
  for (const bytes of [70_000, 400_000, 1_048_576]) {
    assert.equal((await post('/auth/saml/large/acs', bytes)).body.code, 'flow-unusable');
  }
  assert.equal((await post('/auth/saml/large/acs', 1_048_577)).status, 413);
  assert.equal((await post('/auth/saml/large/slo', 70_000)).status, 413);
}

async function weakerProviders(product: Product): Promise<void> {
  const endpoints = {
    authorization: 'https://id.example.org/a',
    token: 'https://id.example.org/t',
    jwks: 'https://id.example.org/k',
  };
  const provider = { kind: 'oidc', clientId: 'c', issuer: 'https://id.example.org', endpoints };
  const begin = async (name: string, settings: object) => {
    await expect(product.call('POST', '/admin/providers', { body: { ...provider, name, ...settings } }), 201);
    const asked = new URLSearchParams({
      redirect: `${product.url}/signin`,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
    });
    const { headers } = await product.call('GET', `/auth/${name}?${asked}`, { token: null });
    return new URL(headers.get('location') ?? '').searchParams;
  };
  const usual = await begin('usual', {});
  assert.ok(usual.has('code_challenge') && usual.has('nonce'));
  const weaker = await begin('weaker', { nonce: 'optional', pkce: false });
  assert.ok(!weaker.has('code_challenge') && weaker.has('nonce'));
  for (const settings of [{ nonce: 'never' }, { pkce: 'no' }]) {
    await expect(product.call('POST', '/admin/providers', { body: { ...provider, name: 'bad', ...settings } }), 400);
  }
}

async function compressedResponses(product: Product): Promise<void> {
  const it = product.mode === 'development' ? product : await product.another({ MILLRACE_EGRESS_ALLOW: '127.0.0.0/8' });
  const text = JSON.stringify({ items: 'dressed and undressed '.repeat(200) });
  const [bytes, large] = [Buffer.from(text), Buffer.alloc(6 * 1_048_576)];
  const bodies: Readonly<Record<string, readonly [string, Buffer]>> = {
    gzip: ['gzip', gzipSync(bytes)],
    deflate: ['deflate', deflateSync(bytes)],
    raw: ['deflate', deflateRawSync(bytes)],
    br: ['br', brotliCompressSync(bytes)],
    large: ['gzip', gzipSync(large)],
  };
  const server = createServer((request, response) => {
    const [encoding = '', body] = bodies[(request.url ?? '').slice(1)] ?? [];
    response.writeHead(200, { 'content-encoding': encoding }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const manifest = {
      name: 'packed',
      functions: [{ name: 'get', file: 'get.ts', http: { method: 'GET', path: '/packed/:form' } }],
      fetch: [`127.0.0.1:${port}`],
    };
    const code = `export default async ({ params }, ctx) => {
      const response = await ctx.fetch('http://127.0.0.1:${port}/' + params.form);
      return { text: await response.text() };
    };`;
    const { status, body } = await it.call('PUT', '/admin/plugins/packed', {
      body: { manifest, files: { 'get.ts': code } },
    });
    assert.ok(status < 300, JSON.stringify(body));
    for (const form of ['gzip', 'deflate', 'raw', 'br']) {
      assert.equal((await expect(it.call('GET', `/fn/packed/${form}`), 200)).text, text, form);
    }
    const { status: refused } = await it.call('GET', '/fn/packed/large');
    assert.ok(refused >= 500, `${refused}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function accountEvents(product: Product): Promise<void> {
  const { id } = await expect(
    product.call('POST', '/admin/users', { body: { username: 'grace', password: PASSWORD } }),
    201,
  );
  await expect(product.call('PATCH', `/admin/users/${id}`, { body: { roles: ['author'] } }), 200);
  const audit = async () => JSON.stringify((await product.call('GET', '/admin/audit?limit=1000')).body);
  const events = async () => JSON.stringify((await product.call('GET', '/events?last=50')).body);
  const end = performance.now() + 10_000;
  while (!(await audit()).includes('system.user.updated')) assert.ok(performance.now() < end, 'the audit is late');
  assert.doesNotMatch(await audit(), /"(?:names|skeleton)"/);
  assert.doesNotMatch(await events(), /"(?:names|skeleton)"/);
  const { body: types } = await product.call('GET', '/admin/plugin-types');
  assert.match(String(types), /'system\.user\.created'/);
  assert.doesNotMatch(String(types), /'system\.\w+\.(?:dropped|renamed)'/);
}

export const reports: readonly Report[] = [
  { point: 'D1', title: 'Responses that come compressed reach functions decoded', run: compressedResponses },
  { point: 'D7', title: 'A provider can lack nonce and PKCE', run: weakerProviders },
  { point: 'D7', title: 'SAML responses of up to 1 MiB are read', run: largeAnswers },
  { point: 'D9', title: 'Account events hold no internal members', run: accountEvents },
  { point: 'G1', title: 'An account registered in wait for somebody keeps no way to sign in', run: registeredInWait },
  { point: 'G2', title: 'A reset by a proven address removes earlier factors', run: blockedAddress },
  { point: 'G3', title: 'A refresh token gets the same successor for ten seconds', run: quickRenewals },
  { point: 'G4', title: 'Parallel registrations do not pass the limit of passkeys', run: parallelPasskeys },
  { point: 'G5', title: 'SAML metadata with a forbidden port is refused when it is saved', run: forbiddenPorts },
];
