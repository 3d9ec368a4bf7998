/** Logging out of a session that a provider opened: here at once, and there at the address that the answer names. */
import t from 'tap';
import { ask, signUp } from '../../helpers/accounts.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import {
  leadingTo,
  newBrowser,
  newClient,
  outcomeOf,
  REDIRECT,
  signInWorld,
} from '../../helpers/providers/sign-in-world.ts';

t.test('logging out', async (t) => {
  const world = await signInWorld(t);
  const callback = `${world.url}/auth/acme/callback`;
  const provider = await startOpenIdProvider(t, { redirectUris: [callback] });
  provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada' });
  await world.provide(leadingTo('acme', provider));
  const signedIn = (accessToken: string) => ({ headers: { authorization: `Bearer ${accessToken}` } });

  await t.test('ends the session here, and names where the one of the provider is ended', async (t) => {
    const browser = newBrowser();
    const client = newClient();
    const begun = await browser.goto(world.beginning('acme', client));
    const { code } = outcomeOf(await provider.signIn(browser, begun, 'ada'));
    const as = signedIn((await world.exchange(code, client.verifier)).json().accessToken);
    t.match((await ask(world.app, 'GET /auth/sessions', undefined, as)).json(), [{ provider: 'acme' }]);
    const again = await browser.goto(world.beginning('acme', newClient()));
    t.equal(again.url.href.split('?')[0], REDIRECT, 'the provider still knows the user');

    const answer = await ask(world.app, 'POST /auth/logout', undefined, as);
    t.equal(answer.statusCode, 200, answer.body);
    t.equal((await ask(world.app, 'GET /auth/me', undefined, as)).statusCode, 401);
    const { address } = answer.json();
    t.ok(address.startsWith(`${provider.issuer}/`), address);
    const asked = await browser.goto(address);
    await browser.submit(asked, { logout: 'yes' });
    const after = await browser.goto(world.beginning('acme', newClient()));
    t.equal(after.url.origin, provider.issuer, 'the provider asks who it is');
  });

  await t.test('is done where the provider has no such address, is away, or is gone', async (t) => {
    const liar = await startLyingProvider(t);
    await world.provide(leadingTo('plain', liar));
    const as = signedIn((await world.enter('plain')).json().accessToken);
    t.equal((await ask(world.app, 'POST /auth/logout', undefined, as)).statusCode, 204);
    for (const change of [{ lies: { at: { discovery: 'error' } } }, { enabled: false }] as const) {
      const next = signedIn((await world.enter('plain')).json().accessToken);
      await world.provide(leadingTo('plain', liar, 'enabled' in change ? change : {}));
      if ('lies' in change) liar.lies = change.lies;
      t.equal((await ask(world.app, 'POST /auth/logout', undefined, next)).statusCode, 204, JSON.stringify(change));
      liar.lies = {};
    }
  });

  await t.test('of a session by a password names nothing', async (t) => {
    const grace = await signUp(world.app, 'grace');
    t.match((await ask(world.app, 'GET /auth/sessions', undefined, grace)).json(), [{ provider: null }]);
    t.equal((await ask(world.app, 'POST /auth/logout', undefined, grace)).statusCode, 204);
  });
});
