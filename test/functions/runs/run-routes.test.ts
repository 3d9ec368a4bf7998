/** Runs over HTTP: lists and details, what is hidden from whom, repeating, and following them live. */
import t from 'tap';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import { endpointWorld, reportOf, response, value } from '../../helpers/functions/endpoint-world.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const world = await endpointWorld(t, { MILLRACE_MODE: 'production' });
const { app, book, calls, parts, as, store, live, queued } = world;
await beOwned(parts);
withPolicies(parts, [{ collections: ['functions'], actions: ['call'] }]);
const accounts = { kind: 'trigger', on: ['system.user.*'], filter: null } as const;
const todos = { kind: 'trigger', on: ['todos.created'], filter: null } as const;
book.use([
  pluginOf('shop', {
    total: { use: endpoint('GET /total') },
    own: { use: endpoint('POST /own'), as: 'function' },
    ill: { use: endpoint('POST /ill'), as: 'function', isQuarantined: true },
    follow: { use: todos },
    stamp: { use: { kind: 'before', collections: ['todos'], actions: ['create'] } },
  }),
  pluginOf('mail', { greet: { use: accounts } }, {}, { readsAccounts: true }),
]);
const boss = as(owner());
const developer = as(owner('developer'));
const viewer = as(owner('viewer'));
const get = (url: string, headers = boss) => app.inject({ url, headers });
const repeat = (id: string, headers = boss) => app.inject({ method: 'POST', url: `/admin/runs/${id}/repeat`, headers });

t.test('lists in pages, chosen by their members', async (t) => {
  await store.insert([1, 2, 3].map((n) => runRow(n, { state: n === 2 ? 'failed' : 'ok', event: `1-${n}` })));
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
  t.match((await get('/admin/runs?state=failed&plugin=shop&function=total')).json(), [{ id: 'run_0002' }]);
  t.match((await get('/admin/runs?event=1-3', viewer)).json(), [{ id: 'run_0003' }]);
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

t.test('a run of an endpoint shows what it was, without secrets', async (t) => {
  world.answer(async ({ fn }) => response(500, {}, `no ${fn.plugin.secrets['KEY'] ?? ''}`));
  book.use([
    ...book.plugins,
    pluginOf('safe', { tell: { use: endpoint('POST /tell') } }, {}, { secrets: { KEY: 'sk-planted-1' } }),
  ]);
  world.answer(async () => ({ kind: 'fault', code: 'function-failed', message: 'no', stack: null, cpuMs: 3 }));
  const answer = await app.inject({ method: 'POST', url: '/fn/tell', headers: boss, payload: { key: 'sk-planted-1' } });
  const id = String(answer.headers['millrace-run']);
  await until(async () => (await store.find(id)) !== null, 'it is stored');
  const run = (await get(`/admin/runs/${id}`, viewer)).json();
  t.match(run, {
    id,
    plugin: 'safe',
    function: 'tell',
    kind: 'endpoint',
    state: 'failed',
    attempt: 1,
    cpuMs: 3,
    event: null,
  });
  t.match(JSON.parse(run.input), { method: 'POST', path: '/tell', body: { key: '[secret]' } });
  t.notMatch(JSON.stringify(run), /sk-planted/);
  t.match((await get('/admin/runs/run_none')).json(), { status: 404, code: 'run-not-found' });
});

t.test(
  'What a run was given and has said of accounts is for those who may read accounts, by what was recorded.',
  async (t) => {
    const told = {
      input: '{"data":{"email":"ann@example.org"}}',
      logs: [{ at: new Date(), level: 'info', text: 'ann@example.org' }],
      operations: [{ operation: 'documents.get', target: 'letters/ann@example.org', durationMs: 1, error: null }],
      result: '"ann@example.org"',
      state: 'failed',
      error: { code: 'ann@example.org', message: 'ann@example.org', stack: 'at ann@example.org' },
    } as const;
    const { restricted: _, ...former } = runRow(35, { ...told, plugin: 'shop', function: 'follow' });
    await store.insert([
      runRow(31, { ...told, plugin: 'mail', function: 'greet', restricted: true }),
      // The function in force follows no accounts, is gone, or is of another kind.
      runRow(32, { ...told, plugin: 'shop', function: 'follow', restricted: true }),
      runRow(33, { ...told, plugin: 'gone', function: 'greet', restricted: true }),
      runRow(34, { ...told, plugin: 'shop', function: 'own', kind: 'job', restricted: true }),
      // Stored by an earlier version, which recorded nothing.
      former,
      // The function in force follows accounts; this event was none of them.
      runRow(36, { ...told, plugin: 'mail', function: 'greet' }),
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
        const answer = await get(`/admin/runs/run_00${n}`, who);
        t.equal(answer.body.includes('ann@'), isShown, `${n}`);
        t.equal(answer.headers['millrace-hint'] === undefined, isShown);
        t.match((await get(`/admin/runs/run_00${n}`)).body, /ann@/, 'owners see all');
      }
      const listed = (await get('/admin/runs?state=failed&limit=7', who)).json();
      const shown = listed.filter((run: object) => JSON.stringify(run).includes('ann@'));
      t.match(shown, [{ id: 'run_0036', restricted: false }], 'a list hides what failed as well');
      t.match(listed.at(-1), { restricted: true, error: { code: 'refused-by-function', stack: null } });
    }
  },
);

t.test('A run of accounts is repeated only by code that may read accounts.', async (t) => {
  await store.insert([
    runRow(51, { plugin: 'mail', function: 'greet', restricted: true }),
    runRow(52, { plugin: 'shop', function: 'follow', restricted: true }),
  ]);
  book.use([...book.plugins, pluginOf('later', { own: { use: { kind: 'job' } } })]);
  await store.insert([runRow(54, { plugin: 'later', function: 'own', kind: 'job', restricted: true })]);
  const before = queued.length;
  for (const who of [boss, developer]) {
    for (const n of [52, 54]) {
      t.match((await repeat(`run_00${n}`, who)).json(), {
        status: 409,
        code: 'run-not-repeatable',
        detail: /accounts/,
      });
    }
  }
  t.equal(queued.length, before);
  t.equal((await repeat('run_0051', developer)).statusCode, 202, 'the code of an admin gets it');
});

t.test('repeating', async (t) => {
  const was = (n: number, members: object) => runRow(n, members);
  await store.insert([
    was(41, { function: 'follow' }),
    was(42, { function: 'follow', state: 'running' }),
    was(43, { function: 'gone' }),
    was(44, { function: 'total', kind: 'endpoint' }),
    was(45, { function: 'own', kind: 'endpoint', input: '{"method":"POST"}' }),
    was(46, { function: 'own', kind: 'endpoint', input: null, inputBytes: 300_000 }),
    was(47, { function: 'ill', kind: 'endpoint' }),
    was(48, { function: 'stamp', kind: 'before', state: 'refused' }),
    was(49, { function: 'own', kind: 'job' }),
  ]);
  t.match((await repeat('run_0041')).json(), { id: 'run_again', state: 'waiting' });
  t.strictSame(queued, ['run_0051', 'run_0041']);
  for (const [n, status, code] of [
    [42, 409, 'run-not-repeatable'],
    [43, 404, 'function-not-found'],
    [44, 409, 'run-not-repeatable'],
    [46, 409, 'run-not-repeatable'],
    [47, 503, 'function-quarantined'],
    [48, 409, 'run-not-repeatable'],
    [49, 409, 'run-not-repeatable'],
    [99, 404, 'run-not-found'],
  ] as const) {
    t.match((await repeat(`run_00${n}`)).json(), { status, code }, `${n}`);
  }
  t.equal((await repeat('run_0045', viewer)).statusCode, 403);
  world.answer(async () => value('again'));
  const before = calls.length;
  const again = await repeat('run_0045', developer);
  t.equal(again.statusCode, 202, again.body);
  const { id } = again.json();
  t.match(again.json(), { state: 'running', function: 'own', kind: 'endpoint', version: '1' });
  await until(async () => (await store.find(id)) !== null, 'a repetition is always kept');
  t.match(await store.find(id), { state: 'ok', result: '"again"', input: '{"method":"POST"}' });
  t.equal(calls.length, before + 1);
  t.equal(calls.at(-1)?.caller, null, 'it acts as itself');
  t.strictSame(queued, ['run_0051', 'run_0041']);
});

t.test('following runs live', async (t) => {
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const follow = async (query: string, headers = boss) => {
    const controller = new AbortController();
    const url = `${address}/admin/runs/live${query}`;
    const answer = await fetch(url, { headers, signal: controller.signal });
    let text = '';
    const ended = (async () => {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    return { answer, ended, text: () => text, end: () => controller.abort() };
  };
  const [all, mail, dev] = [await follow(''), await follow('?plugin=mail'), await follow('', developer)];
  t.equal(all.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.match(all.answer.headers.get('cache-control'), 'no-transform', 'proxies do not hold it back to compress it');
  await until(() => live.watchers === 3, 'all watch');
  world.answer(async (call) => {
    call.onLog?.({ at: new Date(), level: 'warn', text: 'on the way' });
    return value(1);
  });
  t.equal((await app.inject({ url: '/fn/total', headers: boss })).statusCode, 200);
  await until(() => all.text().includes('event: run'), 'the run is told');
  const events = all
    .text()
    .split('\n\n')
    .filter((part) => part.startsWith('event'));
  t.match(
    events[0],
    /^event: line\ndata: {"run":"run_[^"]+","plugin":"shop","function":"total",.*"level":"warn","text":"on the way"}$/,
  );
  t.match(events[1], /^event: run\ndata: {"id":"run_[^"]+","plugin":"shop",.*"state":"ok"/);

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
  t.notMatch(dev.text(), /ann@/, 'not of accounts');

  mail.end();
  await until(() => live.watchers === 2, 'who goes is forgotten');
  const head = await app.inject({ method: 'HEAD', url: '/admin/runs/live', headers: boss });
  t.equal(head.statusCode, 200);
  t.equal(live.watchers, 2);

  // A reader that takes nothing is cut off, and the others are not.
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

t.test('runs that could not be stored are counted', async (t) => {
  const { app, book, parts } = await endpointWorld(t);
  book.use([pluginOf('shop', { total: { use: endpoint('GET /total') } })]);
  const state = async () => (await app.inject('/admin/state')).json().functions;
  t.strictSame(await state(), { droppedRuns: 0 });
  const fn = book.find('shop/total');
  if (fn === undefined) throw new Error('No function');
  const report = reportOf(value(1));
  for (let n = 0; n < 5_003; n += 1) {
    const subject = { id: `run_many${n}`, fn, input: 'null', attempt: 1, depth: 0, client: 'ada' };
    parts.functions.runs.recorder.ended(subject, report, true);
  }
  t.strictSame(await state(), { droppedRuns: 3 });
});
