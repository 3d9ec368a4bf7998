/**
 * End to end, with the program as users run it: a document is written over HTTP, a receiver gets the signed event,
 * redacted to what the endpoint's key may read. In between, the program is killed and started again: nothing is lost.
 */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { ALLOW_ALL_POLICY_ID } from '../../src/policies/policy-set.ts';
import { testMongo } from '../helpers/mongo.ts';
import { startMillrace } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';
import { openEventReceiver } from '../helpers/webhooks/event-receiver.ts';

const EMAIL = 'boss@example.org';
const PASSWORD = 'four wooden ships sail';

t.setTimeout(180_000);
t.test('a write arrives at a receiver, signed and redacted, also after a kill', async (t) => {
  const { url, database } = await testMongo(t);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-webhooks-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'password');
  writeFileSync(file, PASSWORD);
  const owned = { MILLRACE_ADMIN_EMAIL: EMAIL, MILLRACE_ADMIN_PASSWORD_FILE: file };
  const start = (t: Test) => startMillrace(t, { folder, env: { MONGODB_URL: url, MILLRACE_DB: database, ...owned } });
  const receiver = await openEventReceiver(t);
  const first = await start(t);

  const { accessToken } = await request(first.url, 'POST /auth/login', { username: EMAIL, password: PASSWORD });
  const owner = `Bearer ${accessToken}`;
  const { id, key } = await request(first.url, 'POST /admin/keys', { name: 'reader' }, owner);
  const keys = { principals: { keys: [id] }, effect: 'allow' };
  const reads = { resources: ['todos'], actions: ['read'], fields: { read: ['*', '-secret'] } };
  await request(
    first.url,
    'POST /admin/policies',
    { name: 'Reading', ...keys, ...reads, filter: { team: 'red' } },
    owner,
  );
  await request(
    first.url,
    'POST /admin/policies',
    { name: 'Webhooks', ...keys, resources: ['_webhooks'], actions: ['read', 'create'] },
    owner,
  );
  const writers = { name: 'Writing', effect: 'allow', resources: ['todos'], principals: { anonymous: true } };
  await request(
    first.url,
    'POST /admin/policies',
    { ...writers, actions: ['read', 'create', 'update', 'delete'] },
    owner,
  );
  await request(first.url, `DELETE /admin/policies/${ALLOW_ALL_POLICY_ID}`, undefined, owner);
  const requested = { url: `${receiver.url}/red`, types: ['todos.*'] };
  const endpoint = await request(first.url, 'POST /webhooks/endpoints', requested, `Bearer ${key}`);

  await request(first.url, 'POST /api/todos', { id: 'a', team: 'red', secret: 'x', n: 1 });
  await request(first.url, 'POST /api/todos', { id: 'b', team: 'blue', secret: 'x', n: 1 });
  await until(() => receiver.at('/red').length === 1, 'it arrives');
  // Later writes may be recorded, planned and sent before the kill, or after the next start.
  for (let n = 2; n < 20; n += 1) await request(first.url, 'PATCH /api/todos/a', { n });
  await first.end('SIGKILL');

  const second = await start(t);
  await request(second.url, 'PATCH /api/todos/a', { team: 'blue' });
  await request(second.url, 'PATCH /api/todos/a', { n: 100 });
  await request(second.url, 'POST /api/todos', { id: 'c', team: 'red', secret: 'x' });
  const ids = () => new Set(receiver.at('/red').map(({ headers }) => headers['webhook-id']));
  await until(() => ids().size === 21, 'all arrive', 90_000);

  const webhook = new Webhook(String(endpoint['secret']));
  const reported = new Map<unknown, string>();
  for (const { headers, text, event } of receiver.at('/red')) {
    t.doesNotThrow(() => webhook.verify(text, headers), 'the signature is right');
    t.equal(headers['webhook-id'], event.id);
    t.notOk(text.includes('secret'), 'the hidden field is nowhere');
    const state = event.data === null ? 'left' : `${event.data['id']} ${event.data['n'] ?? '-'}`;
    reported.set(event.id, `${event.type} ${state}`);
  }
  const changes = Array.from({ length: 18 }, (_, at) => `todos.updated a ${at + 2}`);
  t.strictSame(
    [...reported.values()].sort(),
    ['todos.created a 1', ...changes, 'todos.updated left', 'todos.created c -'].sort(),
  );
  const shown = await request(second.url, `GET /webhooks/endpoints/${endpoint['id']}`, undefined, `Bearer ${key}`);
  t.match(shown, { enabled: true, principal: { kind: 'key', id } });
});

async function request(
  server: string,
  request: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`,
  body?: object,
  authorization?: string,
): Promise<Record<string, string>> {
  const [method = '', path = ''] = request.split(' ');
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await fetch(`${server}${path}`, {
    method,
    headers: { ...(body && { 'content-type': type }), ...(authorization && { authorization }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${request} answered ${response.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}
