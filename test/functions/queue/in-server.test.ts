/**
 * The queue in a server, on the real sandbox: a plugin that is stored over HTTP, its trigger, its job and a repetition, jobs over
 * HTTP, and what an installation with triggers that nobody uses asks the database.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';

const MANIFEST = {
  functions: [
    { name: 'note', file: 'note.ts', on: ['todos.created'], roles: ['notes'] },
    { name: 'later', file: 'later.ts', job: true, roles: ['notes'] },
  ],
};
const FILES = {
  'note.ts': `export default async (event, ctx) => {
    await ctx.documents('notes').create({ of: event.documentId, attempt: ctx.run.attempt });
    const { id } = await ctx.schedule('later', { of: event.documentId }, { after: event.data.after });
    console.log('scheduled ' + id);
    return { id };
  };`,
  'later.ts': `export default async (input, ctx) => {
    await ctx.documents('laters').create(input);
  };`,
};
const IDLE_MS = 4_000;
/** Something else may have been under way: counted again then, at most so often in all. */
const TRIES = 3;

t.setTimeout(180_000);
t.test('a plugin over HTTP, its runs and its jobs', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const ask = async (method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: object) => {
    const answer = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
  };
  const runs = async (query: string) => (await ask('GET', `/admin/runs?${query}`)).body;
  const reaches = (query: string, count: number) =>
    until(async () => (await runs(query)).length >= count, `${count} runs ${query}`);

  const stored = await ask('PUT', '/admin/plugins/notes', { manifest: { name: 'notes', ...MANIFEST }, files: FILES });
  t.equal(stored.status, 201, JSON.stringify(stored.body));
  await ask('POST', '/api/todos', { id: 'a', after: 0 });
  await reaches('function=later&state=ok', 1);
  t.match(
    (await ask('GET', '/api/laters')).body,
    [{ of: 'a' }],
    'a client that stores a plugin and then writes gets its run',
  );
  t.match((await ask('GET', '/api/notes')).body, [{ of: 'a', attempt: 1 }]);
  const [run] = await runs('function=note');
  const whole = (await ask('GET', `/admin/runs/${run.id}`)).body;
  t.match(whole, { state: 'ok', kind: 'trigger', logs: [{ text: /^scheduled run_/ }], operations: { length: 2 } });
  t.equal(JSON.parse(whole.input).documentId, 'a');

  const again = await ask('POST', `/admin/runs/${run.id}/repeat`);
  t.match(again, { status: 202, body: { state: 'waiting', function: 'note', event: run.event } });
  await reaches('function=later&state=ok', 2);
  t.match(await runs('function=note'), [{ id: again.body.id, state: 'ok' }, { id: run.id }]);

  for (const after of [3_600_000, 7_200_000]) await ask('POST', '/api/todos', { after });
  await reaches('function=later&state=waiting', 2);
  const first = await ask('GET', '/admin/jobs?limit=1');
  t.match(first.body, [{ plugin: 'notes', function: 'later', state: 'waiting', attempt: 0 }]);
  t.equal(first.headers['millrace-next'], first.body[0].id);
  const second = await ask('GET', `/admin/jobs?limit=1&cursor=${first.body[0].id}`);
  t.equal(second.headers['millrace-next'], undefined);
  t.ok(second.body[0].scheduledAt > first.body[0].scheduledAt);
  t.equal((await ask('DELETE', `/admin/jobs/${first.body[0].id}`)).status, 204);
  t.match(await ask('DELETE', `/admin/jobs/${first.body[0].id}`), { status: 404, body: { code: 'job-not-found' } });
  t.match((await ask('GET', '/admin/jobs')).body, [{ id: second.body[0].id }]);
  for (const [query, code] of [
    ['limit=0', 'invalid-parameter'],
    ['x=1', 'unknown-parameter'],
    ['cursor=nothing', 'cursor-mismatch'],
  ] as const) {
    t.match((await ask('GET', `/admin/jobs?${query}`)).body, { code }, query);
  }

  const { log } = parts.mongo;
  const asked = async (since: Date) => {
    const own = { ns: /\.(runs|function_standing|consumers)$/, ts: { $gte: since } };
    const found = await log.collection('system.profile').find(own).toArray();
    return found.map(({ op, ns, command }) => `${op} ${ns} ${JSON.stringify(command).slice(0, 200)}`);
  };
  await log.command({ profile: 2 });
  let commands: readonly string[] = ['not counted yet'];
  for (let tries = 0; tries < TRIES && commands.length > 0; tries += 1) {
    await pause(1_500);
    const since = new Date();
    await pause(IDLE_MS);
    commands = await asked(since);
  }
  await log.command({ profile: 0 });
  t.strictSame(commands, [], 'while nothing happens the queue asks nothing');
});
