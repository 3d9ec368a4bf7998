/** Reports about identity providers, responses of other servers, and what events tell of accounts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from './identity.ts';
import type { Product, Report } from './report.ts';

const PASSWORD = 'four wooden ships sail';
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

async function largeResponses(product: Product): Promise<void> {
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
    assert.equal((await post('/auth/saml/large/acs', bytes)).body.code, 'sign-in-expired');
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
    const requested = new URLSearchParams({
      redirect: `${product.url}/signin`,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
    });
    const { headers } = await product.call('GET', `/auth/providers/${name}?${requested}`, { token: null });
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
  { point: 'D7', title: 'SAML responses of up to 1 MiB are read', run: largeResponses },
  { point: 'D9', title: 'Account events hold no internal members', run: accountEvents },
  { point: 'G5', title: 'SAML metadata with a forbidden port is refused when it is saved', run: forbiddenPorts },
];
