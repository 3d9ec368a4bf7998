/** Logout at the provider too: the session ends here, and the browser gets the URL that ends the one there. */
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import {
  APP,
  newBrowser,
  newClient,
  outcomeOf,
  REDIRECT,
  signInFixture,
} from '../../helpers/providers/sign-in-fixture.ts';
import { ask, signUp } from '../../helpers/users.ts';

const fixture = await signInFixture(t);
const { app } = fixture;

const as = ({ accessToken }: { accessToken: string }) => ({ headers: { authorization: `Bearer ${accessToken}` } });
const logOut = (user: { accessToken: string }, more: object = {}) =>
  ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT, ...more }, as(user));

t.test('a real provider ends its session, and sends the browser back', async (t) => {
  const provider = await startOpenIdProvider(t, {
    redirectUris: [`${fixture.url}/auth/providers/acme/callback`],
    postLogoutRedirectUris: [REDIRECT],
  });
  provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada' });
  const { issuer, clientId, clientSecret } = provider;
  await fixture.provide({ name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  const browser = newBrowser();
  const enter = async () => {
    const client = newClient();
    const begun = await browser.goto(fixture.beginning('acme', client));
    const requested = begun.url.origin !== APP;
    const { code } = outcomeOf(requested ? await provider.signIn(browser, begun, 'ada') : begun);
    return { requested, session: (await fixture.exchange(code, client.verifier)).json() };
  };
  const first = await enter();
  t.ok(first.requested);
  t.notOk((await enter()).requested, 'the provider knows its user');

  const refused = await logOut(first.session, { redirect: 'https://evil.example/' });
  t.match(refused.json(), { code: 'redirect-not-allowed' });
  t.equal((await ask(app, 'GET /auth/me', undefined, as(first.session))).statusCode, 200, 'nothing has ended yet');

  const response = await logOut(first.session, { state: 'mine' });
  t.equal(response.statusCode, 200, response.body);
  const address = new URL(response.json().url);
  t.equal(address.origin, issuer);
  t.strictSame([...address.searchParams.keys()].sort(), ['client_id', 'post_logout_redirect_uri', 'state'], 'no token');
  t.equal((await ask(app, 'GET /auth/me', undefined, as(first.session))).statusCode, 401, 'the session has ended');
  const confirm = await browser.goto(address);
  t.equal(confirm.status, 200, confirm.html);
  const left = await browser.submit(confirm, { logout: 'yes' });
  t.equal(left.url.href, `${REDIRECT}?state=mine`);
  t.ok((await enter()).requested, 'the provider asks its user again');
});

t.test('without a session to end at a provider, logout ends the session all the same', async (t) => {
  const liar = await startLyingProvider(t);
  const { issuer, clientId, clientSecret } = liar;
  await fixture.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  const enter = async () => (await fixture.enter('liar')).json();
  const accounts = [
    ['of a password', await signUp(app, 'grace')],
    ['of a provider that names no such address', await enter()],
  ] as const;
  for (const [what, user] of accounts) {
    const response = await logOut(user);
    t.strictSame([response.statusCode, response.json()], [200, { url: null }], what);
    t.equal((await ask(app, 'GET /auth/me', undefined, as(user))).statusCode, 401, what);
  }
  liar.lies = { discovery: { end_session_endpoint: 'https://10.0.0.1/logout' } };
  await fixture.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  t.strictSame((await logOut(await enter())).json(), { url: null }, 'an address that must not be called');
  const session = await enter();
  await fixture.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true, roles: ['x'] });
  liar.lies = { at: { discovery: 'error' } };
  t.strictSame((await logOut(session)).json(), { url: null }, 'a provider that is out of order');
  t.equal((await ask(app, 'GET /auth/me', undefined, as(session))).statusCode, 401);
});
