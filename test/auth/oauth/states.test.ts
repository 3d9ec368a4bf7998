/**
 * What an attacker may try with a sign-in: its state, its cookie, its code, its verifier. Where it may end:
 * redirects.test.ts.
 */
import { createHash } from 'node:crypto';
import t from 'tap';
import { testMongo } from '../../helpers/mongo.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, newBrowser, newClient, outcomeOf, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { ask } from '../../helpers/users.ts';

const RACERS = 50;

t.test('a sign-in with a provider', async (t) => {
  const testDatabase = await testMongo(t);
  const [fixture, other] = [await signInFixture(t, {}, testDatabase), await signInFixture(t, {}, testDatabase)];
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));

  /** Starts a sign-in; returns the URL at which the provider would end it, which is not opened. */
  async function stopped(browser = newBrowser(), client = newClient()) {
    let callback = '';
    liar.lies = {
      at: {
        authorization: () => ({ status: 200, body: 'Who are you?' }),
      },
    };
    const page = await browser.goto(fixture.beginning('acme', client));
    liar.lies = {};
    const response = await fetch(page.url, { redirect: 'manual' });
    callback = response.headers.get('location') ?? '';
    return { browser, client, callback, state: new URL(callback).searchParams.get('state') ?? '' };
  }

  const changed = (callback: string, change: Readonly<Record<string, string | null>>) => {
    const url = new URL(callback);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url;
  };

  await t.test('an honest sign-in ends with a session', async (t) => {
    const { browser, client, callback } = await stopped();
    const { code, state } = outcomeOf(await browser.goto(callback));
    t.equal(state, client.state);
    t.equal((await fixture.exchange(code, client.verifier)).statusCode, 200);
  });

  await t.test('is rejected with a wrong state, without one, with two, and without its parameters', async (t) => {
    const { browser, callback, client, state } = await stopped();
    for (const change of [{ state: 'A'.repeat(43) }, { state: null }, { state: `${state}x` }]) {
      const page = await browser.goto(changed(callback, change));
      t.equal(page.status, 400, JSON.stringify(change));
      t.match(page.html, /sign-in-expired/);
      t.match(page.headers, { 'content-type': /^text\/html/, 'content-security-policy': /default-src 'none'/ });
    }
    const twice = await browser.goto(`${callback}&state=${state}`);
    t.equal(twice.status, 400);
    t.equal((await browser.goto(`${fixture.url}/auth/providers/acme/callback`)).status, 400);
    const { code } = outcomeOf(await browser.goto(callback));
    t.equal((await fixture.exchange(code, client.verifier)).statusCode, 200, 'the honest one is not used up by that');
  });

  await t.test('is rejected at the second use of its state', async (t) => {
    const { browser, callback } = await stopped();
    const kept = browser.jar.copy();
    outcomeOf(await browser.goto(callback));
    t.equal((await browser.goto(callback)).status, 400);
    t.equal((await newBrowser({}, kept).goto(callback)).status, 400, 'with the cookie that was removed, too');
  });

  await t.test('of another browser is rejected: no cookie, or the one of another sign-in', async (t) => {
    const [mine, theirs] = [await stopped(), await stopped()];
    const anonymous = newBrowser();
    t.equal((await anonymous.goto(mine.callback)).status, 400, 'no cookie');
    t.equal((await theirs.browser.goto(mine.callback)).status, 400, 'a cookie of their own');
    const { code } = outcomeOf(await mine.browser.goto(mine.callback));
    t.equal((await fixture.exchange(code, mine.client.verifier)).statusCode, 200);

    // The value of another sign-in under the name of this one.
    const [victim, attacker] = [await stopped(), await stopped()];
    const [requested] = victim.browser.jar.of(new URL(fixture.url));
    const [own] = attacker.browser.jar.of(new URL(fixture.url));
    attacker.browser.jar.keep(new URL(fixture.url), [`${requested?.name}=${own?.value}; Path=/`]);
    t.equal((await attacker.browser.goto(victim.callback)).status, 400, 'a cookie that was made up');
  });

  await t.test('a sign-in does not disturb a second one in the same browser', async (t) => {
    const browser = newBrowser();
    const [one, two] = [await stopped(browser), await stopped(browser)];
    for (const { callback, client } of [one, two]) {
      const { code } = outcomeOf(await browser.goto(callback));
      t.equal((await fixture.exchange(code, client.verifier)).statusCode, 200);
    }
  });

  await t.test('sign-ins leave eight cookies in a browser at most', async (t) => {
    const browser = newBrowser();
    for (let count = 0; count < 12; count++) await stopped(browser);
    t.equal(browser.jar.of(new URL(fixture.url)).length, 8);
  });

  await t.test('ends once in two processes, however many requests arrive at once', async (t) => {
    const { browser, callback } = await stopped();
    const [cookie] = browser.jar.of(new URL(fixture.url));
    const attempts = await Promise.all(
      Array.from({ length: RACERS }, (_, index) => {
        const url = new URL(callback);
        const { app } = index % 2 === 0 ? fixture : other;
        return app.inject({
          url: `${url.pathname}${url.search}`,
          headers: { host: url.host, cookie: `${cookie?.name}=${cookie?.value}`, accept: 'application/json' },
          remoteAddress: `10.50.0.${index}`,
        });
      }),
    );
    const ended = attempts.filter(({ statusCode }) => statusCode === 302);
    t.equal(ended.length, 1);
    t.match(ended[0]?.headers.location, /[?&]code=/);
    t.equal(
      attempts.filter((one) => one.statusCode === 400 && one.json().code === 'sign-in-expired').length,
      RACERS - 1,
    );
  });

  await t.test('a sign-in is rejected when the provider was changed, disabled or removed meanwhile', async (t) => {
    const first = await stopped();
    await fixture.provide(leadingTo('acme', liar, { scopes: ['openid', 'email'] }));
    t.match(outcomeOf(await first.browser.goto(first.callback)), { error: 'sign-in-expired' });
    const second = await stopped();
    const coded = await stopped();
    const { code } = outcomeOf(await coded.browser.goto(coded.callback));
    await fixture.provide(leadingTo('acme', liar, { enabled: false }));
    t.equal((await second.browser.goto(second.callback)).status, 404);
    t.equal((await newBrowser().goto(fixture.beginning('acme', newClient()))).status, 404);
    t.equal((await fixture.exchange(code, coded.client.verifier)).statusCode, 401, 'a code from before, too');
    t.strictSame((await ask(fixture.app, 'GET /auth/providers')).json().providers, []);
    await fixture.provide(leadingTo('acme', liar));
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('a sign-in sends our own verifier to the provider, which no client can strip or choose', async (t) => {
    const { browser, client, callback } = await stopped();
    const requested = liar.requests.findLast(({ url }) => url.pathname === '/authorization')?.url.searchParams;
    t.equal(requested?.get('code_challenge_method'), 'S256');
    t.not(requested?.get('code_challenge'), client.challenge);
    await browser.goto(callback);
    const verifier = liar.requests.findLast(({ url }) => url.pathname === '/token')?.form.get('code_verifier') ?? '';
    t.equal(createHash('sha256').update(verifier).digest('base64url'), requested?.get('code_challenge'));
  });
});

t.test('a one-time code', async (t) => {
  const testDatabase = await testMongo(t);
  const [fixture, other] = [await signInFixture(t, {}, testDatabase), await signInFixture(t, {}, testDatabase)];
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));
  const coded = async () => {
    const client = newClient();
    const { code } = await fixture.outcome('acme', client);
    return { code: code ?? '', verifier: client.verifier };
  };

  await t.test('a one-time code works once, in any process', async (t) => {
    const { code, verifier } = await coded();
    t.equal((await other.exchange(code, verifier)).statusCode, 200);
    const again = await fixture.exchange(code, verifier);
    t.equal(again.statusCode, 401);
    t.match(again.json(), { code: 'invalid-token' });
  });

  await t.test('works once for 50 requests at once', async (t) => {
    const { code, verifier } = await coded();
    const attempts = Array.from({ length: RACERS }, (_, index) =>
      (index % 2 ? fixture : other).exchange(code, verifier),
    );
    const statuses = (await Promise.all(attempts)).map(({ statusCode }) => statusCode);
    t.strictSame(statuses.sort(), [200, ...Array.from({ length: RACERS - 1 }, () => 401)]);
  });

  await t.test('is useless when stolen, and a wrong verifier uses it up', async (t) => {
    const { code, verifier } = await coded();
    t.equal((await fixture.exchange(code, newClient().verifier)).statusCode, 401);
    t.equal((await fixture.exchange(code, verifier)).statusCode, 401, 'used up');
    const challenged = await coded();
    const challenge = createHash('sha256').update(challenged.verifier).digest('base64url');
    t.equal((await fixture.exchange(challenged.code, challenge)).statusCode, 401, 'the challenge is no verifier');
    for (const body of [
      { code },
      { code, codeVerifier: '' },
      { code, codeVerifier: null },
      { codeVerifier: verifier },
    ]) {
      t.equal((await ask(fixture.app, 'POST /auth/exchange', body)).statusCode, 400, JSON.stringify(body));
    }
  });

  await t.test('a one-time code of another kind is invalid', async (t) => {
    const { verifier } = await coded();
    const { ticket } = (await ask(fixture.app, 'POST /auth/ticket', undefined, await user())).json();
    t.equal((await fixture.exchange(ticket, verifier)).statusCode, 401);
  });

  await t.test('a one-time code is of no use once its user is disabled', async (t) => {
    const { code, verifier } = await coded();
    const { user } = (await fixture.enter('acme')).json();
    await fixture.services.auth.users.change(user.id, { disabled: true }, { by: null, request: null });
    t.match((await fixture.exchange(code, verifier)).json(), { code: 'invalid-credentials' });
    t.equal((await fixture.outcome('acme')).error, 'invalid-credentials');
    await fixture.services.auth.users.change(user.id, { disabled: false }, { by: null, request: null });
    t.equal((await fixture.enter('acme')).statusCode, 200);
  });

  await t.test('a one-time code is of no use once its user is deleted', async (t) => {
    liar.claims = { ...liar.claims, sub: 'subject-2', email: 'two@example.org' };
    const { user } = (await fixture.enter('acme')).json();
    const { code, verifier } = await coded();
    await fixture.services.auth.users.remove(user.id, { by: null, request: null });
    t.equal((await fixture.exchange(code, verifier)).statusCode, 401);
    t.not((await fixture.enter('acme')).json().user.id, user.id, 'the next sign-in makes another account');
  });

  await t.test('guessing one-time codes makes the network wait', async (t) => {
    const guess = () =>
      fixture.app.inject({
        method: 'POST',
        url: '/auth/exchange',
        remoteAddress: '10.77.0.1',
        payload: { code: 'A'.repeat(43), codeVerifier: 'A'.repeat(43) },
      });
    for (let time = 0; time < 5; time++) t.equal((await guess()).statusCode, 401);
    t.equal((await guess()).statusCode, 429);
  });

  async function user() {
    const { accessToken } = (await fixture.enter('acme')).json();
    return { headers: { authorization: `Bearer ${accessToken}` } };
  }
});
