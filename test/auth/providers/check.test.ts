/** `POST /admin/providers/{name}/check`: a result in words for all settings of a provider. */
import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { checkProvider } from '../../../src/auth/providers/provider-diagnostics.ts';
import { Egress } from '../../../src/egress/egress.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { startGitHub } from '../../helpers/providers/github.ts';
import { type Lies, startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';

const PUBLIC = 'https://api.example.org';
const { app, services } = await buildTestApp(t, { MILLRACE_PUBLIC_URL: PUBLIC });
const headers = speakingAs(services)(owner());

interface ApiResponse {
  readonly passed: boolean;
  readonly redirectUrl: string;
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly message: string }[];
}

/** Saves a provider and has it checked. */
async function check(provider: { readonly name: string; readonly [field: string]: unknown }): Promise<ApiResponse> {
  const known = await app.inject({
    method: 'PUT',
    url: `/admin/providers/${provider.name}`,
    headers,
    payload: provider,
  });
  if (known.statusCode === 404) {
    const created = await app.inject({ method: 'POST', url: '/admin/providers', headers, payload: provider });
    if (created.statusCode !== 201) throw new Error(created.body);
  }
  const response = await app.inject({ method: 'POST', url: `/admin/providers/${provider.name}/check`, headers });
  if (response.statusCode !== 200) throw new Error(response.body);
  return response.json();
}

const failed = ({ checks }: ApiResponse) => checks.flatMap(({ name, passed }) => (passed ? [] : [name]));
const verdictOf = ({ checks }: ApiResponse, name: string) => checks.find((one) => one.name === name)?.message ?? '';

t.test('an honest OpenID provider passes the check, which shows the redirect URL', async (t) => {
  const { issuer, clientId, clientSecret } = await startOpenIdProvider(t, {
    redirectUris: [`${PUBLIC}/auth/providers/honest/callback`],
  });
  const response = await check({ name: 'honest', kind: 'oidc', issuer, clientId, clientSecret });
  t.strictSame(failed(response), [], JSON.stringify(response.checks));
  t.ok(response.passed);
  t.equal(response.redirectUrl, `${PUBLIC}/auth/providers/honest/callback`);
  t.strictSame(
    response.checks.map((one) => one.name),
    ['discovery', 'keys', 'clock', 'secret', 'redirect'],
  );
  t.match(verdictOf(response, 'redirect'), response.redirectUrl);
  t.notMatch(JSON.stringify(response), clientSecret);
});

t.test('the check reaches a provider without id tokens, and compares its clock', async (t) => {
  const hub = await startGitHub(t);
  const endpoints = { authorization: `${hub.origin}/a`, token: `${hub.origin}/t`, userinfo: `${hub.origin}/user` };
  const response = await check({ name: 'hub', kind: 'github', clientId: 'c', clientSecret: 's', endpoints });
  t.strictSame(failed(response), [], JSON.stringify(response.checks));
  t.strictSame(
    response.checks.map((one) => one.name),
    ['reached', 'clock', 'secret', 'redirect'],
  );
});

t.test('the check reports errors of a provider in words', async (t) => {
  const liar = await startLyingProvider(t);
  const { issuer, clientId, clientSecret } = liar;
  const provider = { name: 'liar', kind: 'oidc', issuer, clientId, clientSecret };
  t.strictSame(failed(await check(provider)), []);
  const lies: [Lies, string, RegExp][] = [
    [
      { discovery: { issuer: 'https://other.example.org' } },
      'discovery',
      /has the issuer https:\/\/other\.example\.org/,
    ],
    [{ discovery: { token_endpoint: undefined } }, 'discovery', /has no token_endpoint/],
    [
      { discovery: { token_endpoint: 'https://10.0.0.1/t' } },
      'discovery',
      /token_endpoint .* points to a network that is not public/,
    ],
    [{ discovery: { code_challenge_methods_supported: ['plain'] } }, 'discovery', /S256/],
    [{ discovery: { jwks_uri: undefined } }, 'keys', /no URL of keys/],
    [{ at: { discovery: 'error' } }, 'discovery', /status 500/],
    [{ at: { discovery: 'redirect' } }, 'discovery', /status 302/],
    [{ at: { discovery: 'html' } }, 'discovery', /other than a JSON object/],
    [{ at: { discovery: 'garbage' } }, 'discovery', /other than a JSON object/],
    [{ at: { discovery: 'huge' } }, 'discovery', /too many bytes/],
    [{ at: { discovery: 'never' } }, 'discovery', /in time/],
    [{ at: { jwks: 'garbage' } }, 'keys', /other than a JSON object/],
    [
      { at: { jwks: () => ({ body: { keys: [{ kty: 'oct', k: 'AA' }, { kty: 'RSA' }, 7] } }) } },
      'keys',
      /no public key/,
    ],
    [{ at: { jwks: () => ({ body: { keys: 'x' } }) } }, 'keys', /no public key/],
  ];
  for (const [lie, name, verdict] of lies) {
    liar.lies = lie;
    const response = await check(provider);
    t.notOk(response.passed);
    t.match(verdictOf(response, name), verdict, JSON.stringify(Object.keys(lie.at ?? lie.discovery ?? {})));
    t.ok(failed(response).includes(name));
  }
  liar.lies = {};
  const copied = await check({ ...provider, clientSecret: `${clientSecret}\n` });
  t.match(verdictOf(copied, 'secret'), /too much was copied/);
  t.notMatch(JSON.stringify(copied), clientSecret);
});

t.test('the check reports clocks that differ, URLs that Apple rejects, and given keys', async (t) => {
  const liar = await startLyingProvider(t);
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(() => egress.close());
  const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  await check({
    name: 'apple',
    kind: 'apple',
    clientId: 'org.example.web',
    teamId: 'TEAM123456',
    keyId: 'KEY1234567',
    privateKey: pem,
    issuer: liar.issuer,
    endpoints: { authorization: `${liar.origin}/a`, token: `${liar.origin}/t`, jwks: `${liar.origin}/jwks` },
  });
  const apple = await services.oauth.providers.latest('apple');
  const at = (base: string, driftMs: number) => checkProvider(apple, { egress, base, now: () => Date.now() + driftMs });
  const fine = await at(PUBLIC, 0);
  t.strictSame(failed(fine), [], JSON.stringify(fine.checks));
  t.strictSame(
    fine.checks.map((one) => one.name),
    ['keys', 'clock', 'secret', 'redirect'],
    'nothing is discovered',
  );
  t.match(verdictOf(fine, 'secret'), /ES256/);
  t.match(verdictOf(await at(PUBLIC, 90_000), 'clock'), /(89|90|91) s ahead of .* expired/);
  t.match(verdictOf(await at(PUBLIC, -90_000), 'clock'), /(89|90|91) s behind/);
  t.strictSame(failed(await at(PUBLIC, 90_000)), ['clock']);
  const fetch: Egress['fetch'] = async (...requested) => {
    const response = await egress.fetch(...requested);
    response.headers.delete('date');
    return response;
  };
  const undated = { fetch, checkUrl: egress.checkUrl.bind(egress) };
  const silent = await checkProvider(apple, { egress: undated, base: PUBLIC });
  t.strictSame(failed(silent), [], 'a provider that sends no date, as Keycloak');
  t.match(verdictOf(silent, 'clock'), /had a date/);
  t.strictSame(failed(await at('http://127.0.0.1:3000', 0)), ['redirect']);
  t.equal((await app.inject({ method: 'POST', url: '/admin/providers/none/check', headers })).statusCode, 404);
});
