/** Policies beyond documents: feeds, events, files and their signed URLs, keys, and the explanation of a request. */
import t from 'tap';
import { invalidToken } from '../../src/auth/identity/auth-errors.ts';
import { multipart } from '../helpers/files/upload.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, postsFixture } from '../helpers/posts.ts';
import { key, owner, user } from '../helpers/principals.ts';

t.test('resources under policies', async (t) => {
  const fixture = await postsFixture(t);
  const { app, parts: services, as, ann, boss, request, patch, fresh } = fixture;
  /** The log position after everything that was written. */
  async function now(): Promise<string> {
    let since = String((await request(boss, 'GET', '/events')).headers['millrace-position']);
    const { json: marker } = await request(boss, 'POST', '/api/markers', {});
    for (;;) {
      const { events, position } = (await request(boss, 'GET', `/events?since=${since}&wait=10`)).json;
      if (events.some(({ documentId }: { documentId: string }) => documentId === marker.id)) return position;
      since = position;
    }
  }

  /** What a reader gets of the changes of posts since a position, up to the last one that an administrator sees. */
  async function changes(who: Record<string, string>, since: string, query = '') {
    const { json, ...response } = await request(who, 'GET', `/api/posts/_changes?since=${since}${query}`);
    return { ...response, json, code: json.code, changes: json.changes };
  }
  /** Waits until the log has the last of the administrator's writes. */
  async function reported(since: string, count: number): Promise<void> {
    while ((await changes(boss, since, '&wait=10')).changes.length < count);
  }

  await t.test('feeds show each state as far as it is visible', async (t) => {
    await fresh();
    const since = await now();
    withPolicies(services, [{ ...MINE, actions: ['read'], fields: { read: ['*', '-secret'] } }]);
    await patch(boss, '/api/posts/a', 'application/json', { secret: 5, title: 'A2' });
    await patch(boss, '/api/posts/a', 'application/json', { authorId: 'bob', secret: 6 });
    await patch(boss, '/api/posts/b', 'application/json', { authorId: 'ann' });
    await patch(boss, '/api/posts/c', 'application/json', { title: 'C2' });
    await request(boss, 'DELETE', '/api/posts/b');
    await reported(since, 5);
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

  await t.test('a waiting feed follows the current policies', async (t) => {
    await fresh();
    withPolicies(services, [{ ...MINE, actions: ['read'] }]);
    const since = await now();
    const waiting = changes(ann, since, '&wait=20');
    await request(boss, 'GET', '/api/posts');
    withPolicies(services, []);
    await patch(boss, '/api/posts/a', 'application/json', { title: 'late' });
    t.equal((await waiting).status, 403);
  });

  await t.test('a waiting feed checks its reader again', async (t) => {
    await fresh();
    withPolicies(services, [{ ...MINE, actions: ['read'] }]);
    const since = await now();
    const credential = { authorization: 'Bearer test-ending' };
    const principal = user('ann');
    const { authenticator } = services.auth;
    const authenticate = authenticator.authenticate.bind(authenticator);
    const onRevoked = authenticator.onRevoked.bind(authenticator);
    let valid = true;
    const listening = new Promise<void>((resolve) => {
      Object.assign(authenticator, {
        authenticate: (header: string) => {
          if (header !== credential.authorization) return authenticate(header);
          if (valid) return principal;
          throw invalidToken();
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
    t.equal((await waiting).code, 'invalid-token');
    Object.assign(authenticator, { authenticate, onRevoked });
  });

  await t.test('events are for administrators; a key sees what it can read', async (t) => {
    await fresh();
    const since = await now();
    const files = (role: string) => ({ resources: ['_files'], principals: { roles: [role] } });
    withPolicies(services, [
      { resources: ['posts'], actions: ['read'], fields: { read: ['title'] } },
      { ...files('reads'), actions: ['read'], fields: { read: ['name'] } },
      { ...files('gets'), actions: ['get'] },
    ]);
    await request(boss, 'POST', '/api/posts', { title: 'E', secret: 1 });
    await request(boss, 'POST', '/api/others', { title: 'E' });
    const { send, headers } = await multipart({});
    await app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...boss } });
    const types = async (who: Record<string, string>) =>
      (await request(who, 'GET', `/events?since=${since}&wait=5`)).json.events?.map(
        ({ type }: { type: string }) => type,
      );
    while (!(await types(boss)).includes('system.file.created'));
    t.strictSame(await types(boss), ['posts.created', 'others.created', 'system.file.created']);
    t.strictSame(await types(as(key('k'))), ['posts.created']);
    t.strictSame(await types(as(key('k5', { roles: ['gets'] }))), ['posts.created'], 'of files, only by their ids');
    const reads = await request(as(key('k6', { roles: ['reads'] })), 'GET', `/events?since=${since}`);
    const reported = { type: 'system.file.created', data: { name: 'a.txt', size: undefined, sha256: undefined } };
    t.match(reads.json, { events: [{ type: 'posts.created' }, reported] }, 'of files, what it may read');
    t.notMatch((await request(as(key('k2')), 'GET', `/events?since=${since}`)).json, {
      events: [{ data: { secret: 1 } }],
    });
    // No policy lets a key read `others`: it could see nothing, so it is rejected before the log is read.
    t.equal((await request(as(key('k3', { resources: ['others'] })), 'GET', '/events')).status, 403);
    t.equal((await request(ann, 'GET', '/events')).status, 403);
    t.equal((await request(as(key('k4', { actions: ['create'] })), 'GET', '/events')).status, 403);
  });

  await t.test('files have their own policies', async (t) => {
    const upload = async (who: Record<string, string>, metadata: object) => {
      const { send, headers } = await multipart(['metadata', JSON.stringify(metadata)], {});
      return app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...who } });
    };
    withPolicies(services, [
      { resources: ['_files'], actions: ['read', 'create'], filter: { createdBy: '$user.id' } },
      {
        resources: ['_files'],
        actions: ['read'],
        filter: { 'metadata.public': true },
        fields: { read: ['type', 'metadata'] },
      },
      { resources: ['_files'], actions: ['create'], effect: 'deny', filter: { 'metadata.bad': true } },
    ]);
    t.equal((await upload({}, {})).statusCode, 401);
    t.equal((await upload(ann, { bad: true })).statusCode, 403);
    const mine = (await upload(ann, {})).json();
    const shared = (await upload(ann, { public: true })).json();
    const path = (url: string) => url.replace(/^https?:\/\/[^/]+/, '');
    const bob = as(user('bob'));
    t.equal((await request(ann, 'GET', '/files')).json.length, 2);
    const [seen, ...rest] = (await request(bob, 'GET', '/files')).json;
    t.strictSame(rest, []);
    t.strictSame(Object.keys(seen).sort(), ['id', 'metadata', 'type', 'url']);
    t.match(seen.url, /\/file$/);
    t.strictSame((await request(bob, 'GET', `/files/${shared.id}`)).json, seen);
    t.equal((await request(bob, 'GET', `/files/${mine.id}`)).code, 'file-not-found');
    t.equal((await request(bob, 'GET', path(mine.url))).code, 'file-not-found');
    const bytes = await app.inject({ url: path(shared.url) });
    t.equal(bytes.body, 'hello');
    t.notMatch(String(bytes.headers['content-disposition']), /a\.txt/, 'a hidden name is in no header');
    t.equal((await request(bob, 'GET', '/files?size=5')).code, 'field-hidden');
    t.equal((await request(bob, 'GET', '/files?sort=name')).code, 'field-hidden');
    t.equal((await request(ann, 'DELETE', `/files/${mine.id}`)).code, 'forbidden');
    const other = as(key('k', { actions: ['read'], roles: [] }));

    await t.test('anyone with a signed URL can read the file until it expires', async (t) => {
      const sign = (who: Record<string, string>, id: string, send: object) =>
        request(who, 'POST', `/files/${id}/sign`, send);
      t.equal((await sign(bob, mine.id, { expiresIn: 60 })).code, 'file-not-found');
      t.equal((await sign(ann, mine.id, { expiresIn: 3_601 })).code, 'invalid-body-type', 'for an hour at most');
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
        t.equal((await app.inject({ url: forged })).json().code, 'invalid-token', forged);
      const hostile = encodeURIComponent('../up/a\u202egnp\r\nX: 1.exe');
      const renamed = signed.replace(/[^/]*\?/, `${hostile}?`);
      withPolicies(services, [{ resources: ['_files'], actions: ['read'], fields: { read: ['*', '-name'] } }]);
      const named = await app.inject({ url: renamed });
      t.equal(named.body, 'hello');
      t.equal(named.headers['content-disposition'], 'inline; filename="agnpX: 1.exe"', 'it is cleaned');
      const resource = await app.inject({ url: `/files/${mine.id}?${signed.split('?')[1]}` });
      t.equal(resource.json().code, 'unknown-parameter', 'what is known of the file has no signed URL');
    });
  });

  await t.test('the limits of a key restrict what policies grant', async (t) => {
    await fresh();
    withPolicies(services, [{ resources: ['*'], actions: ['read', 'create', 'update', 'delete'] }]);
    const reading = as(key('r', { actions: ['read'] }));
    t.equal((await request(reading, 'GET', '/api/posts')).json.length, 3);
    t.equal((await request(reading, 'POST', '/api/posts/_query', {})).json.length, 3);
    for (const [method, url] of UNSAFE)
      t.equal((await request(reading, method, url, {})).status, 403, `${method} ${url}`);
    const narrow = as(key('n', { resources: ['posts'] }));
    t.equal((await request(narrow, 'GET', '/api/posts/a?expand=authorId:others')).json._expanded.authorId, null);
    t.equal((await request(narrow, 'GET', '/api/others')).status, 403);
    t.equal((await request(narrow, 'POST', '/api/posts', {})).status, 201);
    const writing = await request(as(key('w', { actions: ['create'] })), 'POST', '/api/posts', { title: 'W' });
    t.match(writing, { status: 201, json: null });
  });

  await t.test('administrators learn which policy decided', async (t) => {
    const explain = { 'millrace-explain': '1' };
    const explained = async (who: Record<string, string>, url: string) => {
      const header = (await request(who, 'GET', url, undefined, explain)).headers['millrace-explain'];
      return header === undefined ? undefined : JSON.parse(String(header));
    };
    const passes = { action: 'read', resource: 'posts', decision: 'allow', policies: [], admin: true };
    t.strictSame(await explained(as(owner('viewer')), '/api/posts'), [passes]);
    t.equal(await explained(ann, '/api/posts'), undefined, 'nobody else does');
    t.match(await explained(as(owner('viewer')), '/admin/policies'), [{ resource: '_admin', admin: true }]);
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
