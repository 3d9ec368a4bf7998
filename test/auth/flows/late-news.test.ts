/** A flow that ends at a process that has not been told yet what the process that began it knows. */
import t from 'tap';
import { ask } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  beginningAt,
  newBrowser,
  newClient,
  outcomeOf,
  REDIRECT,
  signInWorld,
} from '../../helpers/providers/sign-in-world.ts';

const PUBLIC = 'http://millrace.localhost';

t.test('a flow ends at a process that no event has told of the provider or of its change', async (t) => {
  const [place, settings] = [await testMongo(t), { MILLRACE_PUBLIC_URL: PUBLIC, MILLRACE_REDIRECTS: REDIRECT }];
  const world = await signInWorld(t, settings, place);
  const other = await buildTestApp(t, settings, place);
  const elsewhere = await other.app.listen({ host: '127.0.0.1', port: 0 });
  const { issuer, clientId, clientSecret } = await startLyingProvider(t);
  const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, register: true };
  // From here on the other process hears of no change of a provider, and looks for none.
  Object.assign(other.parts.providers.reloader, { follow: () => {} });
  Object.assign(other.parts.events, { upToDate: () => true });

  /** Begins at one process, and ends at the other. */
  const signIn = async () => {
    const client = newClient();
    let asked = 0;
    const proxies = {
      get [PUBLIC]() {
        return asked++ === 0 ? world.url : elsewhere;
      },
    };
    const { code } = outcomeOf(await newBrowser({ proxies }).goto(beginningAt(PUBLIC, 'acme', client)));
    t.equal(asked, 2);
    const exchanged = await ask(other.app, 'POST /auth/exchange', { code, codeVerifier: client.verifier });
    return exchanged.statusCode;
  };

  await world.provide(acme);
  t.equal(other.parts.providers.get('acme'), undefined);
  t.equal(await signIn(), 200, 'with a provider that it does not know');
  await world.provide({ ...acme, scopes: ['openid', 'email'] });
  t.not(other.parts.providers.get('acme')?.version, world.parts.providers.get('acme')?.version);
  t.equal(await signIn(), 200, 'with a version that it does not know');
});
