/**
 * Looking as another principal (`Millrace-As`) over HTTP: each way of reading answers as that principal is answered; who
 * may look so; what is refused; and the note of it. Random policies are in property.test.ts, all routes in the matrix.
 */
import t from 'tap';
import { parseCollectionName } from '../../../src/database/names.ts';
import type { Grants } from '../../../src/policies/standing/standing-rights.ts';
import { ask, PASSWORD, signIn, signInOwner } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { multipart } from '../../helpers/files/upload.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const NOBODY = { by: null, request: null };
const MINE = {
  collections: ['posts'],
  actions: ['read'],
  where: { author: '$user.id' },
  fields: { read: ['*', '-secret'] },
};
const EDITORS = { collections: ['posts'], actions: ['read', 'update'], principals: { roles: ['editor'] } };
const FILES = { collections: ['files'], actions: ['read'], fields: { read: ['*', '-sha256'] } };
const KEYS = { collections: ['posts'], actions: ['read'], principals: { roles: ['partner'] }, where: { open: true } };
const ALL = [MINE, EDITORS, FILES, KEYS];

type Headers = Readonly<Record<string, string>>;

t.test('looking as another principal', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_RATE_ANONYMOUS: '4' });
  const boss = await signInOwner(app, parts);
  const account = async (username: string, roles: readonly string[] = []) => {
    await parts.auth.users.create({ kind: 'user', username, password: PASSWORD, roles }, NOBODY);
    return signIn(app, username);
  };
  const ann = await account('ann');
  const bob = await account('bob', ['editor']);
  const limits = { name: 'k', roles: ['partner'], collections: null, actions: ['read'], expiresAt: null };
  const { key: text, shown: key } = await made();
  const holder = { authorization: `Bearer ${text}` };

  async function made(more: object = {}) {
    const { key: secret, ...rest } = (await ask(app, 'POST /admin/keys', { ...limits, ...more }, boss)).json();
    return { key: String(secret), shown: rest as { id: string } };
  }
  const get = (url: string, headers: Headers = {}) =>
    app.inject({ method: 'GET', url, headers, remoteAddress: '10.200.0.1' });
  const as = (whom: string, headers: Headers = boss.headers) => ({ ...headers, 'millrace-as': whom });

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
  const since = parts.events.feed.position;
  withPolicies(parts, ALL);
  await ask(app, 'PATCH /api/posts/a', { secret: 3 }, boss);
  await until(
    async () => (await get(`/api/posts/_changes?since=${since}`, boss.headers)).json().changes.length > 0,
    'it',
  );

  /** What an answer tells. Each request has an id of its own, and a note of looking moves the position of the log. */
  const told = ({ statusCode, headers, body }: Awaited<ReturnType<typeof get>>) => {
    const { 'x-request-id': _, date: __, 'millrace-position': ___, 'content-length': ____, ...rest } = headers;
    return { statusCode, headers: rest, body: body.replace(/,"(?:request|position)":"[^"]*"/g, '') };
  };

  await t.test('every way of reading answers as that principal is answered', async (t) => {
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
    for (const [whom, own] of Object.entries(people)) {
      for (const url of urls) t.strictSame(told(await get(url, as(whom))), told(await get(url, own)), `${whom} ${url}`);
      const asked = { method: 'POST', url: '/api/posts/_query' } as const;
      const payload = { filter: { title: { $exists: true } } };
      t.strictSame(
        told(await app.inject({ ...asked, payload, headers: as(whom) })),
        told(await app.inject({ ...asked, payload, headers: own })),
        `${whom} _query`,
      );
    }
    const [seen] = (await get('/api/posts', as(`user:${ann.id}`))).json();
    t.match(seen, { id: 'a', title: 'A', secret: undefined });
  });

  await t.test('a role is a user with this role alone; anonymous is a stranger', async (t) => {
    t.match((await get('/api/posts', as('role:editor'))).json(), [{ id: 'a', secret: 3 }, { id: 'b' }]);
    t.strictSame((await get('/api/posts', as('role:none'))).json(), [], 'it has an id, which no document names');
    const stranger = await get('/api/posts?limit=1', as('anonymous'));
    t.strictSame(told(stranger), told(await get('/api/posts?limit=1')));
    t.equal(stranger.statusCode, 401);
    const [whole] = (await get('/api/posts', boss.headers)).json();
    t.equal(whole.secret, 3, 'without the header an owner is an owner');
    const other = await signInOwner(app, parts, ['viewer']);
    t.equal((await get('/events', as(`user:${other.id}`))).statusCode, 200, 'owners are users, too');
  });

  await t.test('the rate is that of the owner', async (t) => {
    for (let count = 0; count < 8; count++) t.equal((await get('/api/posts', as('anonymous'))).statusCode, 401);
    for (let count = 0; count < 8; count++) await get('/api/posts');
    t.equal((await get('/api/posts')).statusCode, 429, 'a stranger has had enough');
    t.equal((await get('/api/posts', as('anonymous'))).json().code, 'not-authenticated');
  });

  await t.test('an explanation is about that principal', async (t) => {
    const answer = await get('/api/posts', { ...as(`user:${ann.id}`), 'millrace-explain': '1' });
    const [decision] = JSON.parse(String(answer.headers['millrace-explain']));
    t.match(decision, { action: 'read', place: 'posts', verdict: 'allow', owner: false, policies: [/^p\d+$/] });
    const own = await get('/api/posts', { ...ann.headers, 'millrace-explain': '1' });
    t.notOk(own.headers['millrace-explain']);
  });

  await t.test('what names nobody is refused', async (t) => {
    for (const bad of ['', 'ann', 'user:', 'user:a b', 'role:', 'role:1x', 'owner:x', 'anonymous:x', 'user:x, key:y']) {
      const { statusCode, body } = await get('/api/posts', as(bad));
      t.equal(statusCode, 400, `${bad}: ${body}`);
      t.match(body, /malformed-request/);
    }
    const gone = await made();
    await ask(app, `DELETE /admin/keys/${gone.shown.id}`, undefined, boss);
    const old = await parts.auth.keys.create({ ...limits, expiresAt: new Date(Date.now() - 1) }, NOBODY);
    const eve = await account('eve');
    await ask(app, `PATCH /admin/users/${eve.id}`, { disabled: true }, boss);
    const names = ['user:nobody', 'key:nothing', `key:${gone.shown.id}`, `key:${old.id}`, `user:${eve.id}`];
    for (const name of [...names, `key:${ann.id}`, `user:${key.id}`]) {
      const answer = await get('/api/posts', as(name));
      t.equal(answer.statusCode, 404, name);
      t.equal(answer.json().code, 'document-not-found', name);
    }
  });

  await t.test('no function is called as somebody else, by any method', async (t) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await app.inject({ method, url: '/fn/shop', headers: as('anonymous') });
      t.equal(answer.statusCode, 403, method);
      t.equal(answer.json().code, 'forbidden', method);
    }
  });

  await t.test('only owners who may read accounts', async (t) => {
    const others = { ann: ann.headers, holder };
    for (const role of ['viewer', 'developer']) {
      const found = role === 'viewer' ? await signIn(app, 'viewer@example.org') : await signInOwner(app, parts, [role]);
      Object.assign(others, { [role]: found.headers });
    }
    for (const [who, headers] of Object.entries(others)) {
      for (const whom of ['anonymous', `user:${boss.id}`, 'not even a name']) {
        const answer = await get('/api/posts', as(whom, headers));
        t.equal(answer.statusCode, 403, `${who} as ${whom}`);
        t.equal(answer.json().code, 'forbidden');
      }
    }
    const admin = await signInOwner(app, parts, ['admin']);
    t.equal((await get('/api/posts', as(`user:${ann.id}`, admin.headers))).statusCode, 200);
  });

  await t.test('a waiting feed follows both', async (t) => {
    const lena = await account('lena', ['editor']);
    const helper = await signInOwner(app, parts, ['admin', 'viewer']);
    const feed = (from: string) =>
      get(`/api/posts/_changes?since=${from}&wait=20`, as(`user:${lena.id}`, helper.headers));
    let from = parts.events.feed.position;
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
    await parts.auth.users.change(helper.id, { roles: ['viewer'] }, NOBODY);
    await until(async () => (await get('/admin/users', helper.headers)).statusCode === 403, 'the owner is a viewer');
    await ask(app, 'PATCH /api/posts/a', { title: 'late' }, boss);
    t.equal((await third).json().code, 'forbidden', 'the owner has lost the right');
  });

  /** Resolves when a feed watches its reader. */
  function listening(): Promise<void> {
    const { authenticator } = parts.auth;
    const { onRevoked } = authenticator;
    return new Promise<void>((resolve) => {
      authenticator.onRevoked = (listener) => {
        authenticator.onRevoked = onRevoked;
        resolve();
        return onRevoked.call(authenticator, listener);
      };
    });
  }

  await t.test('a long answer ends with the rights of either', async (t) => {
    const rick = await account('rick', ['editor']);
    const aide = await signInOwner(app, parts, ['admin', 'developer']);
    const asker = await parts.auth.authenticator.authenticate(aide.headers.authorization);
    const whom = { kind: 'user', id: rick.id } as const;
    const watch = async () => {
      const principal = await parts.lookingAs.principal(asker, whom);
      const again: Grants['again'] = (now) => [parts.policies.find(now, 'read', parseCollectionName('posts'))];
      const { generation } = parts.policies;
      const { authorization } = aide.headers;
      const rights = { principal, asker, as: whom, authorization, generation, scopes: again(principal), again };
      return parts.longAnswers.watch(rights);
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
    withPolicies(parts, [...ALL, { ...EDITORS, principals: { roles: ['others'] } }]);
    t.equal(await code(() => first.check()), null, 'policies of others');
    withPolicies(parts, [MINE]);
    t.equal(await code(() => first.check()), 'policy-revoked');
    withPolicies(parts, ALL);
    const second = await watch();
    t.equal(await code(() => second.check()), null);
    await ask(app, `PATCH /admin/users/${rick.id}`, { roles: [] }, boss);
    await until(async () => (await code(() => second.check())) === 'policy-revoked', 'his role has gone');
    const third = await watch();
    await ask(app, `PATCH /admin/users/${rick.id}`, { disabled: true }, boss);
    await until(async () => (await code(() => third.check())) === 'document-not-found', 'his account is disabled');
    await ask(app, `PATCH /admin/users/${rick.id}`, { disabled: false }, boss);
    const fourth = await watch();
    await parts.auth.users.change(aide.id, { roles: ['developer'] }, NOBODY);
    await until(async () => (await code(() => fourth.check())) === 'forbidden', 'the owner has lost the right');
    for (const rights of [first, second, third, fourth]) rights.end();
  });

  await t.test('it is in the audit, once for a session and a principal', async (t) => {
    const notes = async () =>
      (await get('/admin/audit?type=system.auth.looked-as&limit=200', boss.headers))
        .json()
        .filter(({ actor }: { actor: { id: string } }) => actor.id === boss.id);
    const ofAnn = async () =>
      (await notes()).filter(
        (note: { data: { details: { as: string } } }) => note.data.details.as === `user:${ann.id}`,
      );
    await until(async () => (await ofAnn()).length > 0, 'the audit has read on');
    t.match(await ofAnn(), [{ actor: { kind: 'owner', id: boss.id }, request: /^req_/ }]);
    const names = (await notes()).map(({ data }: { data: { details: { as: string } } }) => data.details.as);
    t.strictSame(names.length, new Set(names).size, 'each once');
    t.ok(['anonymous', 'role:editor', `key:${key.id}`].every((name) => names.includes(name)));
    t.notOk(names.includes('user:nobody'));
    const again = await signIn(app, 'owner@example.org');
    await get('/api/posts', as(`user:${ann.id}`, again.headers));
    await until(async () => (await ofAnn()).length === 2, 'another session is another note');
  });
});
