/**
 * The program as a user starts it in production: unauthenticated clients can access nothing, and the printed link works
 * once.
 */
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
  const link = () => /Setup +(http:\S+)\/dashboard\/setup#([\w-]{43})/.exec(program.output());
  await until(() => link() !== null, 'the link is printed');
  const [, base = '', old = ''] = link() ?? [];
  t.equal(base, program.url);
  t.notMatch(program.output(), /Try it|curl/, 'nothing is offered that would be rejected');
  // Beside the running program, on the MongoDB that it runs.
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const settings = { ...process.env, NODE_OPTIONS: '', MILLRACE_DATA_DIR: folder, MILLRACE_PUBLIC_URL: base };
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'admin', '--setup-link'], { env: settings });
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
    const response = await fetch(program.url + path, init);
    await response.body?.cancel();
    return response.status;
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
  const admin = ['/admin/status', '/admin/users', '/admin/keys', '/admin/audit', '/admin/policies', '/auth/me'];
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
  const user = { username: 'eve', password: 'four wooden ships sail' };
  t.equal((await send('/auth/register', user)).status, 403, 'registration is closed');

  const owner = { email: 'ada@example.org', password: 'four wooden ships sail' };
  t.equal((await send('/setup', { token: old, ...owner })).status, 410, 'the newer link kills the older one');
  const responses = await Promise.all([1, 2].map(() => send('/setup', { token, ...owner })));
  t.strictSame(responses.map((response) => response.status).sort(), [201, 410].sort(), 'it works once');
  t.equal((await send('/setup', { token, ...owner, email: 'eve@example.org' })).status, 410);
  const signedIn = await send('/auth/login', { username: owner.email, password: owner.password });
  const { accessToken } = JSON.parse(await signedIn.text());
  const headers = { authorization: `Bearer ${accessToken}` };
  for (const path of ['/admin/status', '/openapi.json', '/events', '/files']) {
    t.equal(await status(path, { headers }), 200, path);
  }
  t.equal(await status('/api/todos'), 401, 'and unauthenticated clients still reach nothing');
  t.equal(await program.end('SIGTERM'), 0);

  const again = await startMillrace(t, { folder, env: { ...env, MILLRACE_LOG_LEVEL: 'info' } });
  t.equal(await again.end('SIGTERM'), 0);
  // The log is written in order: this line comes after the possible warning.
  t.match(again.output(), /closing/);
  t.notMatch(again.output(), /MongoDB requires no password/, 'its MongoDB requires one');
  t.notMatch(again.output(), /Setup|Try it/, 'with an administrator there is no link');
  t.match(again.output(), /curl \S+\/auth\/login .*\n +curl \S+ -H 'authorization: Bearer/, 'but how to sign in');
});
