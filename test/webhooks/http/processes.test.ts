/**
 * Endpoints in several processes and in development: active everywhere within a second, and a first one without a
 * credential.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { HOOK, webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';

t.test('a changed endpoint is active in another process within a second', async (t) => {
  const settings = { MILLRACE_MASTER_KEY: randomBytes(32).toString('base64') };
  const one = await webhookFixture(t, { settings });
  const { testDatabase } = one;
  const two = await webhookFixture(t, { settings, testDatabase });
  const there = (id: string) => two.services.webhooks.endpoints.activeNow().find((target) => target.id === id);
  const created = (await one.boss('POST /webhooks/endpoints', { ...HOOK, headers: { 'x-a': 'kept' } })).json();
  const { id } = created;
  const url = `/webhooks/endpoints/${id}` as const;
  const heard = async (fact: () => boolean, what: string) => {
    const ms = await ownTimeOf(() => until(fact, what));
    t.ok(ms < 1_000, `${what}: ${ms.toFixed()} ms`);
  };
  await heard(() => there(id) !== undefined, 'it is made');
  t.match(there(id), { secrets: [{ secret: created.secret, until: null }], headers: { 'x-a': 'kept' } });
  await one.boss(`PATCH ${url}`, { ratePerSecond: 3 });
  await heard(() => there(id)?.ratePerSecond === 3, 'it is changed');
  const { secret } = (await one.boss(`POST ${url}/rotate`)).json();
  await heard(() => there(id)?.secrets[0]?.secret === secret, 'its secret is another one');
  t.equal(there(id)?.secrets.length, 2);
  await one.services.webhooks.endpoints.disable(id, 'gone');
  await heard(() => there(id)?.enabled === false, 'it is disabled');
  t.match((await two.boss(`GET ${url}`)).json(), { enabled: false, disabledReason: 'gone' });
  await two.boss(`DELETE ${url}`);
  await until(() => one.services.webhooks.endpoints.activeNow().length === 0, 'it is deleted');
});

t.test('in development the first webhook needs no credential', async (t) => {
  const { anonymous, boss } = await webhookFixture(t, { settings: { MILLRACE_MODE: 'development' }, sends: true });
  const receiver = await startReceiver(t);
  const created = await anonymous('POST /webhooks/endpoints', { url: receiver.url, types: ['todos.created'] });
  t.equal(created.statusCode, 201, created.body);
  t.match(created.json(), { principal: { kind: 'anonymous', id: '' } });
  const { id } = (await anonymous('POST /api/todos', { title: 'tea' })).json();
  await until(() => receiver.received.length > 0, 'it arrives');
  t.match(JSON.parse(receiver.received[0]?.body ?? ''), {
    type: 'todos.created',
    documentId: id,
    data: { title: 'tea' },
  });
  const foreign = (await boss('POST /webhooks/endpoints', HOOK)).json();
  t.equal(
    (await anonymous(`GET /webhooks/endpoints/${foreign.id}`)).statusCode,
    404,
    "an administrator's is none of its own",
  );
  t.equal((await anonymous('GET /webhooks/endpoints')).json().length, 1);
});

t.test('in production an anonymous client has no endpoints, even with a policy for everyone', async (t) => {
  const { services, anonymous, unprivileged } = await webhookFixture(t);
  withPolicies(services, [{ resources: ['_webhooks'], actions: ['read', 'create', 'update', 'delete'] }]);
  const refused = await anonymous('POST /webhooks/endpoints', HOOK);
  t.match(refused.json(), { status: 401, code: 'not-authenticated' });
  t.match(refused.headers['www-authenticate'], /^Bearer/);
  t.equal((await anonymous('GET /webhooks/endpoints')).statusCode, 401);
  t.equal((await unprivileged('POST /webhooks/endpoints', HOOK)).statusCode, 201, 'a key has its own');
});
