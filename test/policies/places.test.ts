/** Policies beyond documents: feeds, events, files and their signed addresses, keys, and the explanation of a request. */
import t from 'tap';
import { invalidCredential } from '../../src/auth/identity/refusals.ts';
import { multipart } from '../helpers/files/upload.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, postsWorld } from '../helpers/posts.ts';
import { key, owner, user } from '../helpers/principals.ts';

t.test('places under policies', async (t) => {
  const world = await postsWorld(t);
  const { app, parts, as, ann, boss, ask, patch, fresh } = world;
  /** The place in the log behind everything that was written. */
  async function now(): Promise<string> {
    let since = String((await ask(boss, 'GET', '/events')).headers['millrace-position']);
    const { json: marker } = await ask(boss, 'POST', '/api/markers', {});
    for (;;) {
      const { events, position } = (await ask(boss, 'GET', `/events?since=${since}&wait=10`)).json;
      if (events.some(({ documentId }: { documentId: string }) => documentId === marker.id)) return position;
      since = position;
    }
  }

  /** What a reader gets of the changes of posts since a position, up to the last one that an owner sees. */
  async function changes(who: Record<string, string>, since: string, query = '') {
    const { json, ...answer } = await ask(who, 'GET', `/api/posts/_changes?since=${since}${query}`);
    return { ...answer, json, code: json.code, changes: json.changes };
  }
  /** Waits until the log has told the last of the owner's writes. */
  async function told(since: string, count: number): Promise<void> {
    while ((await changes(boss, since, '&wait=10')).changes.length < count);
  }

  await t.test('feeds show each state as it may be seen', async (t) => {
    await fresh();
    const since = await now();
    withPolicies(parts, [{ ...MINE, actions: ['read'], fields: { read: ['*', '-secret'] } }]);
    await patch(boss, '/api/posts/a', 'application/json', { secret: 5, title: 'A2' });
    await patch(boss, '/api/posts/a', 'application/json', { authorId: 'bob', secret: 6 });
    await patch(boss, '/api/posts/b', 'application/json', { authorId: 'ann' });
    await patch(boss, '/api/posts/c', 'application/json', { title: 'C2' });
    await ask(boss, 'DELETE', '/api/posts/b');
    await told(since, 5);
    const seen = await changes(ann, since);
    t.strictSame(
      seen.changes.map((one: Record<string, { title: string } | null>) => [
        one['type'],
        one['documentId'],
        one['changed'],
        one['before']?.title ?? null,
        one['data']?.title ?? null,
      ]),
      [
        ['posts.updated', 'a', ['title'], 'A', 'A2'],
        ['posts.updated', 'a', null, 'A2', null],
        ['posts.updated', 'b', null, null, 'B'],
        ['posts.deleted', 'b', null, 'B', null],
      ],
    );
    t.notMatch(JSON.stringify(seen.json), /secret/);
    t.equal((await changes(ann, since, '&secret=5')).code, 'field-hidden');
    t.equal((await changes(ann, since, '&title=A2')).changes.length, 2);
    t.equal((await changes({}, since)).status, 401);
  });

  await t.test('a waiting feed meets the policies of the moment', async (t) => {
    await fresh();
    withPolicies(parts, [{ ...MINE, actions: ['read'] }]);
    const since = await now();
    const waiting = changes(ann, since, '&wait=20');
    await ask(boss, 'GET', '/api/posts');
    withPolicies(parts, []);
    await patch(boss, '/api/posts/a', 'application/json', { title: 'late' });
    t.equal((await waiting).status, 403);
  });

  await t.test('a waiting feed asks again who reads it', async (t) => {
    await fresh();
    withPolicies(parts, [{ ...MINE, actions: ['read'] }]);
    const since = await now();
    const credential = { authorization: 'Bearer test-ending' };
    const principal = user('ann');
    const { authenticator } = parts.auth;
    const authenticate = authenticator.authenticate.bind(authenticator);
    const onRevoked = authenticator.onRevoked.bind(authenticator);
    let valid = true;
    const listening = new Promise<void>((resolve) => {
      Object.assign(authenticator, {
        authenticate: (header: string) => {
          if (header !== credential.authorization) return authenticate(header);
          if (valid) return principal;
          throw invalidCredential();
        },
        onRevoked: (listener: Parameters<typeof onRevoked>[0]) => {
          resolve();
          return onRevoked(listener);
        },
      });
    });
    const waiting = changes(credential, since, '&wait=20');
    await listening;
    valid = false;
    authenticator.revoke({ ids: new Set(), everything: true });
    await patch(boss, '/api/posts/a', 'application/json', { title: 'late' });
    t.equal((await waiting).code, 'invalid-credential');
    Object.assign(authenticator, { authenticate, onRevoked });
  });

  await t.test('events are for owners; a key sees what it may read', async (t) => {
    await fresh();
    const since = await now();
    const files = (role: string) => ({ collections: ['files'], principals: { roles: [role] } });
    withPolicies(parts, [
      { collections: ['posts'], actions: ['read'], fields: { read: ['title'] } },
      { ...files('reads'), actions: ['read'], fields: { read: ['name'] } },
      { ...files('gets'), actions: ['get'] },
    ]);
    await ask(boss, 'POST', '/api/posts', { title: 'E', secret: 1 });
    await ask(boss, 'POST', '/api/others', { title: 'E' });
    const { send, headers } = await multipart({});
    await app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...boss } });
    const types = async (who: Record<string, string>) =>
      (await ask(who, 'GET', `/events?since=${since}&wait=5`)).json.events?.map(({ type }: { type: string }) => type);
    while (!(await types(boss)).includes('system.file.created'));
    t.strictSame(await types(boss), ['posts.created', 'others.created', 'system.file.created']);
    t.strictSame(await types(as(key('k'))), ['posts.created']);
    t.strictSame(await types(as(key('k5', { roles: ['gets'] }))), ['posts.created'], 'of files, only by their ids');
    const reads = await ask(as(key('k6', { roles: ['reads'] })), 'GET', `/events?since=${since}`);
    const told = { type: 'system.file.created', data: { name: 'a.txt', size: undefined, sha256: undefined } };
    t.match(reads.json, { events: [{ type: 'posts.created' }, told] }, 'of files, what it may read');
    t.notMatch((await ask(as(key('k2')), 'GET', `/events?since=${since}`)).json, { events: [{ data: { secret: 1 } }] });
    // No policy lets a key read `others`: nothing could be told, so it is refused before the log is read.
    t.equal((await ask(as(key('k3', { collections: ['others'] })), 'GET', '/events')).status, 403);
    t.equal((await ask(ann, 'GET', '/events')).status, 403);
    t.equal((await ask(as(key('k4', { actions: ['create'] })), 'GET', '/events')).status, 403);
  });

  await t.test('files have policies of their own', async (t) => {
    const upload = async (who: Record<string, string>, custom: object) => {
      const { send, headers } = await multipart(['custom', JSON.stringify(custom)], {});
      return app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...who } });
    };
    withPolicies(parts, [
      { collections: ['files'], actions: ['read', 'create'], where: { createdBy: '$user.id' } },
      {
        collections: ['files'],
        actions: ['read'],
        where: { 'custom.public': true },
        fields: { read: ['type', 'custom'] },
      },
      { collections: ['files'], actions: ['create'], effect: 'deny', where: { 'custom.bad': true } },
    ]);
    t.equal((await upload({}, {})).statusCode, 401);
    t.equal((await upload(ann, { bad: true })).statusCode, 403);
    const mine = (await upload(ann, {})).json();
    const shared = (await upload(ann, { public: true })).json();
    const path = (url: string) => url.replace(/^https?:\/\/[^/]+/, '');
    const bob = as(user('bob'));
    t.equal((await ask(ann, 'GET', '/files')).json.length, 2);
    const [seen, ...rest] = (await ask(bob, 'GET', '/files')).json;
    t.strictSame(rest, []);
    t.strictSame(Object.keys(seen).sort(), ['custom', 'id', 'type', 'url']);
    t.match(seen.url, /\/file$/);
    t.strictSame((await ask(bob, 'GET', `/files/${shared.id}`)).json, seen);
    t.equal((await ask(bob, 'GET', `/files/${mine.id}`)).code, 'file-not-found');
    t.equal((await ask(bob, 'GET', path(mine.url))).code, 'file-not-found');
    const bytes = await app.inject({ url: path(shared.url) });
    t.equal(bytes.body, 'hello');
    t.notMatch(String(bytes.headers['content-disposition']), /a\.txt/, 'a hidden name is in no header');
    t.equal((await ask(bob, 'GET', '/files?size=5')).code, 'field-hidden');
    t.equal((await ask(bob, 'GET', '/files?sort=name')).code, 'field-hidden');
    t.equal((await ask(ann, 'DELETE', `/files/${mine.id}`)).code, 'forbidden');
    const other = as(key('k', { actions: ['read'], roles: [] }));

    await t.test('a signed address is read by whoever has it, until it ends', async (t) => {
      const sign = (who: Record<string, string>, id: string, send: object) =>
        ask(who, 'POST', `/files/${id}/sign`, send);
      t.equal((await sign(bob, mine.id, { expiresIn: 60 })).code, 'file-not-found');
      t.equal((await sign(ann, mine.id, { expiresIn: 3_601 })).code, 'body-type', 'for an hour at most');
      t.equal((await sign(other, shared.id, {})).code, 'forbidden', 'a read-only key reaches no unsafe route');
      const { url, expiresAt } = (await sign(ann, mine.id, { expiresIn: 60 })).json;
      t.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 60_000) < 10_000);
      const signed = path(url);
      t.equal((await app.inject({ url: signed })).body, 'hello');
      t.equal((await app.inject({ method: 'HEAD', url: signed })).statusCode, 200);
      for (const forged of [
        signed.replace(mine.id, shared.id),
        signed.replace(/expires=\d+/, (all) => `${all}0`),
        signed.replace(/(?<=expires=)\d+/, (end) => String(Number(end) + 1)),
        signed.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        signed.replace(/&signature=.*/, ''),
        signed.replace(/signature=.*/, 'signature='),
      ])
        t.equal((await app.inject({ url: forged })).json().code, 'invalid-credential', forged);
      const hostile = encodeURIComponent('../up/a\u202egnp\r\nX: 1.exe');
      const renamed = signed.replace(/[^/]*\?/, `${hostile}?`);
      withPolicies(parts, [{ collections: ['files'], actions: ['read'], fields: { read: ['*', '-name'] } }]);
      const named = await app.inject({ url: renamed });
      t.equal(named.body, 'hello');
      t.equal(named.headers['content-disposition'], 'inline; filename="agnpX: 1.exe"', 'it is cleaned');
      const resource = await app.inject({ url: `/files/${mine.id}?${signed.split('?')[1]}` });
      t.equal(resource.json().code, 'unknown-parameter', 'what is known of the file has no signed address');
    });
  });

  await t.test('the limits of a key cut what policies grant', async (t) => {
    await fresh();
    withPolicies(parts, [{ collections: ['*'], actions: ['read', 'create', 'update', 'delete'] }]);
    const reading = as(key('r', { actions: ['read'] }));
    t.equal((await ask(reading, 'GET', '/api/posts')).json.length, 3);
    t.equal((await ask(reading, 'POST', '/api/posts/_query', {})).json.length, 3);
    for (const [method, url] of UNSAFE) t.equal((await ask(reading, method, url, {})).status, 403, `${method} ${url}`);
    const narrow = as(key('n', { collections: ['posts'] }));
    t.equal((await ask(narrow, 'GET', '/api/posts/a?expand=authorId:others')).json._expanded.authorId, null);
    t.equal((await ask(narrow, 'GET', '/api/others')).status, 403);
    t.equal((await ask(narrow, 'POST', '/api/posts', {})).status, 201);
    const writing = await ask(as(key('w', { actions: ['create'] })), 'POST', '/api/posts', { title: 'W' });
    t.match(writing, { status: 201, json: null });
  });

  await t.test('owners learn which policy decided', async (t) => {
    const explain = { 'millrace-explain': '1' };
    const explained = async (who: Record<string, string>, url: string) => {
      const header = (await ask(who, 'GET', url, undefined, explain)).headers['millrace-explain'];
      return header === undefined ? undefined : JSON.parse(String(header));
    };
    const passes = { action: 'read', place: 'posts', verdict: 'allow', policies: [], owner: true };
    t.strictSame(await explained(as(owner('viewer')), '/api/posts'), [passes]);
    t.equal(await explained(ann, '/api/posts'), undefined, 'nobody else does');
    t.match(await explained(as(owner('viewer')), '/admin/policies'), [{ place: 'admin', owner: true }]);
  });
});

const UNSAFE = [
  ['POST', '/api/posts'],
  ['PUT', '/api/posts/a'],
  ['PATCH', '/api/posts/a'],
  ['DELETE', '/api/posts/a'],
  ['POST', '/batch'],
  ['POST', '/files'],
  ['DELETE', '/files/1'],
  ['POST', '/admin/policies'],
] as const;
