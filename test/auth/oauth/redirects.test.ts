/** Where a sign-in may end, and what it needs to start. */
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  beginningAt,
  leadingTo,
  newBrowser,
  newClient,
  REDIRECT,
  signInFixture,
} from '../../helpers/providers/sign-in-fixture.ts';

const NATIVE = 'com.example.app:/signed-in';

t.test('where a sign-in may redirect, and what it needs to start', async (t) => {
  const fixture = await signInFixture(t, {
    MILLRACE_REDIRECT_URLS: [
      REDIRECT,
      NATIVE,
      'exp://192.168.1.5:8081/--/in',
      'http://127.0.0.1:1/cb',
      'http://[::1]/cb',
    ].join(),
  });
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));
  const begin = (change: Readonly<Record<string, string | null>>, accept = 'text/html') =>
    fixture.app.inject({ url: beginningAt('', 'acme', newClient(), change), headers: { accept, host: 'localhost' } });

  const { host } = new URL(REDIRECT);
  const FOREIGN = [
    `https://${host.toUpperCase()}/signed-in`,
    `https://${host}/Signed-In`,
    `${REDIRECT}/`,
    `${REDIRECT}/../signed-in`,
    `${REDIRECT}?next=https://attacker.example`,
    `${REDIRECT}#`,
    `${REDIRECT}#fragment`,
    `https://user@${host}/signed-in`,
    `https://${host}@attacker.example/signed-in`,
    `https://${host}.attacker.example/signed-in`,
    `https://attacker.example/${host}/signed-in`,
    `https://${host}:443/signed-in`,
    `https://${host}./signed-in`,
    `http://${host}/signed-in`,
    `//${host}/signed-in`,
    `https:/${host}/signed-in`,
    `https:\\\\${host}\\signed-in`,
    ` ${REDIRECT}`,
    `${REDIRECT}%2f..`,
    `${REDIRECT}\n`,
    'javascript:alert(1)',
    'data:text/html,x',
    'com.example.app:/other',
    'com.example.app.evil:/signed-in',
    'COM.example.app:/signed-in',
    'http://127.0.0.1:1/other',
    'http://localhost:1/cb',
    '/signin',
    '/dashboard',
    'http://localhost/dashboard/',
    'http://localhost/dashboard/settings',
    'http://localhost/dashboard?next=https://attacker.example',
    'http://localhost/dashboard#',
    'http://localhost.attacker.example/dashboard',
    'https://attacker.example/dashboard',
    '',
  ];
  for (const redirect of FOREIGN) {
    await t.test(`a sign-in does not end at ${JSON.stringify(redirect)}`, async (t) => {
      const { statusCode, headers, body } = await begin({ redirect });
      t.equal(statusCode, 400);
      t.equal(headers.location, undefined, 'nobody is sent anywhere');
      t.equal(headers['set-cookie'], undefined);
      t.match(body, /redirect-not-allowed/);
      t.match((await begin({ redirect }, 'application/json')).json(), { code: 'redirect-not-allowed' });
    });
  }

  await t.test('a sign-in may end at the hosted pages of this server', async (t) => {
    for (const redirect of ['http://localhost/signin', 'http://localhost/dashboard']) {
      t.equal((await begin({ redirect })).statusCode, 302, redirect);
    }
  });

  await t.test('a sign-in may end at native apps, which need PKCE with every provider', async (t) => {
    for (const provider of [{}, { pkce: false }]) {
      await fixture.provide(leadingTo('acme', liar, provider));
      for (const redirect of [
        NATIVE,
        'exp://192.168.1.5:8081/--/in',
        'http://127.0.0.1:51004/cb',
        'http://[::1]:9/cb',
      ]) {
        const client = newClient();
        // A custom scheme has the origin 'null'.
        const browser = newBrowser({ apps: ['null', 'http://127.0.0.1:51004', 'http://[::1]:9'] });
        const arrive = async () => (await browser.goto(fixture.beginning('acme', client, { redirect }))).url;
        const end = await arrive();
        t.equal(end.href.slice(0, redirect.length + 6), `${redirect}?code=`);
        t.equal(end.searchParams.get('state'), client.state);
        t.equal((await fixture.exchange(end.searchParams.get('code') ?? '', newClient().verifier)).statusCode, 401);
        t.equal(
          (await fixture.exchange((await arrive()).searchParams.get('code') ?? '', client.verifier)).statusCode,
          200,
        );
        for (const change of [{ code_challenge: null }, { code_challenge_method: 'plain' }]) {
          const refused = String((await begin({ redirect, ...change })).headers.location);
          t.equal(refused.slice(0, redirect.length + 24), `${redirect}?error=invalid-parameter`);
        }
      }
    }
  });

  await t.test('HTML that a client sends to the sign-in is shown as text', async (t) => {
    const page = await newBrowser().goto(`${fixture.url}/auth/%3Cscript%3Ealert(1)%3C%2Fscript%3E?redirect=x`);
    t.equal(page.status, 404);
    t.notMatch(page.html, /<script>alert/);
  });

  await t.test('a client without PKCE, or with a weak one, gets the error at its redirect URL', async (t) => {
    for (const change of [
      { code_challenge: null },
      { code_challenge_method: null },
      { code_challenge_method: 'plain' },
      { code_challenge: 'short' },
    ]) {
      const { statusCode, headers } = await begin(change);
      t.equal(statusCode, 302);
      const reported = new URL(String(headers.location));
      t.equal(`${reported.origin}${reported.pathname}`, REDIRECT);
      t.equal(reported.searchParams.get('error'), 'invalid-parameter', JSON.stringify(change));
      t.equal(headers['set-cookie'], undefined);
    }
  });

  await t.test('sign-in parameters that are unknown, given twice, or too long', async (t) => {
    t.equal((await begin({ prompt: 'none' })).statusCode, 400);
    t.equal((await begin({ state: 'x'.repeat(513) })).statusCode, 400);
    const twice = await fixture.app.inject({
      url: `${beginningAt('', 'acme', newClient())}&redirect=https://x.example`,
    });
    t.equal(twice.statusCode, 400);
    t.equal((await begin({ redirect: null })).statusCode, 400);
  });
});
