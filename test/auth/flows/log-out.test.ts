/** Logging out at the provider too: the session ends here, and the browser is told where it ends the one there. */
import t from 'tap';
import { ask, signUp } from '../../helpers/accounts.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { APP, newBrowser, newClient, outcomeOf, REDIRECT, signInWorld } from '../../helpers/providers/sign-in-world.ts';

const world = await signInWorld(t);
const { app } = world;

const as = ({ accessToken }: { accessToken: string }) => ({ headers: { authorization: `Bearer ${accessToken}` } });
const logOut = (account: { accessToken: string }, more: object = {}) =>
  ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT, ...more }, as(account));

t.test('a real provider ends its session, and sends the browser back', async (t) => {
  const provider = await startOpenIdProvider(t, {
    redirectUris: [`${world.url}/auth/acme/callback`],
    postLogoutRedirectUris: [REDIRECT],
  });
  provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada' });
  const { issuer, clientId, clientSecret } = provider;
  await world.provide({ name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  const browser = newBrowser();
  const enter = async () => {
    const client = newClient();
    const begun = await browser.goto(world.beginning('acme', client));
    const asked = begun.url.origin !== APP;
    const { code } = outcomeOf(asked ? await provider.signIn(browser, begun, 'ada') : begun);
    return { asked, session: (await world.exchange(code, client.verifier)).json() };
  };
  const first = await enter();
  t.ok(first.asked);
  t.notOk((await enter()).asked, 'the provider knows its user');

  const refused = await logOut(first.session, { redirect: 'https://evil.example/' });
  t.match(refused.json(), { code: 'redirect-not-allowed' });
  t.equal((await ask(app, 'GET /auth/me', undefined, as(first.session))).statusCode, 200, 'nothing has ended yet');

  const answer = await logOut(first.session, { state: 'mine' });
  t.equal(answer.statusCode, 200, answer.body);
  const address = new URL(answer.json().address);
  t.equal(address.origin, issuer);
  t.strictSame([...address.searchParams.keys()].sort(), ['client_id', 'post_logout_redirect_uri', 'state'], 'no token');
  t.equal((await ask(app, 'GET /auth/me', undefined, as(first.session))).statusCode, 401, 'the session has ended');
  const confirm = await browser.goto(address);
  t.equal(confirm.status, 200, confirm.html);
  const left = await browser.submit(confirm, { logout: 'yes' });
  t.equal(left.url.href, `${REDIRECT}?state=mine`);
  t.ok((await enter()).asked, 'the provider asks its user again');
});

t.test('where there is nothing to end at a provider, the session ends all the same', async (t) => {
  const liar = await startLyingProvider(t);
  const { issuer, clientId, clientSecret } = liar;
  await world.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  const enter = async () => (await world.enter('liar')).json();
  const accounts = [
    ['of a password', await signUp(app, 'grace')],
    ['of a provider that names no such address', await enter()],
  ] as const;
  for (const [what, account] of accounts) {
    const answer = await logOut(account);
    t.strictSame([answer.statusCode, answer.json()], [200, { address: null }], what);
    t.equal((await ask(app, 'GET /auth/me', undefined, as(account))).statusCode, 401, what);
  }
  liar.lies = { discovery: { end_session_endpoint: 'https://10.0.0.1/logout' } };
  await world.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true });
  t.strictSame((await logOut(await enter())).json(), { address: null }, 'an address that may not be called');
  const session = await enter();
  await world.provide({ name: 'liar', kind: 'oidc', issuer, clientId, clientSecret, register: true, roles: ['x'] });
  liar.lies = { at: { discovery: 'error' } };
  t.strictSame((await logOut(session)).json(), { address: null }, 'a provider that is out of order');
  t.equal((await ask(app, 'GET /auth/me', undefined, as(session))).statusCode, 401);
});
