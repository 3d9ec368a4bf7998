/**
 * Identity providers as data: what is rejected, what presets complete, and how secrets are kept without being shown.
 */
import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { findMissingClaim } from '../../../src/auth/providers/claims.ts';
import { callbackUrl, parseProvider, toProvider, toProviderView } from '../../../src/auth/providers/provider.ts';
import { Egress } from '../../../src/egress/egress.ts';
import { MillraceError } from '../../../src/lib/errors.ts';

const egress = new Egress({ mode: 'development', allow: [] });
t.teardown(() => egress.close());
const checkUrl = (url: string) => egress.checkUrl(url);

const pem = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

const GITHUB = { name: 'github', kind: 'github', clientId: 'c1', clientSecret: 's3cret' };
const OIDC = { name: 'acme', kind: 'oidc', clientId: 'c2', clientSecret: 's3cret', issuer: 'https://id.example.org' };
const APPLE = {
  name: 'apple',
  kind: 'apple',
  clientId: 'org.example.web',
  teamId: 'TEAM123456',
  keyId: 'KEY1234567',
  privateKey: pem('P-256'),
};

/** The JSON Pointers and messages of an error. */
function issuesOf(body: object, before: Parameters<typeof parseProvider>[1] = null): string[] {
  try {
    parseProvider(body, before, checkUrl);
    return [];
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return error.issues.map(({ pointer, detail }) => `${pointer} ${detail}`);
  }
}

t.test('presets complete a provider, and each endpoint can be replaced', async (t) => {
  const { written, secrets } = parseProvider(GITHUB, null, checkUrl);
  const github = toProvider(written, secrets, 'v1');
  t.match(github, {
    clientSecret: 's3cret',
    issuer: null,
    scopes: ['read:user', 'user:email'],
    endpoints: { token: 'https://github.com/login/oauth/access_token', emails: 'https://api.github.com/user/emails' },
    mapping: { profile: { name: 'name', picture: 'avatar_url' }, when: 'first' },
    register: null,
    enabled: true,
    version: 'v1',
  });
  const local = { ...GITHUB, endpoints: { token: 'http://127.0.0.1:9999/token' } };
  const { endpoints } = toProvider(parseProvider(local, null, checkUrl).written, {}, 'v2');
  t.equal(endpoints.token, 'http://127.0.0.1:9999/token');
  t.equal(endpoints.userinfo, 'https://api.github.com/user');
  const apple = parseProvider(APPLE, null, checkUrl);
  t.match(toProvider(apple.written, apple.secrets, 'v1'), {
    clientSecret: null,
    issuer: 'https://appleid.apple.com',
    apple: { teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey: APPLE.privateKey },
  });
  t.equal(
    callbackUrl('https://api.example.org', { name: 'acme', kind: 'oidc' }),
    'https://api.example.org/auth/providers/acme/callback',
  );
});

t.test('fields of another kind, and missing ones, are rejected with their JSON Pointer', async (t) => {
  const refused: [object, RegExp | null][] = [
    [{ ...GITHUB, secret: 'x' }, /^\/secret is not known here/],
    [{ ...GITHUB, name: 'GitHub' }, /^\/name /],
    [{ ...GITHUB, kind: 'ldap' }, /^\/kind must be one of google/],
    [{ ...GITHUB, issuer: 'https://github.com' }, /^\/issuer is not a field of the kind github/],
    [{ ...GITHUB, endpoints: { jwks: 'https://github.com/keys' } }, /^\/endpoints\/jwks is not a field/],
    [{ ...GITHUB, clientSecret: undefined }, /^\/clientSecret is required/],
    [{ ...GITHUB, clientSecret: { set: true } }, /^\/clientSecret is required/],
    [{ ...GITHUB, scopes: ['two words'] }, /^\/scopes\/0 /],
    [{ ...GITHUB, teamId: 'TEAM123456' }, /^\/teamId is not a field/],
    [{ ...OIDC, issuer: undefined }, /^\/issuer is required/],
    [{ ...OIDC, issuer: 'ftp://id.example.org' }, /^\/issuer is not an http/],
    [{ ...OIDC, issuer: 'https://a:b@id.example.org' }, /^\/issuer must not contain a user name/],
    [{ ...OIDC, issuer: 'http://127.0.0.1:9999/' }, null],
    [{ ...OIDC, endpoints: { token: 'https://id.example.org/#x' } }, /^\/endpoints\/token must not contain a fragment/],
    [
      { ...OIDC, endpoints: { token: 'https://10.0.0.1/' } },
      /^\/endpoints\/token points to a network that is not public/,
    ],
    [{ ...OIDC, endpoints: { emails: 'https://id.example.org/e' } }, /^\/endpoints\/emails is not a field/],
    [{ ...OIDC, scopes: ['email'] }, /^\/scopes must contain 'openid'/],
    [{ ...OIDC, roles: ['no role!'] }, /^\/roles\/0 /],
    [{ ...OIDC, require: { hd: { $ne: 1 } } }, /^\/require\/hd /],
    [{ ...OIDC, mapping: { profile: { 'a.b': 'x' } } }, /^\/mapping\/profile/],
    [
      { ...OIDC, mapping: { when: 'renewal' } },
      /^\/mapping\/when can be 'renewal' with OpenID Connect and "storeTokens"/,
    ],
    [{ ...OIDC, storeTokens: true, mapping: { when: 'renewal' } }, null],
    [{ ...GITHUB, storeTokens: true, mapping: { when: 'renewal' } }, /^\/mapping\/when/],
    [{ ...APPLE, clientSecret: 'x' }, /^\/clientSecret is not a field/],
    [{ ...APPLE, privateKey: pem('P-384') }, /^\/privateKey must be a private key of the curve P-256/],
    [{ ...APPLE, privateKey: 'nonsense' }, /^\/privateKey must be a private key/],
    [{ ...APPLE, teamId: undefined }, /^\/teamId is required/],
    // Without a line break, such a name would have to have a value of the right type, too.
    [{ ...OIDC, require: { 'a\nb': { not: 'a claim' } } }, /^\/require\/a\nb is not known/],
    [{ ...OIDC, mapping: { roles: { claim: 'groups', values: { 'a\nb': 5 } } } }, /values\/a\nb is not known/],
  ];
  for (const [body, expected] of refused) {
    t.match(issuesOf(JSON.parse(JSON.stringify(body)))[0] ?? null, expected);
  }
  for (const body of [GITHUB, OIDC, APPLE, { ...OIDC, clientSecret: undefined }]) {
    t.strictSame(issuesOf(JSON.parse(JSON.stringify(body))), []);
  }
});

t.test('a secret is shown as set, and kept by a change that omits it or sends the placeholder', async (t) => {
  const before = parseProvider(OIDC, null, checkUrl);
  const shown = toProviderView(before.written, ['clientSecret']);
  t.strictSame(shown, { ...OIDC, clientSecret: { set: true } });
  t.strictSame(parseProvider(shown, before, checkUrl).secrets, { clientSecret: 's3cret' });
  const { clientSecret: _, ...without } = OIDC;
  t.strictSame(parseProvider({ ...without, enabled: false }, before, checkUrl).secrets, { clientSecret: 's3cret' });
  t.strictSame(parseProvider({ ...OIDC, clientSecret: 'new' }, before, checkUrl).secrets, { clientSecret: 'new' });
});

t.test('a kept secret cannot be redirected to another server', async (t) => {
  const before = parseProvider(OIDC, null, checkUrl);
  const shown = { ...OIDC, clientSecret: { set: true } };
  for (const change of [
    { issuer: 'https://evil.example.org' },
    { clientId: 'other' },
    { kind: 'google' },
    { endpoints: { token: 'https://evil.example.org/token' } },
  ]) {
    t.match(issuesOf({ ...shown, ...change }, before), [/^\/clientSecret must be sent again/], JSON.stringify(change));
  }
  const github = parseProvider(GITHUB, null, checkUrl);
  const moved = { name: 'github', kind: 'github', clientId: 'c1', endpoints: { token: 'https://evil.example.org/t' } };
  t.match(issuesOf(moved, github), [/^\/clientSecret must be sent again/]);
});

t.test('required claims are compared by value, also within lists', async (t) => {
  const provider = (requested: object) =>
    toProvider(parseProvider({ ...OIDC, require: requested }, null, checkUrl).written, {}, 'v');
  const cases: [object, object, string | null][] = [
    [{ hd: 'example.org' }, { hd: 'example.org' }, null],
    [{ hd: 'example.org' }, { hd: 'EXAMPLE.org' }, 'hd'],
    [{ hd: 'example.org' }, { hd: ['example.org'] }, null],
    [{ hd: 'example.org' }, {}, 'hd'],
    [{ tid: ['a', 'b'] }, { tid: 'b' }, null],
    [{ groups: 'staff' }, { groups: ['x', 'staff'] }, null],
    [{ email_verified: true }, { email_verified: 'true' }, 'email_verified'],
    [{ '/org/id': 7 }, { org: { id: 7 } }, null],
    [{ constructor: 'x' }, {}, 'constructor'],
    [{ a: 1, b: 2 }, { a: 1 }, 'b'],
  ];
  for (const [requested, claims, missing] of cases) {
    t.equal(findMissingClaim(provider(requested), { ...claims }), missing, JSON.stringify([requested, claims]));
  }
});
