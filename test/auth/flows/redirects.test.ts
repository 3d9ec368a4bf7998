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

t.test('where a flow may end, and what it needs to begin', async (t) => {
  const world = await signInWorld(t);
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
