/** Manifests: valid options, and the error locations of invalid ones. */
import t from 'tap';
import { cronIssue, cronTimes } from '../../../src/functions/plugins/manifest/cron.ts';
import { endpointPathIssue, routePatternsOf } from '../../../src/functions/plugins/manifest/endpoint-paths.ts';
import { invalidFetchHostReason, readManifest } from '../../../src/functions/plugins/manifest/manifest-rules.ts';

const FN = { name: 'total', file: 'total.ts' };
const HTTP = { ...FN, http: { method: 'POST', path: '/invoice/:id/total' } };

const manifest = (fn: object, more: object = {}) => ({ name: 'invoice', functions: [fn], ...more });

t.test('Valid manifests are accepted.', async (t) => {
  const right: readonly object[] = [
    manifest(HTTP),
    manifest({ ...HTTP, as: 'caller' }),
    manifest({ ...HTTP, as: 'function', roles: ['mailer', 'Ä b'], timeoutMs: 10_000 }),
    manifest({ ...FN, http: { method: ['GET', 'DELETE'], path: '/a.b~c/_d/:some_Id2' } }),
    manifest({ ...FN, on: ['*'], filter: {} }),
    manifest({
      ...FN,
      on: ['todos.created', 'system.user.*', '*.deleted'],
      filter: { price: { $lt: 10 } },
      roles: ['x'],
    }),
    manifest({ ...FN, cron: '*/5 8-18 * * MON-FRI', timeZone: 'Europe/Berlin', timeoutMs: 60_000 }),
    manifest({ ...FN, beforeWrite: { collections: ['orders', 'o_2'], actions: ['delete'] }, timeoutMs: 3_000 }),
    manifest({ ...FN, beforeWrite: { collections: ['*'] } }),
    manifest({ ...FN, job: true, as: 'function' }),
    manifest(HTTP, {
      fetch: ['api.example.com', '*.example.org:8443', 'localhost:1', '127.0.0.1'],
      secrets: ['A', 'B_2'],
    }),
    {
      name: 'invoice',
      functions: [
        HTTP,
        { name: 'b', file: 'b.js', http: { method: 'GET', path: '/invoice/:id/total' } },
        { name: 'c', file: 'c.mjs', http: { method: 'POST', path: '/invoice/new/total' } },
      ],
    },
  ];
  for (const one of right) t.strictSame(await readManifest(one, 'invoice'), { manifest: one }, JSON.stringify(one));
});

t.test('Invalid manifests are rejected with a pointer to each error.', async (t) => {
  const http = (method: unknown, path: unknown) => manifest({ ...FN, http: { method, path } });
  const wrong: readonly (readonly [what: unknown, pointer: string, message: RegExp])[] = [
    [null, '', /object/],
    [[], '', /object/],
    ['{}', '', /object/],
    [{ name: 'invoice' }, '', /functions/],
    [manifest(HTTP, { version: 1 }), '/version', /not known/],
    [{ name: 'other', functions: [HTTP] }, '/name', /must be 'invoice'/],
    [{ name: 'Invoice', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: 'invоice', functions: [HTTP] }, '/name', /lowercase letters/], // a Cyrillic o
    [{ name: 'in_voice', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: 'in--voice', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: 'invoice-', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: 'invoice\n', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: '__proto__', functions: [HTTP] }, '/name', /lowercase letters/],
    [{ name: 'x'.repeat(41), functions: [HTTP] }, '/name', /40/],
    [{ name: 'invoice', functions: [] }, '/functions', /fewer than 1|1/],
    [{ name: 'invoice', functions: Array.from({ length: 101 }, () => HTTP) }, '/functions', /100/],
    [manifest({ ...HTTP, name: 'constructor' }), '/functions/0/name', /reserved/],
    [manifest({ ...HTTP, name: '1st' }), '/functions/0/name', /lowercase letters/],
    [manifest({ ...HTTP, name: 'tоtal' }), '/functions/0/name', /lowercase letters/],
    [{ name: 'invoice', functions: [HTTP, { ...FN, job: true }] }, '/functions/1/name', /twice/],
    [manifest(FN), '/functions/0', /exactly one of http, on, cron, beforeWrite, job/],
    [manifest({ ...HTTP, job: true }), '/functions/0', /exactly one/],
    [manifest({ ...FN, job: false }), '/functions/0/job', /.+/],
    [manifest({ ...HTTP, run: 1 }), '/functions/0/run', /not known/],
    [manifest({ ...HTTP, file: '' }), '/functions/0/file', /.+/],
    [http('HEAD', '/a'), '/functions/0/http/method', /^must be one of GET, .*DELETE, or a list of some of them$/],
    [http([], '/a'), '/functions/0/http/method', /.+/],
    [http(['GET', 'GET'], '/a'), '/functions/0/http/method', /.+/],
    [http('GET', 'a/b'), '/functions/0/http/path', /start with/],
    [http('GET', '/'), '/functions/0/http/path', /fewer than 2|2/],
    [http('GET', '/a/'), '/functions/0/http/path', /segment ''/],
    [http('GET', '/a//b'), '/functions/0/http/path', /segment ''/],
    [http('GET', '/a/../b'), '/functions/0/http/path', /\.\./],
    [http('GET', '/a/*'), '/functions/0/http/path', /segment '\*'/],
    [http('GET', '/a?b=c'), '/functions/0/http/path', /segment/],
    [http('GET', '/a%2fb'), '/functions/0/http/path', /segment/],
    [http('GET', '/ä'), '/functions/0/http/path', /segment/],
    [http('GET', '/:a/:a'), '/functions/0/http/path', /two parameters/],
    [http('GET', '/:a-:b'), '/functions/0/http/path', /segment/],
    [http('GET', '/:__proto__'), '/functions/0/http/path', /segment/],
    [http('GET', `/${'a/'.repeat(16)}a`), '/functions/0/http/path', /16/],
    [
      {
        name: 'invoice',
        functions: [HTTP, { ...HTTP, name: 'other', http: { method: ['GET', 'POST'], path: '/invoice/:x/total' } }],
      },
      '/functions/1/http',
      /'other' and 'total' both serve POST \/fn\/invoice\/:\/total/,
    ],
    [manifest({ ...FN, on: [] }), '/functions/0/on', /.+/],
    [
      manifest({ ...FN, on: ['todos.created', 'todos.made'] }),
      '/functions/0/on/1',
      /no events of the type 'todos.made'/,
    ],
    [manifest({ ...FN, on: ['system.users.created'] }), '/functions/0/on/0', /Did you mean/],
    [manifest({ ...FN, on: ['a.created'], filter: { a: { $where: '1' } } }), '/functions/0/filter', /\$where/],
    [manifest({ ...FN, on: ['a.created'], filter: { $now: 1 } }), '/functions/0/filter', /.+/],
    [manifest({ ...HTTP, filter: {} }), '/functions/0/filter', /belongs to a trigger/],
    [manifest({ ...FN, cron: '61 * * * *' }), '/functions/0/cron', /minute/],
    [manifest({ ...FN, cron: '* * * * * *' }), '/functions/0/cron', /five fields/],
    [manifest({ ...FN, cron: '0 0 31 2 *' }), '/functions/0/cron', /never due/],
    [manifest({ ...FN, cron: '@hourly ab' }), '/functions/0/cron', /five fields/],
    [manifest({ ...FN, cron: '? * * * *' }), '/functions/0/cron', /five fields/],
    [manifest({ ...FN, cron: '0 3 * * *', timeZone: 'Mars/X' }), '/functions/0/timeZone', /not a time zone/],
    [manifest({ ...HTTP, timeZone: 'UTC' }), '/functions/0/timeZone', /belongs to a cron/],
    [manifest({ ...FN, beforeWrite: { collections: ['_users'] } }), '/functions/0/beforeWrite/collections/0', /no|not/],
    [
      manifest({ ...FN, beforeWrite: { collections: ['system'] } }),
      '/functions/0/beforeWrite/collections/0',
      /not a valid collection name/,
    ],
    [
      manifest({ ...FN, beforeWrite: { collections: ['a', '*b'] } }),
      '/functions/0/beforeWrite/collections/1',
      /not a valid collection name/,
    ],
    [manifest({ ...FN, beforeWrite: { collections: [] } }), '/functions/0/beforeWrite/collections', /.+/],
    [
      manifest({ ...FN, beforeWrite: { collections: ['a'], actions: ['read'] } }),
      '/functions/0/beforeWrite/actions/0',
      /.+/,
    ],
    [manifest({ ...FN, job: true, as: 'caller' }), '/functions/0/as', /no caller/],
    [manifest({ ...FN, cron: '0 3 * * *', as: 'caller' }), '/functions/0/as', /no caller/],
    [manifest({ ...FN, on: ['a.created'], as: 'caller' }), '/functions/0/as', /no caller/],
    [manifest({ ...HTTP, as: 'owner' }), '/functions/0/as', /.+/],
    [manifest({ ...HTTP, roles: ['a'] }), '/functions/0/roles', /no effect/],
    [manifest({ ...HTTP, timeoutMs: 10_001 }), '/functions/0/timeoutMs', /10000/],
    [manifest({ ...FN, beforeWrite: { collections: ['a'] }, timeoutMs: 3_001 }), '/functions/0/timeoutMs', /3000/],
    [manifest({ ...FN, job: true, timeoutMs: 60_001 }), '/functions/0/timeoutMs', /.+/],
    [manifest({ ...HTTP, timeoutMs: 0 }), '/functions/0/timeoutMs', /.+/],
    [manifest(HTTP, { fetch: ['*'] }), '/fetch/0', /host/],
    [manifest(HTTP, { fetch: ['a.example', '*.com'] }), '/fetch/1', /two labels/],
    [manifest(HTTP, { secrets: ['key'] }), '/secrets/0', /uppercase letters/],
    [manifest(HTTP, { secrets: ['__PROTO__'] }), '/secrets/0', /uppercase letters/],
    [manifest(HTTP, { secrets: ['A', 'A'] }), '/secrets', /.+/],
  ];
  for (const [what, pointer, message] of wrong) {
    const read = await readManifest(what, 'invoice');
    const name = JSON.stringify(what).slice(0, 120);
    if (!('diagnostics' in read)) {
      t.fail(`${name} is taken`);
      continue;
    }
    const found = read.diagnostics.find((one) => one.pointer === pointer);
    t.match(found?.message, message, `${name}: ${JSON.stringify(read.diagnostics)}`);
  }
});

t.test('All errors of a manifest are reported together.', async (t) => {
  const functions = [
    { ...FN, cron: 'x x x x x' },
    { ...FN, name: 'b', on: ['nothing'] },
  ];
  const read = await readManifest({ name: 'invoice', functions, fetch: ['http://x'] }, 'invoice');
  t.same('diagnostics' in read && read.diagnostics.map(({ pointer }) => pointer), [
    '/fetch/0',
    '/functions/0/cron',
    '/functions/1/on/0',
  ]);
});

t.test('Hosts of a manifest are validated.', async (t) => {
  for (const host of ['a.example', 'xn--bcher-kva.example', '*.a.example', '10.0.0.1:80', 'localhost:65535']) {
    t.equal(invalidFetchHostReason(host), null, host);
  }
  const wrong = [
    '',
    '*',
    '**.a.b',
    'a.*.b',
    '*a.b.c',
    'A.example',
    'a.example.',
    '.a',
    'a..b',
    '-a.b',
    'a_b.c',
    'http://a.b',
  ];
  wrong.push('a.b/c', 'a.b:0', 'a.b:65536', 'a.b:', 'user@a.b', '[::1]', '*.10.0.0.1', '1.2.3', '0x7f.1', '2130706433');
  wrong.push(`${'a.'.repeat(130)}b`, `${'a'.repeat(64)}.b`, 'bücher.example', ' a.b', 'a.b\n');
  for (const host of wrong) t.type(invalidFetchHostReason(host), 'string', JSON.stringify(host));
});

t.test('Paths of HTTP functions are validated.', async (t) => {
  t.equal(endpointPathIssue('/a/:b'), null);
  t.strictSame(routePatternsOf({ http: { method: ['GET', 'PUT'], path: '/a/:b/c' } }), [
    'GET /fn/a/:/c',
    'PUT /fn/a/:/c',
  ]);
  t.strictSame(routePatternsOf({}), []);
});

t.test('Cron schedules give the expected times.', async (t) => {
  const at = async (schedule: string, zone: string, after: string) =>
    (await cronTimes(schedule, zone)).after(new Date(after))?.toISOString();
  t.equal(await at('0 3 * * *', 'UTC', '2026-01-01T03:00:00Z'), '2026-01-02T03:00:00.000Z', 'after, not at');
  t.equal(await at('0 3 * * *', 'Europe/Berlin', '2026-07-01T00:00:00Z'), '2026-07-01T01:00:00.000Z');
  t.equal(await at('0 3 * * *', 'Europe/Berlin', '2026-01-01T00:00:00Z'), '2026-01-01T02:00:00.000Z');
  t.equal(await cronIssue('0 0 29 2 *'), null, 'every four years');
  const before = performance.now();
  await cronIssue('0 0 30 2 *');
  t.ok(performance.now() - before < 1_000, 'one that is never due is known at once');
});
