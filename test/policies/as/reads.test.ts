/**
 * Impersonation (`Millrace-As`) over HTTP: each kind of read returns what that principal gets; who may impersonate;
 * what is rejected; and the audit record. Random policies are in property.test.ts, all routes in the matrix.
 */
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import type { RightsAtRequestStart } from '../../../src/policies/revalidation/revalidation.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { multipart } from '../../helpers/files/upload.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../../helpers/users.ts';

const NOBODY = { by: null, request: null };
const MINE = {
  resources: ['posts'],
  actions: ['read'],
  filter: { author: '$user.id' },
  fields: { read: ['*', '-secret'] },
};
const EDITORS = { resources: ['posts'], actions: ['read', 'update'], principals: { roles: ['editor'] } };
const FILES = { resources: ['_files'], actions: ['read'], fields: { read: ['*', '-sha256'] } };
const KEYS = { resources: ['posts'], actions: ['read'], principals: { roles: ['partner'] }, filter: { open: true } };
const ALL = [MINE, EDITORS, FILES, KEYS];

type Headers = Readonly<Record<string, string>>;

t.test('impersonation', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_LIMIT_ANONYMOUS: '4' });
  const boss = await signInAdmin(app, services);
  const user = async (username: string, roles: readonly string[] = []) => {
    await services.auth.users.create({ kind: 'user', username, password: PASSWORD, roles }, NOBODY);
    return signIn(app, username);
  };
  const ann = await user('ann');
  const bob = await user('bob', ['editor']);
  const limits = { name: 'k', roles: ['partner'], resources: null, actions: ['read'], expiresAt: null };
  const { key: text, shown: key } = await created();
  const holder = { authorization: `Bearer ${text}` };

  async function created(more: object = {}) {
    const { key: secret, ...rest } = (await ask(app, 'POST /admin/keys', { ...limits, ...more }, boss)).json();
    return { key: String(secret), shown: rest as { id: string } };
  }
  const get = (url: string, headers: Headers = {}) =>
    app.inject({ method: 'GET', url, headers, remoteAddress: '10.200.0.1' });
  const as = (target: string, headers: Headers = boss.headers) => ({ ...headers, 'millrace-as': target });

  await ask(
    app,
    'POST /api/posts',
    [
      { id: 'a', author: ann.id, title: 'A', secret: 1 },
      { id: 'b', author: bob.id, title: 'B', secret: 2, open: true },
    ],
    boss,
  );
  const upload = await multipart({ name: 'f.txt' });
  const form = { payload: upload.send, headers: { ...upload.headers, ...boss.headers } };
  const file = (await app.inject({ method: 'POST', url: '/files', ...form })).json();
  const since = services.events.feed.position;
  withPolicies(services, ALL);
  await ask(app, 'PATCH /api/posts/a', { secret: 3 }, boss);
  await until(
    async () => (await get(`/api/posts/_changes?since=${since}`, boss.headers)).json().changes.length > 0,
    'it',
  );

  /** The content of a response. Each request has its own id, and an audit record moves the log position. */
  const reported = ({ statusCode, headers, body }: Awaited<ReturnType<typeof get>>) => {
    const { 'x-request-id': _, date: __, 'millrace-position': ___, 'content-length': ____, ...rest } = headers;
    return { statusCode, headers: rest, body: body.replace(/,"(?:request|position)":"[^"]*"/g, '') };
  };

  await t.test('every kind of read responds as to the impersonated principal', async (t) => {
    const urls = [
      '/api/posts',
      '/api/posts?count=exact&limit=1&sort=-title',
      '/api/posts?secret=1',
      '/api/posts/a',
      '/api/posts/b',
      '/api/nothing',
      `/api/posts/_changes?since=${since}`,
      '/files',
      `/files/${file.id}`,
      `/files/${file.id}/f.txt`,
      `/events?since=${since}&types=posts.*`,
    ];
    const people = { [`user:${ann.id}`]: ann.headers, [`user:${bob.id}`]: bob.headers, [`key:${key.id}`]: holder };
    for (const [target, own] of Object.entries(people)) {
      for (const url of urls)
        t.strictSame(reported(await get(url, as(target))), reported(await get(url, own)), `${target} ${url}`);
      const requested = { method: 'POST', url: '/api/posts/_query' } as const;
      const payload = { filter: { title: { $exists: true } } };
      t.strictSame(
        reported(await app.inject({ ...requested, payload, headers: as(target) })),
        reported(await app.inject({ ...requested, payload, headers: own })),
        `${target} _query`,
      );
    }
    const [seen] = (await get('/api/posts', as(`user:${ann.id}`))).json();
    t.match(seen, { id: 'a', title: 'A', secret: undefined });
  });

  await t.test('impersonating a role is being a user with this role alone; anonymous is unauthenticated', async (t) => {
    t.match((await get('/api/posts', as('role:editor'))).json(), [{ id: 'a', secret: 3 }, { id: 'b' }]);
    t.strictSame((await get('/api/posts', as('role:none'))).json(), [], 'it has an id, which no document names');
    const anonymous = await get('/api/posts?limit=1', as('anonymous'));
    t.strictSame(reported(anonymous), reported(await get('/api/posts?limit=1')));
    t.equal(anonymous.statusCode, 401);
    const [whole] = (await get('/api/posts', boss.headers)).json();
    t.equal(whole.secret, 3, 'without the header an administrator is an administrator');
    const other = await signInAdmin(app, services, ['viewer']);
    t.equal((await get('/events', as(`user:${other.id}`))).statusCode, 200, 'administrators are users, too');
  });

  await t.test('the rate limit of an impersonated request is that of the administrator', async (t) => {
    for (let count = 0; count < 8; count++) t.equal((await get('/api/posts', as('anonymous'))).statusCode, 401);
    for (let count = 0; count < 8; count++) await get('/api/posts');
    t.equal((await get('/api/posts')).statusCode, 429, 'an anonymous client is limited');
    t.equal((await get('/api/posts', as('anonymous'))).json().code, 'not-authenticated');
  });

  await t.test('an explanation is about the impersonated principal', async (t) => {
    const response = await get('/api/posts', { ...as(`user:${ann.id}`), 'millrace-explain': '1' });
    const [decision] = JSON.parse(String(response.headers['millrace-explain']));
    t.match(decision, { action: 'read', resource: 'posts', decision: 'allow', admin: false, policies: [/^p\d+$/] });
    const own = await get('/api/posts', { ...ann.headers, 'millrace-explain': '1' });
    t.notOk(own.headers['millrace-explain']);
  });

  await t.test('a target of impersonation that does not exist is rejected', async (t) => {
    for (const bad of ['', 'ann', 'user:', 'user:a b', 'role:', 'role:1x', 'admin:x', 'anonymous:x', 'user:x, key:y']) {
      const { statusCode, body } = await get('/api/posts', as(bad));
      t.equal(statusCode, 400, `${bad}: ${body}`);
      t.match(body, /malformed-request/);
    }
    const gone = await created();
    await ask(app, `DELETE /admin/keys/${gone.shown.id}`, undefined, boss);
    const old = await services.auth.keys.create({ ...limits, expiresAt: new Date(Date.now() - 1) }, NOBODY);
    const eve = await user('eve');
    await ask(app, `PATCH /admin/users/${eve.id}`, { disabled: true }, boss);
    const names = ['user:nobody', 'key:nothing', `key:${gone.shown.id}`, `key:${old.id}`, `user:${eve.id}`];
    for (const name of [...names, `key:${ann.id}`, `user:${key.id}`]) {
      const response = await get('/api/posts', as(name));
      t.equal(response.statusCode, 404, name);
      t.equal(response.json().code, name.startsWith('user:') ? 'user-not-found' : 'api-key-not-found', name);
    }
  });

  await t.test('no function is called as an impersonated principal, by any method', async (t) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const response = await app.inject({ method, url: '/fn/shop', headers: as('anonymous') });
      t.equal(response.statusCode, 403, method);
      t.equal(response.json().code, 'forbidden', method);
    }
  });

  await t.test('only administrators who may read users can impersonate', async (t) => {
    const others = { ann: ann.headers, holder };
    for (const role of ['viewer', 'developer']) {
      const found =
        role === 'viewer' ? await signIn(app, 'viewer@example.org') : await signInAdmin(app, services, [role]);
      Object.assign(others, { [role]: found.headers });
    }
    for (const [who, headers] of Object.entries(others)) {
      for (const target of ['anonymous', `user:${boss.id}`, 'not even a name']) {
        const response = await get('/api/posts', as(target, headers));
        t.equal(response.statusCode, 403, `${who} as ${target}`);
        t.equal(response.json().code, 'forbidden');
      }
    }
    const admin = await signInAdmin(app, services, ['manager']);
    t.equal((await get('/api/posts', as(`user:${ann.id}`, admin.headers))).statusCode, 200);
  });

  await t.test('a waiting feed follows the rights of both', async (t) => {
    const lena = await user('lena', ['editor']);
    const helper = await signInAdmin(app, services, ['manager', 'viewer']);
    const feed = (from: string) =>
      get(`/api/posts/_changes?since=${from}&wait=20`, as(`user:${lena.id}`, helper.headers));
    let from = services.events.feed.position;
    const first = feed(from);
    await ask(app, 'PATCH /api/posts/a', { title: 'seen' }, boss);
    const page = (await first).json();
    t.match(page.changes, [{ data: { title: 'seen' } }]);
    from = page.position;
    const watching = listening();
    const second = feed(from);
    await watching;
    await ask(app, `PATCH /admin/users/${lena.id}`, { roles: [] }, boss);
    await ask(app, 'PATCH /api/posts/a', { author: lena.id, title: 'hers' }, boss);
    const narrower = (await second).json();
    t.match(narrower.changes, [{ data: { title: 'hers', secret: undefined }, before: null }], 'her role has gone');
    const again = listening();
    const third = feed(narrower.position);
    await again;
    await services.auth.users.change(helper.id, { roles: ['viewer'] }, NOBODY);
    await until(
      async () => (await get('/admin/users', helper.headers)).statusCode === 403,
      'the administrator is a viewer',
    );
    await ask(app, 'PATCH /api/posts/a', { title: 'late' }, boss);
    t.equal((await third).json().code, 'forbidden', 'the administrator has lost the right');
  });

  /** Resolves when a feed watches its reader. */
  function listening(): Promise<void> {
    const { authenticator } = services.auth;
    const { onRevoked } = authenticator;
    return new Promise<void>((resolve) => {
      authenticator.onRevoked = (listener) => {
        authenticator.onRevoked = onRevoked;
        resolve();
        return onRevoked.call(authenticator, listener);
      };
    });
  }

  await t.test('a long response ends with the rights of either', async (t) => {
    const rick = await user('rick', ['editor']);
    const aide = await signInAdmin(app, services, ['manager', 'developer']);
    const asker = await services.auth.authenticator.authenticate(aide.headers.authorization);
    const target = { kind: 'user', id: rick.id } as const;
    const watch = async () => {
      const principal = await services.impersonation.principal(asker, target);
      const renewScopes: RightsAtRequestStart['renewScopes'] = (now) => [
        services.policies.find(now, 'read', parseCollectionName('posts')),
      ];
      const { generation } = services.policies;
      const { authorization } = aide.headers;
      const rights = {
        principal,
        asker,
        as: target,
        authorization,
        generation,
        scopes: renewScopes(principal),
        renewScopes,
      };
      return services.streamedResponses.watch(rights);
    };
    const code = async (check: () => void | Promise<void>) => {
      try {
        await check();
        return null;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const first = await watch();
    t.equal(await code(() => first.check()), null);
    withPolicies(services, [...ALL, { ...EDITORS, principals: { roles: ['others'] } }]);
    t.equal(await code(() => first.check()), null, 'policies of others');
    withPolicies(services, [MINE]);
    t.equal(await code(() => first.check()), 'policy-revoked');
    withPolicies(services, ALL);
    const second = await watch();
    t.equal(await code(() => second.check()), null);
    await ask(app, `PATCH /admin/users/${rick.id}`, { roles: [] }, boss);
    await until(async () => (await code(() => second.check())) === 'policy-revoked', 'his role has gone');
    const third = await watch();
    await ask(app, `PATCH /admin/users/${rick.id}`, { disabled: true }, boss);
    await until(async () => (await code(() => third.check())) === 'user-not-found', 'his account is disabled');
    await ask(app, `PATCH /admin/users/${rick.id}`, { disabled: false }, boss);
    const fourth = await watch();
    await services.auth.users.change(aide.id, { roles: ['developer'] }, NOBODY);
    await until(async () => (await code(() => fourth.check())) === 'forbidden', 'the administrator has lost the right');
    for (const rights of [first, second, third, fourth]) rights.end();
  });

  await t.test('impersonation is audited once for a session and a principal', async (t) => {
    const notes = async () =>
      (await get('/admin/audit?eventType=system.auth.impersonated&limit=200', boss.headers))
        .json()
        .filter(({ actor }: { actor: { id: string } }) => actor.id === boss.id);
    const ofAnn = async () =>
      (await notes()).filter(
        (note: { data: { details: { as: string } } }) => note.data.details.as === `user:${ann.id}`,
      );
    await until(async () => (await ofAnn()).length > 0, 'the audit has read on');
    t.match(await ofAnn(), [{ actor: { kind: 'admin', id: boss.id }, request: /^req_/ }]);
    const names = (await notes()).map(({ data }: { data: { details: { as: string } } }) => data.details.as);
    t.strictSame(names.length, new Set(names).size, 'each once');
    t.ok(['anonymous', 'role:editor', `key:${key.id}`].every((name) => names.includes(name)));
    t.notOk(names.includes('user:nobody'));
    const again = await signIn(app, 'owner@example.org');
    await get('/api/posts', as(`user:${ann.id}`, again.headers));
    await until(async () => (await ofAnn()).length === 2, 'another session is another note');
  });
});
