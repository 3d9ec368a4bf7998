/** `POST /admin/providers/{name}/check`: a verdict in words for everything that a provider names. */
import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { checkProvider } from '../../../src/auth/providers/provider-check.ts';
import { Egress } from '../../../src/egress/egress.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { startGitHub } from '../../helpers/providers/github.ts';
import { type Lies, startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';

const PUBLIC = 'https://api.example.org';
const { app, parts } = await buildTestApp(t, { MILLRACE_PUBLIC_URL: PUBLIC });
const headers = speakingAs(parts)(owner());

interface Answer {
  readonly passed: boolean;
  readonly redirect: string;
  readonly checks: readonly { readonly check: string; readonly passed: boolean; readonly verdict: string }[];
}

/** Saves a provider and has it checked. */
async function check(provider: { readonly name: string; readonly [member: string]: unknown }): Promise<Answer> {
  const known = await app.inject({
    method: 'PUT',
    url: `/admin/providers/${provider.name}`,
    headers,
    payload: provider,
  });
  if (known.statusCode === 404) {
    const made = await app.inject({ method: 'POST', url: '/admin/providers', headers, payload: provider });
    if (made.statusCode !== 201) throw new Error(made.body);
  }
  const answer = await app.inject({ method: 'POST', url: `/admin/providers/${provider.name}/check`, headers });
  if (answer.statusCode !== 200) throw new Error(answer.body);
  return answer.json();
}

const failed = ({ checks }: Answer) => checks.flatMap(({ check, passed }) => (passed ? [] : [check]));
const verdictOf = ({ checks }: Answer, name: string) => checks.find((one) => one.check === name)?.verdict ?? '';

t.test('an honest OpenID provider passes, and the redirect address is told', async (t) => {
  const { issuer, clientId, clientSecret } = await startOpenIdProvider(t, {
    redirectUris: [`${PUBLIC}/auth/honest/callback`],
  });
  const answer = await check({ name: 'honest', kind: 'oidc', issuer, clientId, clientSecret });
  t.strictSame(failed(answer), [], JSON.stringify(answer.checks));
  t.ok(answer.passed);
  t.equal(answer.redirect, `${PUBLIC}/auth/honest/callback`);
  t.strictSame(
    answer.checks.map((one) => one.check),
    ['discovery', 'keys', 'clock', 'secret', 'redirect'],
  );
  t.match(verdictOf(answer, 'redirect'), answer.redirect);
  t.notMatch(JSON.stringify(answer), clientSecret);
});

t.test('a provider without id tokens is reached, and its clock compared', async (t) => {
  const hub = await startGitHub(t);
  const endpoints = { authorization: `${hub.origin}/a`, token: `${hub.origin}/t`, userinfo: `${hub.origin}/user` };
  const answer = await check({ name: 'hub', kind: 'github', clientId: 'c', clientSecret: 's', endpoints });
  t.strictSame(failed(answer), [], JSON.stringify(answer.checks));
  t.strictSame(
    answer.checks.map((one) => one.check),
    ['reached', 'clock', 'secret', 'redirect'],
  );
});

t.test('what is wrong is told in words', async (t) => {
  const liar = await startLyingProvider(t);
  const { issuer, clientId, clientSecret } = liar;
  const provider = { name: 'liar', kind: 'oidc', issuer, clientId, clientSecret };
  t.strictSame(failed(await check(provider)), []);
  const lies: [Lies, string, RegExp][] = [
    [
      { discovery: { issuer: 'https://other.example.org' } },
      'discovery',
      /names the issuer https:\/\/other\.example\.org/,
    ],
    [{ discovery: { token_endpoint: undefined } }, 'discovery', /has no token_endpoint/],
    [{ discovery: { token_endpoint: 'https://10.0.0.1/t' } }, 'discovery', /token_endpoint .* leads into a network/],
    [{ discovery: { code_challenge_methods_supported: ['plain'] } }, 'discovery', /S256/],
    [{ discovery: { jwks_uri: undefined } }, 'keys', /no address of keys/],
    [{ at: { discovery: 'error' } }, 'discovery', /status 500/],
    [{ at: { discovery: 'redirect' } }, 'discovery', /status 302/],
    [{ at: { discovery: 'html' } }, 'discovery', /not a JSON/],
    [{ at: { discovery: 'garbage' } }, 'discovery', /not a JSON/],
    [{ at: { discovery: 'huge' } }, 'discovery', /more than is read/],
    [{ at: { discovery: 'never' } }, 'discovery', /in time/],
    [{ at: { jwks: 'garbage' } }, 'keys', /not a JSON/],
    [
      { at: { jwks: () => ({ body: { keys: [{ kty: 'oct', k: 'AA' }, { kty: 'RSA' }, 7] } }) } },
      'keys',
      /no public key/,
    ],
    [{ at: { jwks: () => ({ body: { keys: 'x' } }) } }, 'keys', /no public key/],
  ];
  for (const [lie, name, verdict] of lies) {
    liar.lies = lie;
    const answer = await check(provider);
    t.notOk(answer.passed);
    t.match(verdictOf(answer, name), verdict, JSON.stringify(Object.keys(lie.at ?? lie.discovery ?? {})));
    t.ok(failed(answer).includes(name));
  }
  liar.lies = {};
  const copied = await check({ ...provider, clientSecret: `${clientSecret}\n` });
  t.match(verdictOf(copied, 'secret'), /copied with too much/);
  t.notMatch(JSON.stringify(copied), clientSecret);
});

t.test('clocks that differ, addresses that Apple does not take, keys that are given', async (t) => {
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
  const apple = await parts.providers.latest('apple');
  const at = (base: string, driftMs: number) => checkProvider(apple, { egress, base, now: () => Date.now() + driftMs });
  const fine = await at(PUBLIC, 0);
  t.strictSame(failed(fine), [], JSON.stringify(fine.checks));
  t.strictSame(
    fine.checks.map((one) => one.check),
    ['keys', 'clock', 'secret', 'redirect'],
    'nothing is discovered',
  );
  t.match(verdictOf(fine, 'secret'), /ES256/);
  t.match(verdictOf(await at(PUBLIC, 90_000), 'clock'), /(89|90|91) s ahead of .* expired/);
  t.match(verdictOf(await at(PUBLIC, -90_000), 'clock'), /(89|90|91) s behind/);
  t.strictSame(failed(await at(PUBLIC, 90_000)), ['clock']);
  const fetch: Egress['fetch'] = async (...asked) => {
    const answer = await egress.fetch(...asked);
    answer.headers.delete('date');
    return answer;
  };
  const undated = { fetch, checkUrl: egress.checkUrl.bind(egress) };
  const silent = await checkProvider(apple, { egress: undated, base: PUBLIC });
  t.strictSame(failed(silent), [], 'a provider that sends no date, as Keycloak');
  t.match(verdictOf(silent, 'clock'), /had a date/);
  t.strictSame(failed(await at('http://127.0.0.1:3000', 0)), ['redirect']);
  t.equal((await app.inject({ method: 'POST', url: '/admin/providers/none/check', headers })).statusCode, 404);
});
