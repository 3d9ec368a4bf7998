/**
 * Each kind of provider signs a user in, twice, to the same user. Two servers in production mode share a database: each
 * sign-in starts at one and ends at the other, over https as browsers see it.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { startApple } from '../../helpers/providers/apple.ts';
import type { CookieBrowser, Page } from '../../helpers/providers/cookie-browser.ts';
import { startFacebook } from '../../helpers/providers/facebook.ts';
import { startGitHub } from '../../helpers/providers/github.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { beginningAt, newBrowser, newClient, outcomeOf, REDIRECT } from '../../helpers/providers/sign-in-fixture.ts';
import { PASSWORD } from '../../helpers/users.ts';

const PUBLIC = 'https://millrace.example';
const ADMIN = 'boss@example.org';
const callback = (name: string) => `${PUBLIC}/auth/providers/${name}/callback`;

interface ApiResponse {
  readonly accessToken?: string;
  readonly user?: { readonly id: string; readonly roles: readonly string[]; readonly profile: object };
}

const asResponse = (value: unknown): ApiResponse => (typeof value === 'object' && value !== null ? value : {});

t.test('each kind of provider signs in twice, each time through two servers', async (t) => {
  const testDatabase = await testMongo(t);
  const passwordFile = join(t.testdir(), 'password');
  await writeFile(passwordFile, PASSWORD);
  const settings = {
    MILLRACE_MODE: 'production',
    MILLRACE_PUBLIC_URL: PUBLIC,
    MILLRACE_REDIRECT_URLS: REDIRECT,
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_ADMIN_EMAIL: ADMIN,
    MILLRACE_ADMIN_PASSWORD_FILE: passwordFile,
  };
  const start = async () => {
    const { app } = await buildTestApp(t, settings, testDatabase);
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }) };
  };
  const [first, second] = await Promise.all([start(), start()]);

  async function request(path: string, body: object, headers: Record<string, string> = {}) {
    const response = await fetch(`${first.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: asResponse(await response.json()) };
  }
  const boss = (await request('/auth/login', { username: ADMIN, password: PASSWORD })).body;

  type SignIn = (browser: CookieBrowser, page: Page, login: string) => Promise<Page>;
  const byForm: SignIn = (browser, page, login) => browser.submit(page, { login });

  /** Signs one person in twice, in a new browser each time. */
  async function twice(t: Test, provider: { readonly name: string }, signIn: SignIn, login: string) {
    const created = await request('/admin/providers', provider, { authorization: `Bearer ${boss.accessToken}` });
    t.equal(created.status, 201, JSON.stringify(created.body));
    const users = [];
    for (const time of ['first', 'second']) {
      const client = newClient();
      let requested = 0;
      // The browser sees one origin. The first request goes to one server, the next to the other.
      const proxies = {
        get [PUBLIC]() {
          return (requested++ % 2 === 0 ? first : second).url;
        },
      };
      const browser = newBrowser({ proxies });
      const begun = await browser.goto(beginningAt(PUBLIC, provider.name, client));
      t.match(browser.jar.of(new URL(PUBLIC)), [{ name: /^__Host-millrace-flow-/, secure: true }], time);
      const ended = await signIn(browser, begun, login);
      t.strictSame(browser.refused, [], 'the browser takes each cookie');
      t.equal(ended.url.hash, '', 'no fragment of the provider arrives');
      const { code, state } = outcomeOf(ended);
      t.equal(state, client.state);
      t.equal(requested, 2, 'begun at one server, ended at the other');
      t.strictSame(browser.jar.of(new URL(PUBLIC)), [], 'nothing is left in the browser');
      const { status, body } = await request('/auth/exchange', { code, codeVerifier: client.verifier });
      t.equal(status, 200, JSON.stringify(body));
      const me = await fetch(`${first.url}/auth/me`, { headers: { authorization: `Bearer ${body.accessToken}` } });
      t.match(await me.json(), { id: body.user?.id });
      users.push(body.user);
    }
    t.equal(users[0]?.id, users[1]?.id, 'the same account');
    return users[1];
  }

  await t.test('sign-in with OpenID Connect, with a real provider', async (t) => {
    const provider = await startOpenIdProvider(t, { redirectUris: [callback('acme')] });
    provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada', groups: ['eng'] });
    const { issuer, clientId, clientSecret } = provider;
    const mapping = { roles: { claim: 'groups', values: { eng: ['author'] } }, profile: { name: 'name' } };
    const acme = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, mapping, roles: ['member'] };
    const user = await twice(t, acme, provider.signIn, 'ada');
    t.match(user, { email: 'ada@example.org', emailVerified: true, profile: { name: 'Ada' }, username: null });
    t.strictSame(user?.roles, ['member', 'author']);
  });

  await t.test('sign-in with Google, whose users are of one organization', async (t) => {
    const provider = await startOpenIdProvider(t, { redirectUris: [callback('google')] });
    provider.people.set('grace', {
      email: 'grace@example.org',
      email_verified: true,
      name: 'Grace',
      hd: 'example.org',
    });
    const { issuer, clientId, clientSecret } = provider;
    const google = { name: 'google', kind: 'google', issuer, clientId, clientSecret, require: { hd: 'example.org' } };
    const user = await twice(t, google, provider.signIn, 'grace');
    t.match(user, { email: 'grace@example.org', profile: { name: 'Grace' } });
  });

  await t.test('sign-in with GitHub', async (t) => {
    const { endpoints, clientId, clientSecret, users } = await startGitHub(t);
    users.set('linus', {
      id: 1024025,
      login: 'linus',
      name: 'Linus',
      avatar_url: 'https://avatars.example/u/1024025',
      emails: [
        { email: 'unproved@example.org', primary: false, verified: false },
        { email: 'linus@example.org', primary: true, verified: true },
      ],
    });
    const github = { name: 'github', kind: 'github', endpoints, clientId, clientSecret };
    const user = await twice(t, github, byForm, 'linus');
    t.match(user, { email: 'linus@example.org', emailVerified: true });
    t.strictSame(user?.profile, { name: 'Linus', picture: 'https://avatars.example/u/1024025' });
  });

  await t.test('sign-in with Facebook, with and without an e-mail address', async (t) => {
    const facebook = await startFacebook(t);
    facebook.demandsProof = true;
    facebook.users.set('mark', {
      id: '10221',
      name: 'Mark',
      email: 'mark@example.org',
      picture: 'https://p.example/1',
    });
    facebook.users.set('phone', { id: '10222', name: 'By phone' });
    facebook.users.set('other', { id: '10223', name: 'By phone too' });
    const { endpoints, clientId, clientSecret } = facebook;
    const provider = (name: string) => ({ name, kind: 'facebook', endpoints, clientId, clientSecret });
    const user = await twice(t, provider('facebook'), byForm, 'mark');
    t.match(user, { email: 'mark@example.org', emailVerified: false });
    t.strictSame(user?.profile, { name: 'Mark', picture: 'https://p.example/1' });
    for (const login of ['phone', 'other']) {
      t.match(await twice(t, provider(login), byForm, login), { email: null, username: null }, 'without any name');
    }
  });

  await t.test('sign-in with Apple, which posts its response from its own page', async (t) => {
    const { issuer, clientId, teamId, keyId, privateKey, users } = await startApple(t);
    users.set('tim', {
      sub: '001122.a0b1c2.0809',
      email: 'x9z@privaterelay.example',
      isPrivateEmail: true,
      name: { firstName: 'Tim', lastName: 'Cook' },
    });
    const apple = { name: 'apple', kind: 'apple', issuer, clientId, teamId, keyId, privateKey };
    const user = await twice(t, apple, byForm, 'tim');
    t.match(user, { email: 'x9z@privaterelay.example', emailVerified: true });
    t.strictSame(user?.profile, { name: 'Tim Cook' }, 'the name is notified the first time alone, and stays');
  });
});
