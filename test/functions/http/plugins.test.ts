/** Plugins over HTTP: storing, viewing, disabling, versions, secrets, entity tags, and rights. */
import t from 'tap';
import { createPluginFixture, onePlugin } from '../../helpers/functions/plugin-fixture.ts';

const { services, boss, admin, developer, viewer, somebody, program, anonymous } = await createPluginFixture(t);

t.test('A plugin can be stored, read, changed and deleted.', async (t) => {
  const created = await boss('PUT /admin/plugins/invoice', {
    ...onePlugin('invoice', { secrets: ['KEY'] }),
    note: 'First',
  });
  t.equal(created.statusCode, 201, created.body);
  t.equal(created.headers.location, '/admin/plugins/invoice');
  const shown = {
    name: 'invoice',
    source: 'database',
    version: '1',
    enabled: true,
    isolation: 'plugin',
    diagnostics: [],
    blockedCollections: [],
    functions: [
      {
        name: 'total',
        kind: 'http',
        route: { methods: ['POST'], path: '/fn/invoice/:id/total' },
        state: 'active',
        error: null,
        runs: { succeeded: 0, failed: 0, p95Ms: null },
        lastRunAt: null,
        nextRunAt: null,
      },
    ],
  };
  const whole = { ...onePlugin('invoice', { secrets: ['KEY'] }), secrets: [{ name: 'KEY', set: false }] };
  t.strictSame(created.json(), { ...shown, ...whole });
  t.strictSame((await viewer('GET /admin/plugins')).json(), [shown]);
  t.strictSame((await viewer('GET /admin/plugins/invoice')).json(), created.json());
  const fn = services.functions.active.find('invoice/total');
  t.match(fn, { id: 'invoice/total', as: 'caller', timeoutMs: 10_000, isQuarantined: false, file: 'total.ts' });
  t.equal(fn?.plugin.bundle.files.get('total.ts'), 'export default async () => 1;');

  const script = 'const one: number = 1;\nexport default async () => one;';
  const changed = await boss('PUT /admin/plugins/invoice', onePlugin('invoice', {}, script));
  t.equal(changed.statusCode, 200, changed.body);
  t.match(changed.json(), { version: '2', files: { 'total.ts': script }, secrets: [] });
  t.equal(
    services.functions.active.find('invoice/total')?.plugin.bundle.files.get('total.ts'),
    'const one         = 1;\nexport default async () => one;',
    'without its types, positions unchanged',
  );

  const off = await boss('PATCH /admin/plugins/invoice', { enabled: false });
  t.match(off.json(), { enabled: false, functions: [{ state: 'disabled' }] });
  t.equal(services.functions.active.find('invoice/total'), undefined);
  t.strictSame(services.functions.active.ofKind('http'), []);
  t.match((await boss('PATCH /admin/plugins/invoice', { enabled: true })).json(), { functions: [{ state: 'active' }] });

  t.equal((await boss('DELETE /admin/plugins/invoice')).statusCode, 204);
  t.match((await boss('GET /admin/plugins/invoice')).json(), { status: 404, code: 'plugin-not-found' });
  t.match((await boss('DELETE /admin/plugins/invoice')).json(), { status: 404, code: 'plugin-not-found' });
  t.strictSame((await boss('GET /admin/plugins')).json(), []);
  t.equal((await boss('PUT /admin/plugins/invoice', onePlugin('invoice'))).json().version, '1', 'it starts again');
  t.equal(
    services.functions.active.find('invoice/total')?.plugin.bundle.files.get('total.ts'),
    'export default async () => 1;',
    'and is no earlier plugin of this name and version',
  );
  await boss('DELETE /admin/plugins/invoice');
});

t.test('Each kind of function is shown with its trigger.', async (t) => {
  const functions = [
    { name: 'get', file: 'a.ts', http: { method: ['GET', 'POST'], path: '/a' }, as: 'function', roles: ['reader'] },
    { name: 'greet', file: 'a.ts', on: ['todos.created', 'system.user.*'], filter: { done: true } },
    { name: 'nightly', file: 'a.ts', cron: '0 3 * * *', timeZone: 'Europe/Berlin' },
    { name: 'stamp', file: 'a.ts', beforeWrite: { collections: ['orders'] } },
    { name: 'later', file: 'a.ts', job: true },
  ];
  const body = { manifest: { name: 'all', functions }, files: { 'a.ts': 'export default () => 1' } };
  const response = await boss('PUT /admin/plugins/all', body);
  t.match(response.json().functions, [
    { name: 'get', kind: 'http', route: { methods: ['GET', 'POST'], path: '/fn/a' }, nextRunAt: null },
    { name: 'greet', kind: 'trigger', on: ['todos.created', 'system.user.*'] },
    { name: 'nightly', kind: 'cron', cron: '0 3 * * *', timeZone: 'Europe/Berlin', nextRunAt: /^\d{4}-.*T0[12]:00:00/ },
    {
      name: 'stamp',
      kind: 'beforeWrite',
      beforeWrite: { collections: ['orders'], actions: ['create', 'update', 'delete'] },
    },
    { name: 'later', kind: 'job', job: true },
  ]);
});

t.test('Versions are kept, readable, and can be activated again.', async (t) => {
  const script = (n: number) => `export default () => ${n};`;
  for (let n = 1; n <= 3; n += 1) {
    const body = { ...onePlugin('vers', {}, script(n)), note: n === 2 ? 'Second' : null };
    await (n === 2 ? developer : boss)('PUT /admin/plugins/vers', body);
  }
  const versions = (await viewer('GET /admin/plugins/vers/versions')).json();
  t.match(versions, [
    { version: '3', note: null, createdBy: /^admin:/, createdAt: /Z$/ },
    { version: '2', note: 'Second' },
    { version: '1' },
  ]);
  t.strictSame(Object.keys(versions[0]).sort(), ['createdAt', 'createdBy', 'note', 'version']);
  const second = (await viewer('GET /admin/plugins/vers/versions/2')).json();
  t.match(second, { version: '2', note: 'Second', manifest: { name: 'vers' }, files: { 'total.ts': script(2) } });

  const back = await developer('POST /admin/plugins/vers/versions/1/activate');
  t.match(back.json(), { version: '1', files: { 'total.ts': script(1) } });
  t.equal(services.functions.active.find('vers/total')?.plugin.version, '1');
  t.equal(services.functions.active.find('vers/total')?.plugin.bundle.files.get('total.ts'), script(1));
  t.equal((await boss('GET /admin/plugins/vers/versions')).json().length, 3, 'this creates no version');
  t.equal((await boss('PUT /admin/plugins/vers', onePlugin('vers', {}, script(4)))).json().version, '4');
  for (const one of ['9', '0', 'x', '1e1', '99999999999999']) {
    const response = await boss(`POST /admin/plugins/vers/versions/${one}/activate`);
    t.match(response.json(), { status: 404, code: 'plugin-not-found' }, one);
    t.equal((await boss(`GET /admin/plugins/vers/versions/${one}`)).statusCode, 404, one);
  }
  t.equal((await boss('GET /admin/plugins/none/versions')).statusCode, 404);
  t.equal(services.functions.active.find('vers/total')?.plugin.version, '4');
});

t.test('The last hundred versions and the active one are kept.', async (t) => {
  await boss('PUT /admin/plugins/hundred', onePlugin('hundred'));
  const rows = services.mongo.log.collection('plugin_versions');
  const [first] = await rows.find({ plugin: 'hundred' }).toArray();
  if (first === undefined) throw new Error('No version was stored');
  const copies = Array.from({ length: 101 }, (_, n) => ({ ...first, _id: `copy-${n}`, version: n + 2 }));
  await rows.insertMany(copies as never[]);
  await boss('POST /admin/plugins/hundred/versions/2/activate');
  t.equal((await boss('PUT /admin/plugins/hundred', onePlugin('hundred'))).json().version, '103');
  const kept = (await rows.find({ plugin: 'hundred' }, { projection: { version: 1 } }).toArray()).map(
    (one) => one['version'],
  );
  t.same(kept.sort((a, b) => a - b).slice(0, 3), [2, 4, 5], 'the active one is kept');
  t.equal((await boss('GET /admin/plugins/hundred/versions')).json().length, 100);
});

t.test('Changes of plugins support conditions.', async (t) => {
  const first = await boss('PUT /admin/plugins/cond', onePlugin('cond', { secrets: ['KEY'] }), {
    'if-none-match': '*',
  });
  t.equal(first.statusCode, 201);
  const tag = String(first.headers.etag);
  const refused = await boss('PUT /admin/plugins/cond', onePlugin('cond'), { 'if-none-match': '*' });
  t.match(refused.json(), { status: 412, code: 'precondition-failed' });
  t.equal((await boss('GET /admin/plugins/cond')).headers.etag, tag);
  await boss('PUT /admin/plugins/cond/secrets/KEY', { value: 'anything' });
  const stale = { 'if-match': tag };
  for (const [request, body] of [
    ['PUT /admin/plugins/cond', onePlugin('cond')],
    ['PATCH /admin/plugins/cond', { enabled: false }],
    ['POST /admin/plugins/cond/versions/1/activate', undefined],
    ['DELETE /admin/plugins/cond', undefined],
  ] as const) {
    t.equal((await boss(request, body, stale)).statusCode, 412, `${request} after a secret was set`);
  }
  t.match((await boss('GET /admin/plugins/cond')).json(), { version: '1', enabled: true });
  const fresh = { 'if-match': String((await boss('GET /admin/plugins/cond')).headers.etag) };
  t.equal((await boss('PATCH /admin/plugins/cond', { enabled: false }, fresh)).statusCode, 200);
  t.equal((await boss('DELETE /admin/plugins/none', undefined, fresh)).statusCode, 412, 'there is none to match');
});

t.test('Concurrent changes are applied one after the other.', async (t) => {
  const bodies = Array.from({ length: 8 }, (_, n) => onePlugin('turns', {}, `export default () => ${n};`));
  const responses = await Promise.all(bodies.map((body) => boss('PUT /admin/plugins/turns', body)));
  t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
  const versions = (await boss('GET /admin/plugins/turns/versions')).json();
  t.same(
    versions.map(({ version }: { version: number }) => version),
    [8, 7, 6, 5, 4, 3, 2, 1],
  );
  const { files } = (await boss('GET /admin/plugins/turns/versions/8')).json();
  const activeNow = services.functions.active.find('turns/total')?.plugin;
  t.equal(activeNow?.version, '8');
  t.equal(activeNow?.bundle.files.get('total.ts'), files['total.ts']);

  // Two concurrent plugins with the same route: one of them is first.
  const same = (name: string) => ({
    manifest: { name, functions: [{ name: 'f', file: 'f.js', http: { method: 'GET', path: '/same/:id' } }] },
    files: { 'f.js': 'export default () => 1' },
  });
  const [one, two] = await Promise.all([
    boss('PUT /admin/plugins/b', same('b')),
    boss('PUT /admin/plugins/c', same('c')),
  ]);
  t.same([one.statusCode, two.statusCode].sort(), [201, 400]);
  t.match([one, two].find(({ statusCode }) => statusCode === 400)?.json(), {
    code: 'invalid-plugin',
    detail: /'[bc]\/f' and '[bc]\/f' both serve GET \/fn\/same\/:/,
    errors: [{ pointer: '/manifest/functions/0/http' }],
  });
});

t.test('Principals without the right are rejected.', async (t) => {
  const body = onePlugin('refused', { secrets: ['KEY'] });
  t.equal((await developer('PUT /admin/plugins/refused', body)).statusCode, 201);
  const requests = [
    ['GET /admin/plugins', undefined, 200],
    ['GET /admin/plugins/refused', undefined, 200],
    ['GET /admin/plugins/refused/versions', undefined, 200],
    ['GET /admin/plugins/refused/versions/1', undefined, 200],
    ['PUT /admin/plugins/refused', body, 403],
    ['PATCH /admin/plugins/refused', { enabled: true }, 403],
    ['POST /admin/plugins/refused/versions/1/activate', undefined, 403],
    ['PUT /admin/plugins/refused/secrets/KEY', { value: 'x' }, 403],
    ['DELETE /admin/plugins/refused/secrets/KEY', undefined, 403],
    ['POST /admin/plugins/refused/functions/total/unquarantine', undefined, 403],
    ['DELETE /admin/plugins/refused', undefined, 403],
  ] as const;
  for (const [request, sent, seen] of requests) {
    t.equal((await anonymous(request, sent)).statusCode, 401, `anonymous: ${request}`);
    t.equal((await somebody(request, sent)).statusCode, 403, `a user: ${request}`);
    t.equal((await program(request, sent)).statusCode, 403, `a key: ${request}`);
    t.equal((await viewer(request, sent)).statusCode, seen, `a viewer: ${request}`);
  }
  for (const [request, sent] of requests) {
    t.ok((await (request.startsWith('GET') ? developer : admin)(request, sent)).statusCode < 300, request);
  }
});

t.test('a trigger of user events needs the right to read users', async (t) => {
  const body = (on: readonly string[]) => ({
    manifest: { name: 'accounts', functions: [{ name: 'greet', file: 'g.js', on }] },
    files: { 'g.js': 'export default () => 1' },
  });
  const readsUsers = () => services.functions.active.find('accounts/greet')?.plugin.readsUsers;
  for (const type of ['system.user.created', 'system.key.*', 'system.session.revoked', 'system.auth.failed']) {
    const refused = await developer('PUT /admin/plugins/accounts', body(['todos.created', type]));
    t.match(
      refused.json(),
      { status: 403, code: 'forbidden', errors: [{ pointer: '/manifest/functions/0/on/1' }] },
      type,
    );
  }
  t.equal((await developer('PUT /admin/plugins/accounts', body(['system.*', '*', 'todos.*']))).statusCode, 201);
  t.equal(readsUsers(), false, 'a wider pattern is allowed, and events without permission are left out');
  t.equal((await boss('PUT /admin/plugins/accounts', body(['system.user.created']))).statusCode, 200);
  t.equal(readsUsers(), true);
  await boss('POST /admin/plugins/accounts/versions/1/activate');
  t.equal(readsUsers(), false, 'each version has the rights of the administrator who stored it');
  await developer('POST /admin/plugins/accounts/versions/2/activate');
  t.equal(readsUsers(), true);
  t.equal((await developer('PUT /admin/plugins/accounts', body(['*']))).statusCode, 200);
  t.equal(readsUsers(), false);
});
