/**
 * The stand-ins for identity providers behave as they should: each is tested here without Millrace, by a browser with
 * cookies and a plain client. Sign-in with them has its own tests.
 */
import { createHash, createPrivateKey } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, jwtVerify, SignJWT } from 'jose';
import t from 'tap';
import { startApple } from '../../helpers/providers/apple.ts';
import { CookieBrowser, type Page } from '../../helpers/providers/cookie-browser.ts';
import { CookieJar } from '../../helpers/providers/cookie-jar.ts';
import { startFacebook } from '../../helpers/providers/facebook.ts';
import { startGitHub } from '../../helpers/providers/github.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { startSite } from '../../helpers/providers/site.ts';
import { TOKEN_LIES } from '../../helpers/providers/token-lies.ts';

const APP = 'https://app.example';
const BACK = `${APP}/callback`;
const VERIFIER = 'a-verifier-of-forty-three-characters-or-more-0';
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
};

t.test('the real OpenID provider signs in, returns its claims, and changes its keys', async (t) => {
  const provider = await startOpenIdProvider(t, { redirectUris: [BACK] });
  provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada', hd: 'example.org' });
  const { issuer, clientId } = provider;
  const request = { ...PKCE, client_id: clientId, redirect_uri: BACK, response_type: 'code', state: 's', nonce: 'n' };
  const spots = await json(`${issuer}/.well-known/openid-configuration`);
  const keys = createRemoteJWKSet(new URL(String(spots['jwks_uri'])));

  const signedIn = async () => {
    const browser = new CookieBrowser({ apps: [APP] });
    const first = await browser.goto(
      withQuery(spots['authorization_endpoint'], { ...request, scope: 'openid email profile' }),
    );
    const back = await provider.signIn(browser, first, 'ada');
    t.equal(back.url.searchParams.get('state'), 's', back.html);
    const tokens = await exchange(spots['token_endpoint'], back, {
      client_id: clientId,
      client_secret: provider.clientSecret,
    });
    return String(tokens['id_token']);
  };
  const { payload, protectedHeader } = await jwtVerify(await signedIn(), keys, { issuer, audience: clientId });
  t.match(payload, {
    sub: 'ada',
    nonce: 'n',
    email: 'ada@example.org',
    email_verified: true,
    name: 'Ada',
    hd: 'example.org',
  });
  await provider.rotateKeys();
  const next = await jwtVerify(await signedIn(), createRemoteJWKSet(new URL(String(spots['jwks_uri']))));
  t.not(next.protectedHeader.kid, protectedHeader.kid, 'another key');
  await t.rejects(signedInAs('nobody'), /no form|Error/i, 'an unknown user stays outside');

  async function signedInAs(login: string) {
    const browser = new CookieBrowser({ apps: [APP] });
    const page = await browser.goto(withQuery(spots['authorization_endpoint'], { ...request, scope: 'openid' }));
    const back = await provider.signIn(browser, page, login);
    if (back.url.searchParams.has('error')) throw new Error(`Error ${back.url}`);
  }
});

t.test('the forging provider is honest by default, and then forges every token in another way', async (t) => {
  const provider = await startLyingProvider(t);
  const { issuer, clientId } = provider;
  const signedIn = async () => {
    const browser = new CookieBrowser({ apps: [APP] });
    const request = { ...PKCE, client_id: clientId, redirect_uri: BACK, state: 's', nonce: 'n' };
    const back = await browser.goto(withQuery(`${issuer}/authorization`, request));
    return exchange(`${issuer}/token`, back, { client_id: clientId, client_secret: provider.clientSecret });
  };
  const verified = async (token: unknown) => {
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
    const options = { issuer, audience: clientId, algorithms: ['RS256'], requiredClaims: ['exp', 'iat', 'sub'] };
    const { payload } = await jwtVerify(String(token), keys, options);
    return payload;
  };
  const honest = await signedIn();
  t.match(await verified(honest['id_token']), { sub: 'subject-1', nonce: 'n' });
  const user = await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${honest['access_token']}` } });
  t.match(await user.json(), { sub: 'subject-1', email: 'ada@provider.example' });

  // A library that verifies signatures and these claims accepts tokens whose forgery is outside its expectations.
  const beyondIt = new Set([
    'several audiences without azp',
    'wrong azp',
    'azp of another client',
    'wrong nonce',
    'no nonce',
    'issued far in the future',
    'issued long ago',
    'subject that is no text',
    'empty subject',
    'hash of another access token',
  ]);
  for (const [name, idToken] of Object.entries(TOKEN_LIES)) {
    provider.lies = { idToken };
    const token = (await signedIn())['id_token'];
    if (beyondIt.has(name)) t.ok(await verified(token), name);
    else await t.rejects(verified(token), name);
  }
  provider.lies = {};
  await provider.rotateKeys();
  t.ok(await verified((await signedIn())['id_token']), 'honest again, with a new key');
});

t.test('the stand-in for GitHub behaves like GitHub', async (t) => {
  const github = await startGitHub(t);
  const emails = [{ email: 'ada@example.org', primary: true, verified: true }];
  github.users.set('ada', { id: 7, login: 'ada', name: 'Ada', avatar_url: 'https://x.example/7', emails });
  const client = { client_id: github.clientId, client_secret: github.clientSecret };
  const browser = new CookieBrowser({ apps: [APP] });
  const request = {
    ...PKCE,
    client_id: github.clientId,
    redirect_uri: BACK,
    state: 's',
    scope: 'read:user user:email',
  };
  const page = await browser.goto(withQuery(github.endpoints.authorization, request));
  const denied = await browser.submit(page, { deny: 'Cancel' });
  t.match(Object.fromEntries(denied.url.searchParams), { error: 'access_denied', state: 's' });
  const back = await browser.submit(page, { login: 'ada' });

  const form = {
    ...client,
    code: back.url.searchParams.get('code') ?? '',
    redirect_uri: BACK,
    code_verifier: VERIFIER,
  };
  const response = await fetch(github.endpoints.token, { method: 'POST', body: new URLSearchParams(form) });
  t.match(response.headers.get('content-type'), /x-www-form-urlencoded/);
  const token = new URLSearchParams(await response.text()).get('access_token');
  const again = await fetch(github.endpoints.token, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: { accept: 'application/json' },
  });
  t.equal(again.status, 200, 'an error has status 200');
  t.match(await again.json(), { error: 'bad_verification_code' });
  const headers = { authorization: `Bearer ${token}` };
  t.match(await json(github.endpoints.userinfo, { headers }), { id: 7, email: null });
  t.match(await json(github.endpoints.emails, { headers }), [{ email: 'ada@example.org', verified: true }]);
});

t.test('the stand-in for Facebook behaves like Facebook', async (t) => {
  const facebook = await startFacebook(t);
  facebook.users.set('ada', { id: '10001', name: 'Ada', email: 'ada@example.org' });
  const browser = new CookieBrowser({ apps: [APP] });
  const request = { client_id: facebook.clientId, redirect_uri: BACK, state: 's', scope: 'public_profile,email' };
  const page = await browser.goto(withQuery(facebook.endpoints.authorization, request));
  const back = await browser.submit(page, { login: 'ada' });
  t.equal(back.url.hash, '#_=_');
  const client = { client_id: facebook.clientId, client_secret: facebook.clientSecret };
  const { access_token: token } = await exchange(facebook.endpoints.token, back, { ...client, code_verifier: null });
  const headers = { authorization: `Bearer ${token}` };
  t.strictSame(await json(facebook.endpoints.userinfo, { headers }), { id: '10001', name: 'Ada' });
  const fields = withQuery(facebook.endpoints.userinfo, { fields: 'id,email,picture.type(large)' });
  t.match(await json(fields, { headers }), { id: '10001', email: 'ada@example.org', picture: { data: {} } });
  facebook.demandsProof = true;
  t.match(await json(fields, { headers }), { error: { type: 'OAuthException', code: 100 } });
});

t.test('the stand-in for Apple requires its secret, posts a form and sends the name once', async (t) => {
  const apple = await startApple(t);
  const name = { firstName: 'Ada', lastName: 'Lovelace' };
  apple.users.set('ada', { sub: '001.abc', email: 'x@privaterelay.appleid.com', isPrivateEmail: true, name });
  const received: URLSearchParams[] = [];
  const site = await startSite(t, ({ form }) => {
    received.push(form);
    return { body: 'done' };
  });
  const request = {
    client_id: apple.clientId,
    redirect_uri: `${site.origin}/back`,
    state: 's',
    nonce: 'n',
    scope: 'name email',
  };
  const browser = new CookieBrowser();
  t.match(await browser.goto(withQuery(`${apple.issuer}/auth/authorize`, request)), { status: 400 });
  for (const first of [true, false]) {
    const page = await browser.goto(
      withQuery(`${apple.issuer}/auth/authorize`, { ...request, response_mode: 'form_post' }),
    );
    t.equal((await browser.submit(page, { login: 'ada' })).html, 'done');
    t.equal(received.at(-1)?.has('user'), first, 'the name');
  }
  const form = { client_id: apple.clientId, grant_type: 'authorization_code', redirect_uri: `${site.origin}/back` };
  const token = async (client_secret: string) => {
    const code = received.shift()?.get('code') ?? '';
    const body = new URLSearchParams({ ...form, code, client_secret });
    return json(`${apple.issuer}/auth/token`, { method: 'POST', body });
  };
  const secret = (kid: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(apple.teamId)
      .setSubject(apple.clientId)
      .setAudience(apple.issuer)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(createPrivateKey(apple.privateKey));
  t.match(await token(await secret('ANOTHERKEY')), { error: 'invalid_client' });
  const { id_token } = await token(await secret(apple.keyId));
  t.match(decodeJwt(String(id_token)), {
    sub: '001.abc',
    email_verified: 'true',
    is_private_email: 'true',
    nonce: 'n',
  });
});

t.test('the test browser sends cookies as browsers do', async (t) => {
  const jar = new CookieJar();
  const url = new URL('https://api.example/auth/providers/x/callback');
  const refused = jar.keep(url, [
    '__Host-lax=1; Path=/; Secure; HttpOnly; SameSite=Lax',
    '__Host-none=1; Path=/; Secure; SameSite=None',
    '__Host-strict=1; Path=/; Secure; SameSite=Strict',
    'path=1; Path=/auth; Secure',
    '__Host-path=1; Path=/auth; Secure',
    'none=1; SameSite=None',
    'gone=1; Max-Age=0',
  ]);
  t.equal(refused.length, 2, refused.join(' | '));
  const sent = (from: string | null, method: string, to = url) =>
    jar.header({ url: to, method, initiator: from === null ? null : new URL(from) })?.replaceAll('=1', '');
  const all = '__Host-lax; __Host-none; __Host-strict; path';
  t.equal(sent(null, 'GET'), all, 'an address that was entered');
  t.equal(sent('https://api.example/', 'POST'), all, 'from the same site');
  t.equal(sent('https://other.example/', 'GET'), '__Host-lax; __Host-none; path', 'a link of another site');
  t.equal(sent('https://other.example/', 'POST'), '__Host-none', 'a form of another site');
  t.equal(
    sent(null, 'GET', new URL('https://api.example/authors')),
    '__Host-lax; __Host-none; __Host-strict',
    'a path',
  );
  t.equal(sent(null, 'GET', new URL('http://api.example/auth')), undefined, 'without TLS');
  jar.keep(url, ['__Host-lax=; Path=/; Secure; Max-Age=0', 'path=; Path=/auth; Expires=Thu, 01 Jan 1970 00:00:00 GMT']);
  t.equal(sent('https://other.example/', 'GET'), '__Host-none', 'ended ones');
});

function withQuery(url: unknown, query: Record<string, string>): URL {
  const found = new URL(String(url));
  found.search = String(new URLSearchParams(query));
  return found;
}

async function json(url: string | URL, init?: RequestInit): Promise<Record<string, unknown>> {
  return JSON.parse(await (await fetch(url, init)).text());
}

/** Exchanges the code that a browser came back with. @param more replaces fields; null removes one */
function exchange(url: unknown, { url: back }: Page, more: Record<string, string | null>) {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    redirect_uri: BACK,
    code_verifier: VERIFIER,
  });
  for (const [name, value] of Object.entries(more)) {
    if (value === null) form.delete(name);
    else form.set(name, value);
  }
  return json(String(url), { method: 'POST', body: form });
}
