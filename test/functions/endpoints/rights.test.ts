/** Who may call which endpoint: policies on `functions` with `where` over plugin, name and method; limits of keys; faults. */
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/kernel/errors.ts';
import { endpointWorld, value } from '../../helpers/functions/endpoint-world.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { key, owner, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const world = await endpointWorld(t, { MILLRACE_MODE: 'production' });
const { app, book, calls, parts, as, store } = world;
await beOwned(parts);
book.use([
  pluginOf('shop', { total: { use: endpoint('GET,POST /total') }, list: { use: endpoint('GET /list') } }),
  pluginOf('office', { close: { use: endpoint('POST /close') } }),
]);
const ask = (route: string, headers: Record<string, string> = {}, extra: Record<string, string> = {}) => {
  const [method = '', url = ''] = route.split(' ');
  return app.inject({ method: method as 'GET', url, headers: { ...headers, ...extra } });
};
const statusOf = async (route: string, headers: Record<string, string> = {}) => (await ask(route, headers)).statusCode;

t.test('without a policy nobody but owners may call, and nobody learns what there is', async (t) => {
  withPolicies(parts, []);
  for (const route of ['GET /fn/total', 'GET /fn/nothing', 'DELETE /fn/total']) {
    t.match((await ask(route)).json(), { status: 401, code: 'not-authenticated' }, route);
    t.match((await ask(route, as(user('u')))).json(), { status: 403, code: 'forbidden' }, route);
  }
  t.equal(await statusOf('GET /fn/total', as(owner())), 200);
  t.equal(await statusOf('GET /fn/total', as(owner('developer'))), 200);
  t.equal(await statusOf('GET /fn/total', as(owner('viewer'))), 403, 'a viewer reads');
  t.equal(calls.length, 2);
});

t.test('where names plugin, name and method', async (t) => {
  withPolicies(parts, [
    { collections: ['functions'], actions: ['call'], where: { plugin: 'shop', method: 'GET' } },
    { collections: ['functions'], actions: ['call'], principals: { roles: ['clerk'] }, where: { plugin: 'office' } },
    {
      collections: ['functions'],
      actions: ['call'],
      effect: 'deny',
      where: { name: 'list' },
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
  t.match((await ask('POST /fn/total', {})).headers['www-authenticate'], /Bearer/);
});

t.test('a key calls within its own limits', async (t) => {
  withPolicies(parts, [{ collections: ['functions'], actions: ['call'] }]);
  t.equal(await statusOf('GET /fn/total', as(key('all'))), 200);
  t.equal(await statusOf('GET /fn/total', as(key('reads', { actions: ['read'] }))), 403);
  t.equal(await statusOf('POST /fn/total', as(key('reads2', { actions: ['read'] }))), 403);
  t.equal(await statusOf('GET /fn/total', as(key('calls', { actions: ['call'], collections: ['functions'] }))), 200);
  t.equal(await statusOf('GET /fn/total', as(key('posts', { collections: ['posts'] }))), 403);
});

t.test('the owner tries policies for functions before they count', async (t) => {
  withPolicies(parts, [{ collections: ['functions'], actions: ['call'], where: { plugin: 'shop' } }]);
  const tried = async (document?: object) => {
    const question = { principal: { kind: 'anonymous' }, action: 'call', collection: 'functions', document };
    const answer = await app.inject({
      method: 'POST',
      url: '/admin/policies/test',
      headers: as(owner()),
      payload: question,
    });
    return answer.json().verdict;
  };
  t.equal(await tried(), 'allow');
  t.equal(await tried({ plugin: 'shop', name: 'total', method: 'GET' }), 'allow');
  t.equal(await tried({ plugin: 'office', name: 'close', method: 'POST' }), 'deny');
  const explained = await ask('GET /fn/total', as(owner()), { 'millrace-explain': '1' });
  t.match(explained.headers['millrace-explain'], /"action":"call","place":"functions"/);
});

t.test('a policy whose where names what a function does not have is saved with a warning', async (t) => {
  const save = async (where: object, collections = ['functions'], actions = ['call']) => {
    const payload = { name: JSON.stringify([where, collections]), collections, actions, effect: 'allow', where };
    return (await app.inject({ method: 'POST', url: '/admin/policies', headers: as(owner()), payload })).json();
  };
  t.match((await save({ colour: 'red', plugin: 'shop' })).warnings, [/'colour'.*plugin, name, method/]);
  t.equal((await save({ plugin: 'shop', name: 'total', method: { $in: ['GET'] } })).warnings, undefined);
  t.equal((await save({ owner: '$user.id' }, ['functions', 'posts'], ['call', 'read'])).warnings, undefined);
});

t.test('faults: strangers get a code and the request id, owners what the code said', async (t) => {
  withPolicies(parts, [{ collections: ['functions'], actions: ['call'] }]);
  const codes = [
    ['function-failed', 500],
    ['function-timeout', 504],
    ['function-out-of-memory', 503],
    ['function-runtime-restarted', 503],
  ] as const;
  for (const [code, status] of codes) {
    const fault: CallOutcome = { kind: 'fault', code, message: 'secret detail', stack: 'at total.ts:3:1', cpuMs: 1 };
    world.answer(async () => fault);
    const stranger = await ask('GET /fn/total');
    t.match(stranger.json(), { status, code, request: stranger.headers['x-request-id'] });
    t.notMatch(stranger.body, /secret detail|total\.ts/);
    const told = await ask('GET /fn/total', as(owner()));
    t.match(told.json(), { status, code, detail: 'secret detail' });
    const run = String(told.headers['millrace-run']);
    await until(async () => (await store.find(run)) !== null, 'the run is kept');
    t.match(await store.find(run), { state: 'failed', error: { code, stack: 'at total.ts:3:1' }, kind: 'endpoint' });
  }
  for (const code of ['function-quarantined', 'functions-off'] as const) {
    world.answer(async () => {
      throw new MillraceError(code, 'not now');
    });
    t.match((await ask('GET /fn/total')).json(), { status: 503, code });
  }
  world.answer(async () => value(1));
});

t.test('a caller is passed on as it is', async (t) => {
  withPolicies(parts, [{ collections: ['functions'], actions: ['call'] }]);
  const ann = user('ann', ['clerk']);
  await ask('GET /fn/total', as(ann));
  t.equal(calls.at(-1)?.caller, ann);
  await ask('GET /fn/total');
  t.equal(calls.at(-1)?.caller, ANONYMOUS);
});
