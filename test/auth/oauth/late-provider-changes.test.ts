/** A sign-in that ends at a process that has not yet received what the process that started it knows. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  beginningAt,
  newBrowser,
  newClient,
  outcomeOf,
  REDIRECT,
  signInFixture,
} from '../../helpers/providers/sign-in-fixture.ts';
import { ask } from '../../helpers/users.ts';

const PUBLIC = 'http://millrace.localhost';

t.test('a sign-in ends at a process that no event has told of the provider or of its change', async (t) => {
  const [testDatabase, settings] = [
    await testMongo(t),
    { MILLRACE_PUBLIC_URL: PUBLIC, MILLRACE_REDIRECT_URLS: REDIRECT },
  ];
  const fixture = await signInFixture(t, settings, testDatabase);
  const other = await buildTestApp(t, settings, testDatabase);
  const elsewhere = await other.app.listen({ host: '127.0.0.1', port: 0 });
  const { issuer, clientId, clientSecret } = await startLyingProvider(t);
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, register: true };
  // From here on the other process learns of no change of a provider, and looks for none.
  Object.assign(other.services.oauth.providers.reloader, { applyLogRows: () => {} });
  Object.assign(other.services.events, { upToDate: () => true });

  /** Starts at one process, and ends at the other. */
  const signIn = async () => {
    const client = newClient();
    let requested = 0;
    const proxies = {
      get [PUBLIC]() {
        return requested++ === 0 ? fixture.url : elsewhere;
      },
    };
    const { code } = outcomeOf(await newBrowser({ proxies }).goto(beginningAt(PUBLIC, 'acme', client)));
    t.equal(requested, 2);
    const exchanged = await ask(other.app, 'POST /auth/exchange', { code, codeVerifier: client.verifier });
    return exchanged.statusCode;
  };

  await fixture.provide(acme);
  t.equal(other.services.oauth.providers.get('acme'), undefined);
  t.equal(await signIn(), 200, 'with a provider that it does not know');
  await fixture.provide({ ...acme, scopes: ['openid', 'email'] });
  t.not(other.services.oauth.providers.get('acme')?.version, fixture.services.oauth.providers.get('acme')?.version);
  t.equal(await signIn(), 200, 'with a version that it does not know');
});
