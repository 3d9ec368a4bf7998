/**
 * Every secret of a sign-in with a provider is planted, used rightly and wrongly, and then looked for: in every
 * collection, event, audit entry, log line and error, also when the provider's errors repeat its input.
 */
import { hash, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createServices } from '../../../src/services.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { Planted } from '../../helpers/planted.ts';
import { type Lies, startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { beginningAt, newBrowser, newClient, outcomeOf, REDIRECT } from '../../helpers/providers/sign-in-fixture.ts';
import type { Received } from '../../helpers/providers/site.ts';
import { TOKEN_LIES, type TokenDeps, type TokenLie } from '../../helpers/providers/token-lies.ts';
import { until } from '../../helpers/until.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

for (const mode of ['development', 'production']) {
  t.test(`a sign-in with a provider leaves no secret behind, in ${mode}`, async (t) => {
    const { url: databaseUrl, database } = await testMongo(t);
    const liar = await startLyingProvider(t);
    const lines: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
    const config = loadConfig({
      MILLRACE_DB: database,
      MILLRACE_MODE: mode,
      MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
      MILLRACE_REGISTRATION: 'open',
      MILLRACE_REDIRECT_URLS: REDIRECT,
      MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
      PORT: '0',
    });
    const services = await createServices(config, databaseUrl, {
      onError: (err) => log.error({ err }, 'background'),
    });
    const app = await buildApp(services, log);
    t.teardown(async () => {
      await app.close();
      await services.close();
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const owner = await signInAdmin(app, services);
    const planted = new Planted();
    const reported: string[] = [];
    const { issuer, clientId } = liar;
    const clientSecret = planted.plant('client secret', liar.clientSecret);
    const provider = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, storeTokens: true };
    const mapping = { when: 'each', profile: { name: 'name', thin: 'thin' } };
    t.equal((await ask(app, 'POST /admin/providers', { ...provider, mapping }, owner)).statusCode, 201);
    liar.claims['thin'] = 'asked of user info';
    liar.thin = ['thin'];

    let number = 0;
    /** Plants all that the provider saw since the last time, and what its tokens contained. */
    const plantSeen = (since: number) => {
      for (const { url: requested, form, headers } of liar.requests.slice(since)) {
        for (const name of ['state', 'nonce']) plantParameter(requested.searchParams, name);
        for (const name of ['code', 'code_verifier']) plantParameter(form, name);
        const [, bearer] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
        if (bearer !== undefined) planted.plant(`provider's access token ${number}`, bearer);
      }
    };
    const plantParameter = (from: URLSearchParams, name: string) => {
      const value = from.get(name);
      if (value !== null) planted.plant(`${name} ${number}`, value);
    };
    /** Runs a sign-in, and plants all its secrets. */
    const flow = async (lies: Lies = {}, begin?: string) => {
      number += 1;
      const since = liar.requests.length;
      liar.lies = { idToken: keptToken(lies.idToken), ...(lies.at === undefined ? {} : { at: lies.at }) };
      const client = newClient();
      planted.plant(`verifier ${number}`, client.verifier);
      const page = await newBrowser().goto(begin ?? beginningAt(url, 'acme', client));
      reported.push(page.html);
      plantSeen(since);
      const outcome = outcomeOf(page);
      if (outcome['code'] === undefined) reported.push(JSON.stringify(outcome));
      else planted.plant(`one-time code ${number}`, outcome['code']);
      return { client, outcome };
    };
    const keptToken =
      (lie: TokenLie = honestToken): TokenLie =>
      async (token) => {
        const text = await lie(token);
        if (text.length > 20) planted.plant(`id token ${number}`, text.split('.')[1] ?? text);
        return text;
      };
    const refused = async (code: string | undefined, codeVerifier: string) => {
      const response = await ask(app, 'POST /auth/exchange', { code, codeVerifier });
      t.ok(response.statusCode >= 400, `${response.statusCode}`);
      reported.push(JSON.stringify(response.headers) + response.body);
    };

    // Used rightly.
    const { client, outcome } = await flow();
    const exchanged = await ask(app, 'POST /auth/exchange', { code: outcome['code'], codeVerifier: client.verifier });
    t.equal(exchanged.statusCode, 200, exchanged.body);
    planted.plant('access token', exchanged.json().accessToken);
    planted.plant('refresh token', exchanged.json().refreshToken);
    // The first responses that are repeated, a code with a wrong verifier, and one that is not exchanged.
    await refused(outcome['code'], client.verifier);
    const other = await flow();
    await refused(other.outcome['code'], `${other.client.verifier}x`);
    await flow();
    const [callback] = [...lines.join('').matchAll(/"path":"(\/auth\/providers\/acme\/callback)"/g)];
    t.ok(callback, 'the log has lines of callbacks');
    const states = [...planted.secrets].filter(([name]) => name.startsWith('state'));
    for (const [, state] of states) {
      const response = await ask(
        app,
        `GET /auth/providers/acme/callback?state=${state}&code=${planted.secrets.get('code 1')}`,
      );
      t.ok(response.statusCode >= 400);
      reported.push(JSON.stringify(response.headers) + response.body);
    }

    // One whose browser has not come back: its row stays.
    const begun = await ask(app, `GET ${beginningAt('', 'acme', newClient()) as `/${string}`}`);
    const received = new URL(begun.headers.location ?? '').searchParams;
    for (const name of ['state', 'nonce']) planted.plant(`${name} under way`, received.get(name) ?? '');
    const [row] = await services.mongo.log.collection('one_time_tokens').find({ purpose: 'flow' }).toArray();
    const kept = Object.values<unknown>(JSON.parse(row?.['facts']));
    t.ok(kept.length > 5, `${kept.length} facts of it are kept`);
    const verifiers = kept.filter((one) => hash('sha256', String(one), 'base64url') === received.get('code_challenge'));
    t.strictSame(verifiers, [], 'none of them is its verifier');

    // The provider's errors repeat its input, and it issues tokens that are rejected.
    const repeats = (fields: (form: URLSearchParams, all: string) => object, status: number): Lies => ({
      at: {
        token: ({ form, headers, body }: Received) => ({
          status,
          body: fields(form, `${body} ${headers.authorization} ${clientSecret}`),
        }),
      },
    });
    const errors: Lies[] = [
      repeats((_, all) => ({ error: 'invalid_grant', error_description: all }), 400),
      repeats((form) => ({ error: form.get('code') }), 400),
      repeats((form) => ({ error: form.get('code_verifier'), error_description: form.get('code') }), 401),
      repeats((_, all) => ({ error: all }), 200),
      repeats((form) => ({ access_token: form.get('code'), token_type: form.get('code_verifier') }), 200),
      repeats((form) => ({ access_token: 'a', token_type: 'bearer', id_token: form.get('code_verifier') }), 200),
      repeats(
        (form, all) => ({ access_token: 'a', token_type: 'bearer', id_token: `${all}.${form.get('code')}.` }),
        500,
      ),
      ...['text/html', 'application/json'].flatMap((type): Lies[] => [
        { at: { token: ({ form }) => ({ headers: { 'content-type': type }, body: `x${form.get('code')}` }) } },
        { at: { token: ({ body }) => ({ headers: { 'content-type': type }, body }) } },
      ]),
      { at: { userinfo: ({ headers }) => ({ status: 401, body: { error: headers.authorization ?? '' } }) } },
      {
        at: {
          userinfo: ({ headers }) => ({
            status: 401,
            headers: { 'www-authenticate': `Bearer error="${headers.authorization?.slice(7)}"` },
          }),
        },
      },
      ...Object.values(TOKEN_LIES).map((idToken) => ({ idToken })),
    ];
    for (const lies of errors) {
      await services.mongo.log.collection('login_throttle').deleteMany({});
      await flow(lies).catch((error: unknown) => reported.push(String(error)));
    }

    // Linked to a user, and removed.
    liar.claims['sub'] = 'another-subject';
    const ada = await signUp(app, 'ada');
    const joining = newClient();
    planted.plant('joining verifier', joining.verifier);
    const wish = { redirect: REDIRECT, codeChallenge: joining.challenge };
    const ready = await ask(app, 'POST /auth/identities/acme', wish, ada);
    const { pathname, search, searchParams } = new URL(ready.json().url);
    planted.plant('joining ticket', searchParams.get('link_ticket') ?? '');
    const { outcome: joined } = await flow({}, `${url}${pathname}${search}`);
    const join = { code: joined['code'], codeVerifier: joining.verifier };
    const result = await ask(app, 'POST /auth/identities', join, ada);
    t.equal(result.statusCode, 201, result.body);
    reported.push((await ask(app, 'POST /auth/identities', join, ada)).body);
    reported.push((await ask(app, 'GET /auth/identities', undefined, ada)).body);
    t.equal((await ask(app, 'DELETE /auth/identities/acme', undefined, ada)).statusCode, 204);

    const audited = async () => (await ask(app, 'GET /admin/audit?limit=1000', undefined, owner)).json();
    const types = async () => new Set((await audited()).map(({ type }: { type: string }) => type));
    await until(async () => (await types()).has('system.identity.unlinked'), 'the audit');
    const seen = await types();
    for (const type of ['system.identity.linked', 'system.auth.failed', 'system.session.created'])
      t.ok(seen.has(type), type);
    const failures = (await audited()).filter(({ type }: { type: string }) => type === 'system.auth.failed');
    t.ok(failures.length > 10, `${failures.length} failures`);

    await planted.lookThrough(services);
    planted.look('the audit', JSON.stringify(await audited()));
    for (const line of lines) planted.look('the log', line);
    for (const text of reported) planted.look('an answer', text);
    t.strictSame([...new Set(planted.found)].slice(0, 40), []);
    t.ok(planted.checked > 100, `${planted.checked} places looked at`);
    const names = [...planted.secrets.keys()];
    for (const name of [
      'state',
      'code',
      'nonce',
      'code_verifier',
      "provider's access token",
      'id token',
      'one-time code',
    ]) {
      t.ok(
        names.some((one) => one.startsWith(name)),
        name,
      );
    }
  });
}

function honestToken({ claims, keys: { privateKey, kid } }: TokenDeps): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
}
