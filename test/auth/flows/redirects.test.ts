/** Where a flow may end, and what it needs to begin. */
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import {
  beginningAt,
  leadingTo,
  newBrowser,
  newClient,
  REDIRECT,
  signInWorld,
} from '../../helpers/providers/sign-in-world.ts';

const NATIVE = 'com.example.app:/signed-in';

t.test('where a flow may end, and what it needs to begin', async (t) => {
  const world = await signInWorld(t, {
    MILLRACE_REDIRECTS: [
      REDIRECT,
      NATIVE,
      'exp://192.168.1.5:8081/--/in',
      'http://127.0.0.1:1/cb',
      'http://[::1]/cb',
    ].join(),
  });
  const liar = await startLyingProvider(t);
  await world.provide(leadingTo('acme', liar));
  const begin = (change: Readonly<Record<string, string | null>>, accept = 'text/html') =>
    world.app.inject({ url: beginningAt('', 'acme', newClient(), change), headers: { accept, host: 'localhost' } });

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
    await t.test(`not at ${JSON.stringify(redirect)}`, async (t) => {
      const { statusCode, headers, body } = await begin({ redirect });
      t.equal(statusCode, 400);
      t.equal(headers.location, undefined, 'nobody is sent anywhere');
      t.equal(headers['set-cookie'], undefined);
      t.match(body, /redirect-not-allowed/);
      t.match((await begin({ redirect }, 'application/json')).json(), { code: 'redirect-not-allowed' });
    });
  }

  await t.test('at the pages of this server', async (t) => {
    for (const redirect of ['http://localhost/signin', 'http://localhost/dashboard']) {
      t.equal((await begin({ redirect })).statusCode, 302, redirect);
    }
  });

  await t.test('at native apps, which need PKCE with every provider', async (t) => {
    for (const provider of [{}, { pkce: false }]) {
      await world.provide(leadingTo('acme', liar, provider));
      for (const redirect of [
        NATIVE,
        'exp://192.168.1.5:8081/--/in',
        'http://127.0.0.1:51004/cb',
        'http://[::1]:9/cb',
      ]) {
        const client = newClient();
        // A scheme of its own has the origin 'null'.
        const browser = newBrowser({ apps: ['null', 'http://127.0.0.1:51004', 'http://[::1]:9'] });
        const arrive = async () => (await browser.goto(world.beginning('acme', client, { redirect }))).url;
        const end = await arrive();
        t.equal(end.href.slice(0, redirect.length + 6), `${redirect}?code=`);
        t.equal(end.searchParams.get('state'), client.state);
        t.equal((await world.exchange(end.searchParams.get('code') ?? '', newClient().verifier)).statusCode, 401);
        t.equal(
          (await world.exchange((await arrive()).searchParams.get('code') ?? '', client.verifier)).statusCode,
          200,
        );
        for (const change of [{ code_challenge: null }, { code_challenge_method: 'plain' }]) {
          const refused = String((await begin({ redirect, ...change })).headers.location);
          t.equal(refused.slice(0, redirect.length + 24), `${redirect}?error=invalid-parameter`);
        }
      }
    }
  });

  await t.test('a stranger who sends HTML sees it as text', async (t) => {
    const page = await newBrowser().goto(`${world.url}/auth/%3Cscript%3Ealert(1)%3C%2Fscript%3E?redirect=x`);
    t.equal(page.status, 404);
    t.notMatch(page.html, /<script>alert/);
  });

  await t.test('a client without PKCE, or with a weak one, is told so at its redirect', async (t) => {
    for (const change of [
      { code_challenge: null },
      { code_challenge_method: null },
      { code_challenge_method: 'plain' },
      { code_challenge: 'short' },
    ]) {
      const { statusCode, headers } = await begin(change);
      t.equal(statusCode, 302);
      const told = new URL(String(headers.location));
      t.equal(`${told.origin}${told.pathname}`, REDIRECT);
      t.equal(told.searchParams.get('error'), 'invalid-parameter', JSON.stringify(change));
      t.equal(headers['set-cookie'], undefined);
    }
  });

  await t.test('parameters that are not known, given twice, or too long', async (t) => {
    t.equal((await begin({ prompt: 'none' })).statusCode, 400);
    t.equal((await begin({ state: 'x'.repeat(513) })).statusCode, 400);
    const twice = await world.app.inject({ url: `${beginningAt('', 'acme', newClient())}&redirect=https://x.example` });
    t.equal(twice.statusCode, 400);
    t.equal((await begin({ redirect: null })).statusCode, 400);
  });
});
