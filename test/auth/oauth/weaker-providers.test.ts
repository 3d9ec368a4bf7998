/**
 * Providers whose id tokens have no nonce, or that reject PKCE: settings of a provider allow sign-in with them, and
 * nothing more.
 */
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { redirectTo } from '../../helpers/providers/site.ts';
import { TOKEN_LIES } from '../../helpers/providers/token-lies.ts';

t.test('providers that do less than the standard', async (t) => {
  const fixture = await signInFixture(t);
  const liar = await startLyingProvider(t);
  const provide = (more: object) => fixture.provide({ ...leadingTo('acme', liar), ...more });
  const reason = async () => {
    const rows = fixture.services.mongo.data.collection<{ _id: string; details: { reason?: string } }>('_activity');
    const [newest] = await rows.find({ type: 'system.auth.failed' }).sort({ _id: -1 }).limit(1).toArray();
    return newest?.details.reason ?? '';
  };
  const refused = async (pattern: RegExp) => {
    t.equal((await fixture.outcome('acme')).error, 'provider-response-invalid');
    t.match(await reason(), pattern);
    await fixture.services.mongo.log.collection('login_throttle').deleteMany({});
  };

  await t.test(
    'an id token without a nonce is accepted where the nonce is optional, and no other forgery is',
    async (t) => {
      const { 'no nonce': noNonce, ...others } = TOKEN_LIES;
      if (noNonce === undefined) throw new Error('There is no such lie');
      await provide({});
      liar.lies = { idToken: noNonce };
      await refused(/"nonce" to "optional"/);
      await provide({ nonce: 'optional' });
      const entered = await fixture.enter('acme');
      t.equal(entered.statusCode, 200, entered.body);
      for (const [name, idToken] of Object.entries(others)) {
        liar.lies = { idToken };
        await t.test(`rejected: ${name}`, async () => refused(/./));
      }
      liar.lies = {};
      t.equal((await fixture.enter('acme')).statusCode, 200, 'one with the right nonce');
    },
  );

  await t.test('a provider that rejects PKCE is called without it where that is set', async (t) => {
    const words = 'Unknown parameter: code_challenge';
    const error = (description: string) => ({
      authorization: ({ url }: { url: URL }) => {
        const requested = url.searchParams;
        const back = new URL(requested.get('redirect_uri') ?? '');
        const reported = { error: 'invalid_request', error_description: description, iss: liar.issuer };
        back.searchParams.set('state', requested.get('state') ?? '');
        for (const [name, value] of Object.entries(reported)) back.searchParams.set(name, value);
        return redirectTo(back);
      },
    });
    await provide({});
    liar.lies = { at: error(words) };
    await refused(/invalid_request; .*"pkce" to false/);
    liar.lies = { at: error('the user went away') };
    t.equal((await fixture.outcome('acme')).error, 'provider-denied', 'another error means what it meant');
    liar.lies = {
      at: {
        token: () => ({
          status: 400,
          body: { error: 'invalid_grant', error_description: 'code_verifier is unexpected' },
        }),
      },
    };
    await refused(/invalid_grant; .*"pkce" to false/);
    liar.lies = {};
    await provide({ pkce: false });
    const since = liar.requests.length;
    t.equal((await fixture.enter('acme')).statusCode, 200);
    const sent = liar.requests
      .slice(since)
      .map(({ url, form }) => `${url.search}&${form}`)
      .join();
    t.match(sent, /nonce=/);
    t.notMatch(sent, /code_challenge|code_verifier/);
  });
});
