/** The program as somebody starts it in production: strangers reach nothing, and the link it prints works once. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { startMillrace } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

t.test('a first start in production', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-production-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const env = { MILLRACE_MODE: 'production' };
  const program = await startMillrace(t, { folder, env });
  const link = () => /Set-up +(http:\S+)\/dashboard\/setup#([\w-]{43})/.exec(program.output());
  await until(() => link() !== null, 'the link is printed');
  const [, base = '', old = ''] = link() ?? [];
  t.equal(base, program.url);
  t.notMatch(program.output(), /Try it|curl/, 'nothing is offered that would be refused');
  // Beside the running program, on the MongoDB that it runs.
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const settings = { ...process.env, NODE_OPTIONS: '', MILLRACE_FOLDER: folder, MILLRACE_PUBLIC_URL: base };
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'owner', '--link'], { env: settings });
  const [, token = ''] = /#([\w-]{43})\n$/.exec(stdout) ?? [];
  const moved = await promisify(execFile)(process.execPath, [main, 'files', 'move'], { env: settings });
  t.match(moved.stdout, /^Nothing to move/, 'files are moved beside it, too');
  const send = (path: string, body: object) =>
    fetch(program.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const status = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(program.url + path, init);
    await answer.body?.cancel();
    return answer.status;
  };

  for (const path of [
    '/healthz',
    '/readyz',
    '/dashboard/setup',
    '/reset',
    '/verify',
    '/auth/providers',
    '/.well-known/jwks.json',
    '/docs',
  ]) {
    t.equal(await status(path), 200, path);
  }
  const closed = ['/api/todos', '/api/todos/a', '/api/todos/_changes', '/files', '/events', '/openapi.json'];
  const admin = ['/admin/state', '/admin/users', '/admin/keys', '/admin/audit', '/admin/policies', '/auth/me'];
  for (const path of [...closed, ...admin]) t.equal(await status(path), 401, path);
  for (const path of ['/', '/examples/board/', '/anything']) t.equal(await status(path), 404, path);
  for (const [path, body] of [
    ['/api/todos', { title: 'x' }],
    ['/batch', { operations: [{ method: 'POST', path: '/api/todos', body: {} }] }],
    ['/admin/users', { username: 'eve' }],
    ['/auth/ticket', {}],
  ] as const) {
    t.equal((await send(path, body)).status, 401, path);
  }
  const account = { username: 'eve', password: 'four wooden ships sail' };
  t.equal((await send('/auth/register', account)).status, 403, 'registration is closed');

  const owner = { email: 'ada@example.org', password: 'four wooden ships sail' };
  t.equal((await send('/setup', { token: old, ...owner })).status, 410, 'the newer link kills the older one');
  const answers = await Promise.all([1, 2].map(() => send('/setup', { token, ...owner })));
  t.strictSame(answers.map((answer) => answer.status).sort(), [201, 410].sort(), 'it works once');
  t.equal((await send('/setup', { token, ...owner, email: 'eve@example.org' })).status, 410);
  const signedIn = await send('/auth/login', { username: owner.email, password: owner.password });
  const { accessToken } = JSON.parse(await signedIn.text());
  const headers = { authorization: `Bearer ${accessToken}` };
  for (const path of ['/admin/state', '/openapi.json', '/events', '/files']) {
    t.equal(await status(path, { headers }), 200, path);
  }
  t.equal(await status('/api/todos'), 401, 'and strangers still reach nothing');
  t.equal(await program.end('SIGTERM'), 0);

  const again = await startMillrace(t, { folder, env: { ...env, MILLRACE_LOG_LEVEL: 'info' } });
  t.equal(await again.end('SIGTERM'), 0);
  // The log is written in order: what is told after the warning could have been is proof.
  t.match(again.output(), /closing/);
  t.notMatch(again.output(), /MongoDB requires no password/, 'its MongoDB asks for one');
  t.notMatch(again.output(), /Set-up|Try it/, 'with an owner there is no link');
  t.match(again.output(), /curl \S+\/auth\/login .*\n +curl \S+ -H 'authorization: Bearer/, 'but how to sign in');
});
