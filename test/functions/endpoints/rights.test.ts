/** Rights to call HTTP functions: policies on `_functions` with filters over plugin, name and method; limits of keys; errors. */
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { endpointFixture, value } from '../../helpers/functions/endpoint-fixture.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { key, owner, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const fixture = await endpointFixture(t, { MILLRACE_MODE: 'production' });
const { app, registry, calls, parts, as, store } = fixture;
await beOwned(parts);
registry.setPlugins([
  pluginOf('shop', { total: { use: endpoint('GET,POST /total') }, list: { use: endpoint('GET /list') } }),
  pluginOf('office', { close: { use: endpoint('POST /close') } }),
]);
const request = (route: string, headers: Record<string, string> = {}, extra: Record<string, string> = {}) => {
  const [method = '', url = ''] = route.split(' ');
  return app.inject({ method: method as 'GET', url, headers: { ...headers, ...extra } });
};
const statusOf = async (route: string, headers: Record<string, string> = {}) =>
  (await request(route, headers)).statusCode;

t.test('without a policy only administrators can call, and others learn nothing about what exists', async (t) => {
  withPolicies(parts, []);
  for (const route of ['GET /fn/total', 'GET /fn/nothing', 'DELETE /fn/total']) {
    t.match((await request(route)).json(), { status: 401, code: 'not-authenticated' }, route);
    t.match((await request(route, as(user('u')))).json(), { status: 403, code: 'forbidden' }, route);
  }
  t.equal(await statusOf('GET /fn/total', as(owner())), 200);
  t.equal(await statusOf('GET /fn/total', as(owner('developer'))), 200);
  t.equal(await statusOf('GET /fn/total', as(owner('viewer'))), 403, 'a viewer reads');
  t.equal(calls.length, 2);
});

t.test('A policy filters functions by plugin, name and method.', async (t) => {
  withPolicies(parts, [
    { resources: ['_functions'], actions: ['call'], filter: { plugin: 'shop', method: 'GET' } },
    { resources: ['_functions'], actions: ['call'], principals: { roles: ['clerk'] }, filter: { plugin: 'office' } },
    {
      resources: ['_functions'],
      actions: ['call'],
      effect: 'deny',
      filter: { name: 'list' },
      principals: { users: ['bad'] },
    },
  ]);
  const clerk = as(user('c', ['clerk']));
  const table: readonly (readonly [string, Record<string, string>, number])[] = [
    ['GET /fn/total', {}, 200],
    ['HEAD /fn/total', {}, 200],
    ['POST /fn/total', {}, 401],
    ['POST /fn/total', clerk, 403],
    ['POST /fn/close', {}, 401],
    ['POST /fn/close', clerk, 200],
    ['GET /fn/list', {}, 200],
    ['GET /fn/list', as(user('bad')), 403],
    ['GET /fn/total', as(user('bad')), 200],
    ['GET /fn/nothing', {}, 404],
  ];
  for (const [route, headers, status] of table) t.equal(await statusOf(route, headers), status, `${route} ${status}`);
  t.match((await request('POST /fn/total', {})).headers['www-authenticate'], /Bearer/);
});

t.test('A key calls functions within its own limits.', async (t) => {
  withPolicies(parts, [{ resources: ['_functions'], actions: ['call'] }]);
  t.equal(await statusOf('GET /fn/total', as(key('all'))), 200);
  t.equal(await statusOf('GET /fn/total', as(key('reads', { actions: ['read'] }))), 403);
  t.equal(await statusOf('POST /fn/total', as(key('reads2', { actions: ['read'] }))), 403);
  t.equal(await statusOf('GET /fn/total', as(key('calls', { actions: ['call'], resources: ['_functions'] }))), 200);
  t.equal(await statusOf('GET /fn/total', as(key('posts', { resources: ['posts'] }))), 403);
});

t.test('An administrator simulates policies for functions before storing them.', async (t) => {
  withPolicies(parts, [{ resources: ['_functions'], actions: ['call'], filter: { plugin: 'shop' } }]);
  const tried = async (document?: object) => {
    const query = { principal: { kind: 'anonymous' }, action: 'call', resource: '_functions', document };
    const response = await app.inject({
      method: 'POST',
      url: '/admin/policies/test',
      headers: as(owner()),
      payload: query,
    });
    return response.json().decision;
  };
  t.equal(await tried(), 'allow');
  t.equal(await tried({ plugin: 'shop', name: 'total', method: 'GET' }), 'allow');
  t.equal(await tried({ plugin: 'office', name: 'close', method: 'POST' }), 'deny');
  const explained = await request('GET /fn/total', as(owner()), { 'millrace-explain': '1' });
  t.match(explained.headers['millrace-explain'], /"action":"call","resource":"_functions"/);
});

t.test('A policy whose filter names a field that functions do not have is stored with a warning.', async (t) => {
  const save = async (where: object, resources = ['_functions'], actions = ['call']) => {
    const payload = {
      name: JSON.stringify([where, resources]),
      resources,
      actions,
      effect: 'allow',
      filter: where,
    };
    return (await app.inject({ method: 'POST', url: '/admin/policies', headers: as(owner()), payload })).json();
  };
  t.match((await save({ colour: 'red', plugin: 'shop' })).warnings, [/'colour'.*plugin, name, method/]);
  t.equal((await save({ plugin: 'shop', name: 'total', method: { $in: ['GET'] } })).warnings, undefined);
  t.equal((await save({ owner: '$user.id' }, ['_functions', 'posts'], ['call', 'read'])).warnings, undefined);
});

t.test('errors: clients get a code and the request id, administrators the error of the code', async (t) => {
  withPolicies(parts, [{ resources: ['_functions'], actions: ['call'] }]);
  const codes = [
    ['function-failed', 500],
    ['function-timeout', 504],
    ['function-out-of-memory', 503],
    ['function-runtime-restarted', 503],
  ] as const;
  for (const [code, status] of codes) {
    const issue: CallOutcome = { kind: 'error', code, message: 'secret detail', stack: 'at total.ts:3:1', cpuMs: 1 };
    fixture.response(async () => issue);
    const anonymous = await request('GET /fn/total');
    t.match(anonymous.json(), { status, code, request: anonymous.headers['x-request-id'] });
    t.notMatch(anonymous.body, /secret detail|total\.ts/);
    const reported = await request('GET /fn/total', as(owner()));
    t.match(reported.json(), { status, code, detail: 'secret detail' });
    const run = String(reported.headers['millrace-run']);
    await until(async () => (await store.find(run)) !== null, 'the run is stored');
    t.match(await store.find(run), { state: 'failed', error: { code, stack: 'at total.ts:3:1' }, kind: 'http' });
  }
  for (const code of ['function-quarantined', 'functions-disabled'] as const) {
    fixture.response(async () => {
      throw new MillraceError(code, 'not now');
    });
    t.match((await request('GET /fn/total')).json(), { status: 503, code });
  }
  fixture.response(async () => value(1));
});

t.test('A function receives its caller unchanged.', async (t) => {
  withPolicies(parts, [{ resources: ['_functions'], actions: ['call'] }]);
  const ann = user('ann', ['clerk']);
  await request('GET /fn/total', as(ann));
  t.equal(calls.at(-1)?.caller, ann);
  await request('GET /fn/total');
  t.equal(calls.at(-1)?.caller, ANONYMOUS);
});
