/**
 * The rights of every principal on every route of the router: the default is to deny, and the permitted one gets what
 * policies show. A route without a row in matrix-rows.ts fails. Impersonation is for administrators, where a row says
 * so, and rejected everywhere else.
 */
import t, { type Test } from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { jobOf } from '../helpers/functions/plugins.ts';
import type { Row } from '../helpers/matrix/matrix-row.ts';
import { routesOf } from '../helpers/routes.ts';
import { ask, signIn, signInAdmin } from '../helpers/users.ts';
import { ELSEWHERE, newPlugin, ROWS } from './matrix-rows.ts';

type Headers = Readonly<Record<string, string>>;

const PASSWORD = 'four wooden ships sail';
const NOBODY = { by: null, request: null };

const FIELDS = {
  effect: 'allow',
  actions: ['read', 'create', 'update', 'delete'],
  principals: { roles: ['member'] },
};
const POLICIES = [
  {
    ...FIELDS,
    name: 'Members and their posts',
    resources: ['posts'],
    filter: { team: 'a' },
    fields: { read: ['*', '-secret'], write: ['title'] },
    set: { team: 'a' },
  },
  { ...FIELDS, name: 'Members and files', resources: ['_files'], fields: { read: ['*', '-sha256'] } },
];

t.test('every route responds to every principal as the matrix says', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_FUNCTIONS: 'off' });
  const boss = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  for (const policy of POLICIES) await ask(app, 'POST /admin/policies', policy, boss);

  const account = async (username: string, roles: readonly string[]) => {
    await services.auth.users.create({ kind: 'user', username, password: PASSWORD, roles }, NOBODY);
    return signIn(app, username);
  };
  const keyOf = async (limits: object) => {
    const key = { name: 'k', roles: ['member'], resources: null, actions: null, expiresAt: null, ...limits };
    const { key: text } = await services.auth.keys.create(key, NOBODY);
    return { authorization: `Bearer ${text}` };
  };
  const revoked = await account('revoked', ['member']);
  await ask(app, 'POST /auth/logout', undefined, revoked);
  const other = await account('other', []);
  const field = await account('member', ['member']);
  const credentials = {
    anonymous: {},
    other: other.headers,
    expired: await keyOf({ expiresAt: new Date(Date.now() - 1) }),
    revoked: revoked.headers,
    'read-only key': await keyOf({ actions: ['read'] }),
    viewer: viewer.headers,
  };

  let created = 0;
  /** The id of the first post; null when a row may have changed the posts, which are then created again. */
  let post: string | null = null;

  async function newPosts(): Promise<string> {
    await ask(app, 'DELETE /api/posts?filter={}', undefined, {
      headers: { ...boss.headers, prefer: 'max-affected=9' } as typeof boss.headers,
    });
    const posts = [
      { team: 'a', title: 'A', secret: 1 },
      { team: 'b', title: 'B', secret: 2 },
    ];
    return (await ask(app, 'POST /api/posts', posts, boss)).json()[0].id;
  }

  /** The values of the words of a route, created for each row. */
  async function things(route: string): Promise<ReadonlyMap<string, string>> {
    created += 1;
    const words = new Map([['collection', 'posts']]);
    post ??= await newPosts();
    if (route.includes('/api/')) words.set('id', post);
    if (route.includes('/files')) {
      const { send, headers } = await multipart({ name: 'f.txt' });
      const file = await app.inject({
        method: 'POST',
        url: '/files',
        payload: send,
        headers: { ...headers, ...boss.headers },
      });
      words.set('id', file.json().id).set('name', 'f.txt');
    }
    if (route.includes('/admin/users')) {
      const user = await account(`victim-${created}`, []);
      words.set('id', user.id).set('session', user.session);
    }
    if (route.includes('/admin/keys'))
      words.set('id', (await ask(app, 'POST /admin/keys', { name: 'v' }, boss)).json().id);
    if (route.includes('/admin/providers')) {
      const oidc = { kind: 'oidc', issuer: 'https://id.example.invalid' };
      const provider = { ...oidc, name: `p-${created}`, clientId: 'c', clientSecret: 'never shown' };
      words.set('name', (await ask(app, 'POST /admin/providers', provider, boss)).json().name);
    }
    if (route.includes('/webhooks/endpoints')) {
      const endpoint = { url: 'https://example.invalid/hook', types: ['never.*'], headers: { 'x-a': 'never shown' } };
      words.set('id', (await ask(app, 'POST /webhooks/endpoints', endpoint, boss)).json().id);
    }
    if (route.includes('/hooks')) {
      const hook = { targetUrl: 'https://example.invalid/hook', event: 'never.created' };
      words.set('id', (await ask(app, 'POST /hooks', hook, boss)).json().id);
    }
    if (route.includes('/admin/plugins')) {
      const name = `p-${created}`;
      const { statusCode } = await ask(app, `PUT /admin/plugins/${name}`, newPlugin(name), boss);
      t.equal(statusCode, 201);
      words.set('name', name).set('version', '1').set('secret', 'KEY').set('functionName', 'made');
    }
    if (route.includes('/admin/jobs')) {
      const fn = jobOf(`p-${created}`);
      const at = new Date(Date.now() + 3_600_000);
      const job = { fn, input: '{}', at, depth: 0, restricted: false, request: 'run_made.0' };
      words.set('id', (await services.functions.jobs.schedule(job, null)).id);
    }
    if (route.includes('/admin/policies')) {
      const policy = { name: `Policy ${created}`, resources: ['never'], actions: ['read'], effect: 'deny' };
      words.set('id', (await ask(app, 'POST /admin/policies', policy, boss)).json().id);
      const [newest] = (await ask(app, 'GET /admin/policies/versions', undefined, boss)).json();
      words.set('version', String(newest.version));
    }
    return words;
  }

  async function send(row: Row, method: string, words: ReadonlyMap<string, string>, who: Headers) {
    const [, path = ''] = row.route.split(' ');
    const url = row.url ?? path.replace(/:(\w+)/g, (_, word: string) => words.get(word) ?? 'nothing');
    const form = row.upload === undefined ? null : await multipart({ field: row.upload });
    const json =
      row.send === undefined
        ? {}
        : { payload: JSON.stringify(row.send), headers: { 'content-type': 'application/json' } };
    const body = form === null ? json : { payload: form.send, headers: form.headers };
    const headers = { ...('headers' in body ? body.headers : {}), ...row.headers, ...who };
    return app.inject({
      ...body,
      method: methodOf(method),
      url,
      headers,
      remoteAddress: `10.9.${created >> 8}.${created & 255}`,
    });
  }

  const routes = routesOf(app);
  const rows = new Map(ROWS.map((row) => [row.route, row]));
  t.strictSame(
    [...rows.keys()].filter((route) => !routes.includes(route)),
    [],
    'every row has a route',
  );
  t.ok(routes.length > 80, `${routes.length} routes`);

  for (const route of routes) {
    if (ELSEWHERE.includes(route.replace('HEAD ', 'GET '))) continue;
    const row = rows.get(route) ?? rows.get(route.replace('HEAD ', 'GET '));
    if (row === undefined) {
      t.fail(`${route} has no row`);
      continue;
    }
    await t.test(route, async (t) => {
      const [method = ''] = route.split(' ');
      const words = await things(route);
      const state = async () => [
        await services.mongo.data
          .collection('posts')
          .find({}, { sort: { _id: 1 } })
          .toArray(),
        await services.mongo.data.collection('_files').countDocuments(),
        (await services.policyRegistry.list(services.policies.scope({ ...ADMIN }, 'read', '_admin'))).version,
      ];
      const before = await state();
      // One assertion for all principals of a route.
      const wrong: string[] = [];
      const expect = (isRight: boolean, what: string, body: string) => {
        if (!isRight) wrong.push(`${what}: ${body.slice(0, 200)}`);
      };
      for (const [who, headers] of Object.entries(credentials)) {
        const expected = statusFor(row, method, who);
        const response = await send(row, method, words, headers);
        expect(response.statusCode === expected, `${who} gets ${response.statusCode}, not ${expected}`, response.body);
        const scheme = String(response.headers['www-authenticate']);
        expect(expected !== 401 || scheme.startsWith('Bearer'), `${who} gets the scheme ${scheme}`, response.body);
        const reported = expected < 300 ? '' : response.body.replace('/secrets/', '/');
        expect(!/secret|sha256/.test(reported), `${who} learns something`, reported);
      }
      for (const [who, headers] of Object.entries({ ...credentials, boss: boss.headers })) {
        const { status, code } = refusalAs(row, who);
        const response = await send(row, method, words, { ...headers, 'millrace-as': 'role:member' });
        const got = method === 'HEAD' || code === null ? code : response.json().code;
        expect(
          response.statusCode === status && got === code,
          `${who}, as another, gets ${response.statusCode}, not ${status} ${code}`,
          response.body,
        );
        if (who === 'boss' && status < 300 && method !== 'HEAD' && row.body !== undefined)
          matches(t, response.json(), row.body);
      }
      t.strictSame(wrong, [], 'every principal gets what the matrix says');
      if (row.audience !== 'account') t.strictSame(await state(), before, 'nothing has changed');
      const allowed = row.audience === 'documents' ? field : boss;
      if (method !== 'GET' && method !== 'HEAD') post = null;
      const result = await send(row, method, words, allowed.headers);
      t.equal(result.statusCode, row.status, `allowed: ${result.body.slice(0, 300)}`);
      if (method === 'HEAD') t.equal(result.body, '');
      else if (row.body !== undefined) matches(t, result.json(), row.body);
      if (row.route === 'POST /auth/logout') Object.assign(boss, await signIn(app, 'owner@example.org'));
      if (row.route === 'POST /auth/logout') Object.assign(credentials, await again());
    });
  }

  /** The sign-ins that a row ended. */
  async function again(): Promise<Partial<typeof credentials>> {
    return {
      other: (await signIn(app, 'other')).headers,
      viewer: (await signIn(app, 'viewer@example.org')).headers,
    };
  }
});

const ADMIN = { kind: 'admin', id: 'o', roles: ['owner'], session: '', expiresAt: 0 } as const;

function statusFor(row: Row, method: string, who: string): number {
  const { audience, status } = row;
  if (audience === 'public') return status;
  if (who === 'anonymous' || who === 'expired' || who === 'revoked') return 401;
  const reads = method === 'GET' || method === 'HEAD' || row.reads === true;
  if (audience === 'account') return who === 'read-only key' && row.keyed !== true ? 403 : status;
  if (who === 'viewer') return (reads || row.viewed === true) && audience !== 'accounts' ? status : 403;
  if (who === 'other') return 403;
  // A key sees of the events what it may read, and no system events.
  return reads && (audience === 'documents' || row.route.endsWith(' /events')) ? status : 403;
}

/** The error of an impersonated request; no code where it succeeds. */
function refusalAs({ as, audience, status }: Row, who: string): { status: number; code: string | null } {
  if (as !== true) return { status: 403, code: 'forbidden' };
  if (who === 'anonymous') return { status: 401, code: 'not-authenticated' };
  if (who === 'expired' || who === 'revoked') return { status: 401, code: 'invalid-token' };
  if (who !== 'boss') return { status: 403, code: 'forbidden' };
  // What team members must not do, an administrator must not do as one of them.
  return audience === 'documents' ? { status, code: null } : { status: 403, code: 'forbidden' };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function methodOf(text: string): (typeof METHODS)[number] {
  const method = METHODS.find((one) => one === text);
  if (method === undefined) throw new Error(`${text} is no method`);
  return method;
}

/** As `t.match`; a field that is expected to be undefined must be absent, in every element of a list. */
function matches(t: Test, found: unknown, expected: unknown): void {
  t.match(found, expected);
  const [one] = Array.isArray(expected) ? expected : [expected];
  const many: unknown[] = Array.isArray(found) ? found : [found];
  if (Array.isArray(expected) && expected.length > 0) t.ok(many.length > 0, 'there is something');
  for (const [name, value] of Object.entries(Object(one)))
    if (value === undefined) for (const item of many) t.notOk(Object.hasOwn(Object(item), name), `no ${name}`);
}
