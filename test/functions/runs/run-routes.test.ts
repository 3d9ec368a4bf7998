/** Runs over HTTP: lists and details, restricted fields, reruns, and live streams. */
import t from 'tap';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import { endpointFixture, reportOf, response, value } from '../../helpers/functions/endpoint-fixture.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const fixture = await endpointFixture(t, { MILLRACE_MODE: 'production' });
const { app, registry, calls, parts, as, store, live, queued } = fixture;
await beOwned(parts);
withPolicies(parts, [{ resources: ['_functions'], actions: ['call'] }]);
const accounts = { kind: 'trigger', on: ['system.user.*'], filter: null } as const;
const todos = { kind: 'trigger', on: ['todos.created'], filter: null } as const;
registry.setPlugins([
  pluginOf('shop', {
    total: { use: endpoint('GET /total') },
    own: { use: endpoint('POST /own'), as: 'function' },
    ill: { use: endpoint('POST /ill'), as: 'function', isQuarantined: true },
    follow: { use: todos },
    stamp: { use: { kind: 'beforeWrite', collections: ['todos'], actions: ['create'] } },
  }),
  pluginOf('mail', { greet: { use: accounts } }, {}, { readsUsers: true }),
]);
const boss = as(owner());
const developer = as(owner('developer'));
const viewer = as(owner('viewer'));
const get = (url: string, headers = boss) => app.inject({ url, headers });
const repeat = (id: string, headers = boss) => app.inject({ method: 'POST', url: `/admin/runs/${id}/rerun`, headers });

t.test('Runs are listed in pages, filtered by their fields.', async (t) => {
  await store.insert([1, 2, 3].map((n) => runRow(n, { state: n === 2 ? 'failed' : 'succeeded', event: `1-${n}` })));
  const page = await get('/admin/runs?limit=2');
  t.strictSame(
    page.json().map(({ id }: { id: string }) => id),
    ['run_0003', 'run_0002'],
  );
  t.notOk('input' in page.json()[0]);
  const [, next = ''] = /<(\/[^>]+)>; rel="next"/.exec(String(page.headers.link)) ?? [];
  t.strictSame(
    (await get(next)).json().map(({ id }: { id: string }) => id),
    ['run_0001'],
  );
  t.match((await get('/admin/runs?state=failed&plugin=shop&functionName=total')).json(), [{ id: 'run_0002' }]);
  t.match((await get('/admin/runs?eventId=1-3', viewer)).json(), [{ id: 'run_0003' }]);
  for (const [query, code] of [
    ['limit=0', 'invalid-parameter'],
    ['state=lost', 'invalid-parameter'],
    ['plugin=', 'invalid-parameter'],
    ['cursor=x', 'cursor-mismatch'],
    ['since=1', 'unknown-parameter'],
  ]) {
    t.match((await get(`/admin/runs?${query}`)).json(), { status: 400, code }, String(query));
  }
  t.equal((await get('/admin/runs', as(user('u')))).statusCode, 403);
});

t.test('A run of an HTTP function shows its input and result without secrets.', async (t) => {
  fixture.response(async ({ fn }) => response(500, {}, `no ${fn.plugin.secrets['KEY'] ?? ''}`));
  registry.setPlugins([
    ...registry.plugins,
    pluginOf('safe', { report: { use: endpoint('POST /tell') } }, {}, { secrets: { KEY: 'sk-planted-1' } }),
  ]);
  fixture.response(async () => ({ kind: 'error', code: 'function-failed', message: 'no', stack: null, cpuMs: 3 }));
  const result = await app.inject({ method: 'POST', url: '/fn/tell', headers: boss, payload: { key: 'sk-planted-1' } });
  const id = String(result.headers['millrace-run']);
  await until(async () => (await store.find(id)) !== null, 'it is stored');
  const run = (await get(`/admin/runs/${id}`, viewer)).json();
  t.match(run, {
    id,
    plugin: 'safe',
    function: 'report',
    kind: 'http',
    state: 'failed',
    attempts: 1,
    cpuMs: 3,
    event: null,
  });
  t.match(JSON.parse(run.input), { method: 'POST', path: '/tell', body: { key: '[secret]' } });
  t.notMatch(JSON.stringify(run), /sk-planted/);
  t.match((await get('/admin/runs/run_none')).json(), { status: 404, code: 'run-not-found' });
});

t.test(
  'Input and output of a run of a user event are for those who may read users, by what was recorded.',
  async (t) => {
    const reported = {
      input: '{"data":{"email":"ann@example.org"}}',
      logs: [{ at: new Date(), level: 'info', text: 'ann@example.org' }],
      operations: [{ operation: 'documents.get', target: 'letters/ann@example.org', durationMs: 1, error: null }],
      result: '"ann@example.org"',
      state: 'failed',
      error: { code: 'ann@example.org', message: 'ann@example.org', stack: 'at ann@example.org' },
    } as const;
    const { restricted: _, ...former } = runRow(35, { ...reported, plugin: 'shop', function: 'follow' });
    await store.insert([
      runRow(31, { ...reported, plugin: 'mail', function: 'greet', restricted: true }),
      // The active function has no user triggers, is gone, or is of another kind.
      runRow(32, { ...reported, plugin: 'shop', function: 'follow', restricted: true }),
      runRow(33, { ...reported, plugin: 'gone', function: 'greet', restricted: true }),
      runRow(34, { ...reported, plugin: 'shop', function: 'own', kind: 'job', restricted: true }),
      // Stored by an earlier version, which recorded nothing.
      former,
      // The active function has user triggers; this event was none of them.
      runRow(36, { ...reported, plugin: 'mail', function: 'greet' }),
    ]);
    for (const who of [developer, viewer]) {
      for (const [n, isShown] of [
        [31, false],
        [32, false],
        [33, false],
        [34, false],
        [35, false],
        [36, true],
      ] as const) {
        const result = await get(`/admin/runs/run_00${n}`, who);
        t.equal(result.body.includes('ann@'), isShown, `${n}`);
        t.equal(result.headers['millrace-hint'] === undefined, isShown);
        t.match((await get(`/admin/runs/run_00${n}`)).body, /ann@/, 'administrators see all');
      }
      const listed = (await get('/admin/runs?state=failed&limit=7', who)).json();
      const shown = listed.filter((run: object) => JSON.stringify(run).includes('ann@'));
      t.match(shown, [{ id: 'run_0036', restricted: false }], 'a list hides what failed as well');
      t.match(listed.at(-1), { restricted: true, error: { code: 'rejected-by-function', stack: null } });
    }
  },
);

t.test('A run of a user event is rerun only by code that may read users.', async (t) => {
  await store.insert([
    runRow(51, { plugin: 'mail', function: 'greet', restricted: true }),
    runRow(52, { plugin: 'shop', function: 'follow', restricted: true }),
  ]);
  registry.setPlugins([...registry.plugins, pluginOf('later', { own: { use: { kind: 'job' } } })]);
  await store.insert([runRow(54, { plugin: 'later', function: 'own', kind: 'job', restricted: true })]);
  const before = queued.length;
  for (const who of [boss, developer]) {
    for (const n of [52, 54]) {
      t.match((await repeat(`run_00${n}`, who)).json(), {
        status: 409,
        code: 'rerun-not-possible',
        detail: /data of users/,
      });
    }
  }
  t.equal(queued.length, before);
  t.equal((await repeat('run_0051', developer)).statusCode, 202, 'the code of an admin gets it');
});

t.test('Runs can be rerun.', async (t) => {
  const was = (n: number, fields: object) => runRow(n, fields);
  await store.insert([
    was(41, { function: 'follow' }),
    was(42, { function: 'follow', state: 'running' }),
    was(43, { function: 'gone' }),
    was(44, { function: 'total', kind: 'http' }),
    was(45, { function: 'own', kind: 'http', input: '{"method":"POST"}' }),
    was(46, { function: 'own', kind: 'http', input: null, inputBytes: 300_000 }),
    was(47, { function: 'ill', kind: 'http' }),
    was(48, { function: 'stamp', kind: 'beforeWrite', state: 'rejected' }),
    was(49, { function: 'own', kind: 'job' }),
  ]);
  t.match((await repeat('run_0041')).json(), { id: 'run_again', state: 'pending' });
  t.strictSame(queued, ['run_0051', 'run_0041']);
  for (const [n, status, code] of [
    [42, 409, 'rerun-not-possible'],
    [43, 404, 'function-not-found'],
    [44, 409, 'rerun-not-possible'],
    [46, 409, 'rerun-not-possible'],
    [47, 503, 'function-quarantined'],
    [48, 409, 'rerun-not-possible'],
    [49, 409, 'rerun-not-possible'],
    [99, 404, 'run-not-found'],
  ] as const) {
    t.match((await repeat(`run_00${n}`)).json(), { status, code }, `${n}`);
  }
  t.equal((await repeat('run_0045', viewer)).statusCode, 403);
  fixture.response(async () => value('again'));
  const before = calls.length;
  const again = await repeat('run_0045', developer);
  t.equal(again.statusCode, 202, again.body);
  const { id } = again.json();
  t.match(again.json(), { state: 'running', function: 'own', kind: 'http', version: '1' });
  await until(async () => (await store.find(id)) !== null, 'a rerun is always stored');
  t.match(await store.find(id), { state: 'succeeded', result: '"again"', input: '{"method":"POST"}' });
  t.equal(calls.length, before + 1);
  t.equal(calls.at(-1)?.caller, null, 'it acts as itself');
  t.strictSame(queued, ['run_0051', 'run_0041']);
});

t.test('Runs can be followed live.', async (t) => {
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const follow = async (query: string, headers = boss) => {
    const controller = new AbortController();
    const url = `${address}/admin/runs/live${query}`;
    const result = await fetch(url, { headers, signal: controller.signal });
    let text = '';
    const ended = (async () => {
      for await (const chunk of result.body ?? []) text += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    return { result, ended, text: () => text, end: () => controller.abort() };
  };
  const [all, mail, dev] = [await follow(''), await follow('?plugin=mail'), await follow('', developer)];
  t.equal(all.result.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.match(all.result.headers.get('cache-control'), 'no-transform', 'proxies do not hold it back to compress it');
  await until(() => live.watchers === 3, 'all watch');
  fixture.response(async (call) => {
    call.onLog?.({ at: new Date(), level: 'warn', text: 'on the way' });
    return value(1);
  });
  t.equal((await app.inject({ url: '/fn/total', headers: boss })).statusCode, 200);
  await until(() => all.text().includes('event: run'), 'the run is reported');
  const events = all
    .text()
    .split('\n\n')
    .filter((part) => part.startsWith('event'));
  t.match(
    events[0],
    /^event: line\ndata: {"run":"run_[^"]+","plugin":"shop","function":"total",.*"level":"warn","text":"on the way"}$/,
  );
  t.match(events[1], /^event: run\ndata: {"id":"run_[^"]+","plugin":"shop",.*"state":"succeeded"/);

  const line = { at: new Date(), level: 'info', text: 'ann@example.org' } as const;
  live.line({ id: 'run_m', plugin: 'mail', function: 'greet', restricted: true }, line);
  const failed = { code: 'function-failed', message: 'ann@example.org', stack: 'ann@example.org' };
  const fails = { plugin: 'mail', function: 'greet', state: 'failed', restricted: true, error: failed } as const;
  live.run(toRun(runRow(77, fails)));
  live.line({ id: 'run_e', plugin: 'shop', function: 'total', restricted: false }, { ...line, text: 'last' });
  await until(() => mail.text().includes('ann@'), 'chosen by plugin');
  t.notMatch(mail.text(), /shop/);
  await until(() => dev.text().includes('"last"'), 'the developer hears on');
  t.match(dev.text(), /"id":"run_0077".*"code":"function-failed"/, 'also of the run that failed');
  t.notMatch(dev.text(), /ann@/, 'without user data');

  mail.end();
  await until(() => live.watchers === 2, 'a disconnected client is removed');
  const head = await app.inject({ method: 'HEAD', url: '/admin/runs/live', headers: boss });
  t.equal(head.statusCode, 200);
  t.equal(live.watchers, 2);

  // A client that reads nothing is disconnected, and the others are not.
  const text = 'x'.repeat(300_000);
  live.line({ id: 'run_l', plugin: 'shop', function: 'total', restricted: false }, { ...line, text });
  live.line({ id: 'run_l', plugin: 'shop', function: 'total', restricted: false }, { ...line, text });
  await until(() => live.watchers === 0, 'too much waited');
  await Promise.all([all.ended, dev.ended]);
  const last = await follow('');
  await until(() => live.watchers === 1, 'it watches');
  const closing = app.close();
  await last.ended;
  await closing;
  t.equal(live.watchers, 0, 'the server ends its streams');
});

t.test('Runs that could not be stored are counted.', async (t) => {
  const { app, registry: plugins, parts } = await endpointFixture(t);
  plugins.setPlugins([pluginOf('shop', { total: { use: endpoint('GET /total') } })]);
  const state = async () => (await app.inject('/admin/status')).json().functions;
  t.strictSame(await state(), { droppedRuns: 0 });
  const fn = plugins.find('shop/total');
  if (fn === undefined) throw new Error('No function');
  const report = reportOf(value(1));
  for (let n = 0; n < 5_003; n += 1) {
    const subject = { id: `run_many${n}`, fn, input: 'null', attempt: 1, depth: 0, client: 'ada' };
    parts.functions.runs.recorder.recordEnd(subject, report, true);
  }
  t.strictSame(await state(), { droppedRuns: 3 });
});
