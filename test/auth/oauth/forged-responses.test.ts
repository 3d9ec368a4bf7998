/** What a provider may send that must not sign in: forgeries in id tokens, at its endpoints, and of other providers. */
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, newBrowser, newClient, outcomeOf, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { RUDE } from '../../helpers/providers/site.ts';
import { TOKEN_LIES } from '../../helpers/providers/token-lies.ts';

const REFUSED = 'provider-response-invalid';

t.test('forged id tokens', async (t) => {
  const fixture = await signInFixture(t);
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));

  for (const [name, lie] of Object.entries(TOKEN_LIES)) {
    await t.test(`rejected: ${name}`, async (t) => {
      liar.lies = { idToken: lie };
      const { error, code } = await fixture.outcome('acme');
      t.equal(error, REFUSED);
      t.equal(code, undefined);
      liar.lies = {};
      t.equal((await fixture.enter('acme')).statusCode, 200, 'the honest one');
    });
  }

  await t.test('a signing key that is new at the provider is looked up', async (t) => {
    await liar.rotateKeys();
    t.equal((await fixture.enter('acme')).statusCode, 200);
    await liar.rotateKeys();
    t.equal((await fixture.enter('acme')).statusCode, 200, 'also twice within a minute');
  });

  await t.test('administrators see the reason of a failed sign-in, and no client does', async (t) => {
    liar.lies = { ...(TOKEN_LIES['wrong audience'] ? { idToken: TOKEN_LIES['wrong audience'] } : {}) };
    const { error_description: reported } = await fixture.outcome('acme');
    liar.lies = {};
    t.notMatch(reported, /"aud"|audience/);
    const rows = fixture.services.mongo.data.collection<{ _id: string; details: { reason?: string } }>('_activity');
    const [newest] = await rows.find({ type: 'system.auth.failed' }).sort({ _id: -1 }).limit(1).toArray();
    t.match(newest, { details: { provider: 'acme', reason: /"aud"/, ip: /^127\./ } });
  });
});

t.test('endpoints with invalid responses', async (t) => {
  const fixture = await signInFixture(t);
  const spots = ['discovery', 'jwks', 'token', 'userinfo'] as const;
  const rude = Object.keys(RUDE).filter((name): name is keyof typeof RUDE => name in RUDE);
  const all = [];
  // One after the other: generating their keys would occupy the threads that outgoing calls need.
  for (const spot of spots) for (const name of rude) all.push({ spot, name, liar: await startLyingProvider(t) });
  // All at once: those that never respond take until the timeout of outgoing calls.
  const results = await Promise.all(
    all.map(async ({ spot, name, liar }) => {
      liar.thin = ['email'];
      liar.claims = { ...liar.claims, sub: `${spot}-${name}`, email: `${spot}-${name}@example.org` };
      const provider = `${spot}-${name}`;
      await fixture.provide(leadingTo(provider, liar));
      liar.lies = { at: { [spot]: name } };
      const { error } = await fixture.outcome(provider);
      liar.lies = {};
      return { spot, name, error, after: await fixture.enter(provider) };
    }),
  );
  for (const { spot, name, error, after } of results) {
    await t.test(`${spot}: ${name}`, async (t) => {
      t.match(error, /^provider-(unavailable|response-invalid)$/);
      t.equal(after.statusCode, 200, `it is not kept: ${after.body}`);
    });
  }
});

t.test('what a provider says of itself and of others', async (t) => {
  const fixture = await signInFixture(t);
  const [liar, other] = [await startLyingProvider(t), await startLyingProvider(t)];
  other.claims = { ...other.claims, email: 'other@example.org' };
  const fresh = async () => {
    liar.lies = {};
    await fixture.provide(leadingTo('acme', liar));
  };
  await fixture.provide(leadingTo('other', other));

  await t.test('a discovery document with another issuer is rejected', async (t) => {
    await fresh();
    liar.lies = { discovery: { issuer: other.issuer } };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    await fresh();
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('user info of another subject is rejected', async (t) => {
    await fresh();
    liar.thin = ['email'];
    liar.lies = { userinfo: { sub: 'somebody-else' } };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    liar.lies = {};
    const { user } = (await fixture.enter('acme')).json();
    t.equal(user.email, 'ada@provider.example', 'honest user info adds to a thin id token');
    liar.thin = [];
  });

  await t.test('a signature by a shared secret is rejected, even when discovery announces it', async (t) => {
    await fresh();
    const secret = TOKEN_LIES['HS256 with the public key as PEM'];
    liar.lies = {
      discovery: { id_token_signing_alg_values_supported: ['HS256', 'none'] },
      ...(secret === undefined ? {} : { idToken: secret }),
    };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
  });

  await t.test('mix-up: the response of one provider in the sign-in of another (RFC 9207)', async (t) => {
    await fresh();
    liar.lies = { redirect: { iss: other.issuer } };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    liar.lies = { redirect: { iss: null } };
    t.equal((await fixture.outcome('acme')).error, REFUSED, 'it announced that it would name itself');
    await fresh();
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('mix-up: the code of one provider at the callback of another', async (t) => {
    await fresh();
    const browser = newBrowser();
    // The provider sends the browser to the callback of the other one.
    liar.lies = {
      at: {
        authorization: ({ url }) => {
          const back = new URL((url.searchParams.get('redirect_uri') ?? '').replace('/acme/', '/other/'));
          back.searchParams.set('state', url.searchParams.get('state') ?? '');
          back.searchParams.set('code', 'stolen');
          return { status: 302, headers: { location: back.href } };
        },
      },
    };
    const before = other.requests.length;
    const page = await browser.goto(fixture.beginning('acme', newClient()));
    t.equal(page.status, 400, page.html);
    t.match(page.html, /sign-in-expired/);
    t.equal(other.requests.length, before, 'the other provider is not asked');
  });

  await t.test('a user who denies the sign-in at the provider', async (t) => {
    await fresh();
    liar.lies = { redirect: { code: null, error: 'access_denied', error_description: '<b>no</b>' } };
    const reported = await fixture.outcome('acme');
    t.equal(reported.error, 'provider-denied');
    t.match(reported.error_description, /access_denied/);
    t.notMatch(reported.error_description, /<b>/);
  });

  await t.test('a code that the provider does not know, or has seen before', async (t) => {
    await fresh();
    liar.lies = { redirect: { code: 'made-up' } };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    let kept = '';
    await fresh();
    liar.lies = {
      at: {
        token: ({ form }) => {
          kept = form.get('code') ?? '';
          return { status: 500, body: 'out of order' };
        },
      },
    };
    await fixture.outcome('acme');
    liar.lies = { redirect: { code: kept } };
    t.equal((await fixture.outcome('acme')).error, REFUSED, 'in another flow it has another verifier');
  });

  await t.test('a restriction that the claims do not meet', async (t) => {
    await fixture.provide(leadingTo('acme', liar, { require: { hd: ['example.org', 'example.com'] } }));
    liar.lies = {};
    liar.claims = { ...liar.claims, hd: 'gmail.example' };
    t.equal((await fixture.outcome('acme')).error, 'provider-account-not-allowed');
    liar.claims = { ...liar.claims, hd: 'example.com' };
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('a second factor that the provider did not require', async (t) => {
    await fixture.provide(leadingTo('acme', liar, { require: { amr: 'mfa' } }));
    liar.lies = {};
    for (const amr of [undefined, 'pwd', ['pwd']]) {
      liar.claims = { ...liar.claims, amr };
      t.equal((await fixture.outcome('acme')).error, 'provider-account-not-allowed', String(amr));
    }
    liar.claims = { ...liar.claims, amr: ['pwd', 'mfa'] };
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('failed sign-ins with providers in a row make the network wait', async (t) => {
    await fresh();
    const browser = newBrowser();
    liar.lies = { redirect: { code: 'made-up' } };
    for (let time = 0; time < 5; time++) {
      t.equal(outcomeOf(await browser.goto(fixture.beginning('acme', newClient()))).error, REFUSED);
    }
    const requested = liar.requests.length;
    t.equal(outcomeOf(await browser.goto(fixture.beginning('acme', newClient()))).error, 'rate-limited');
    t.equal(liar.requests.length, requested + 1, 'the provider saw the browser, and no code from here');
    await fresh();
    t.equal((await fixture.enter('acme')).statusCode, 200, 'other networks do not wait');
  });
});
