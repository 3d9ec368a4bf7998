/**
 * REST hooks as automation services use them: subscribing and unsubscribing, discovering collections before that, and
 * that a hook, a schema and a sample contain only what the client may read.
 */
import t from 'tap';
import { withPolicies } from '../../helpers/policies.ts';
import { clientsOf, key } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';
import { webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';

const settings = { MILLRACE_EGRESS_ALLOW: '127.0.0.1' };
const fixture = await webhookFixture(t, { sends: true, settings });
const { app, services, boss, viewer, mine, others, looker, unprivileged, anonymous } = fixture;
const receiver = await openEventReceiver(t);

const ALLOW = { effect: 'allow', actions: ['read', 'create', 'update', 'delete'] };
withPolicies(services, [
  { ...ALLOW, resources: ['_webhooks'], principals: { roles: ['hooks'] } },
  { ...ALLOW, resources: ['_webhooks'], actions: ['read'], principals: { roles: ['looks'] } },
  {
    ...ALLOW,
    resources: ['orders', 'order_items'],
    actions: ['read'],
    principals: { roles: ['half'] },
    filter: { team: 'red' },
    fields: { read: ['*', '-secret', '-price'] },
  },
]);
const half = clientsOf(app, services)(key('half', { roles: ['hooks', 'half'] }));

const MERGE = { 'content-type': 'application/merge-patch+json' };
const TARGET = 'https://hooks.example.invalid/1';
const hook = { targetUrl: TARGET, event: 'orders.created' };
const json = async (response: ReturnType<typeof boss>) => (await response).json();

t.test('subscribe, list, unsubscribe', async (t) => {
  const filter = { total: { $gt: 10 } };
  const created = await mine('POST /hooks', { ...hook, filter });
  t.equal(created.statusCode, 201, created.body);
  const { secret, ...shown } = created.json();
  t.match(secret, /^whsec_/);
  t.match(shown, { id: /.+/, ...hook, filter, enabled: true, disabledReason: null, createdAt: /Z$/ });
  t.equal(created.headers.location, `/hooks/${shown.id}`);
  const other = await json(mine('POST /hooks', { targetUrl: `${TARGET}?x`, event: 'orders.*' }));
  const foreign = await json(others('POST /hooks', hook));

  t.strictSame(await json(mine(`GET /hooks/${shown.id}`)), shown, 'the secret is shown once');
  t.strictSame(await json(mine('GET /hooks')), [shown, { ...other, secret: undefined }].map(plain), 'its own');
  t.strictSame(await json(mine(`GET /hooks?targetUrl=${encodeURIComponent(TARGET)}`)), [shown]);
  t.strictSame(await json(mine('GET /hooks?targetUrl=https://never.example.invalid')), []);
  const all: { id: string }[] = await json(boss('GET /hooks'));
  t.strictSame(
    all.map(({ id }) => id),
    [shown.id, other.id, foreign.id],
    'administrators reach all',
  );

  const endpoint = await json(mine(`GET /webhooks/endpoints/${shown.id}`));
  t.match(endpoint, { via: 'hooks', url: TARGET, types: ['orders.created'], filter, ratePerSecond: null });
  t.match(endpoint, { principal: { kind: 'key', id: 'k1' } });
  t.match(await json(mine(`PATCH /webhooks/endpoints/${shown.id}`, { name: 'X' })), { via: 'hooks', name: 'X' });

  for (const request of [`GET /hooks/${foreign.id}`, `DELETE /hooks/${foreign.id}`] as const) {
    t.match(
      await json(mine(request)),
      { status: 404, code: 'endpoint-not-found', detail: /There is no hook/ },
      request,
    );
  }
  t.equal((await mine(`DELETE /hooks/${shown.id}`)).statusCode, 204);
  t.match(await json(mine(`DELETE /hooks/${shown.id}`)), { status: 404, code: 'endpoint-not-found' });
  t.equal((await mine(`GET /webhooks/endpoints/${shown.id}`)).statusCode, 404, 'the endpoint is deleted');
  t.equal((await others(`GET /hooks/${foreign.id}`)).statusCode, 200, 'others keep theirs');
  await mine(`DELETE /hooks/${other.id}`);
  await others(`DELETE /hooks/${foreign.id}`);
});

t.test('an endpoint that is no hook is not available as a hook', async (t) => {
  const { id, via } = await json(mine('POST /webhooks/endpoints', { url: TARGET, types: ['orders.*'] }));
  t.equal(via, null);
  t.strictSame(await json(mine('GET /hooks')), []);
  t.equal((await mine(`GET /hooks/${id}`)).statusCode, 404);
  t.equal((await mine(`DELETE /hooks/${id}`)).statusCode, 404);
  t.equal((await mine(`DELETE /webhooks/endpoints/${id}`)).statusCode, 204, 'it was still there');
});

t.test('a Zapier hook is limited to 25 requests per second, others are not limited', async (t) => {
  for (const [agent, rate] of [
    ['Zapier', 25],
    ['n8n', null],
  ] as const) {
    const { id } = await json(mine('POST /hooks', hook, { 'user-agent': agent }));
    t.equal((await json(mine(`GET /webhooks/endpoints/${id}`))).ratePerSecond, rate, agent);
    await mine(`DELETE /hooks/${id}`);
  }
});

t.test('which clients can have hooks', async (t) => {
  for (const request of ['GET /hooks', 'POST /hooks', 'GET /hooks/none', 'DELETE /hooks/none'] as const) {
    const body = request === 'POST /hooks' ? hook : undefined;
    const reads = request.startsWith('GET');
    t.equal((await anonymous(request, body)).statusCode, 401, `anonymous ${request}`);
    t.equal((await unprivileged(request, body)).statusCode, 403, `a key without a policy, ${request}`);
    for (const [name, who] of Object.entries({ looker, viewer })) {
      const { statusCode } = await who(request, body);
      t.ok(reads ? [200, 404].includes(statusCode) : statusCode === 403, `${name} ${request} ${statusCode}`);
    }
  }
  for (const url of ['/api', '/api/orders/_schema', '/api/orders/_samples'] as const) {
    t.equal((await anonymous(`GET ${url}`)).statusCode, 401, `anonymous ${url}`);
    t.equal((await mine(`GET ${url}`)).statusCode, 403, `a key that may read nothing, ${url}`);
  }
  t.strictSame(await json(boss('GET /hooks')), [], 'nothing was created');
});

t.test('an invalid hook is rejected with a JSON Pointer', async (t) => {
  const bad = [
    [{}, 'invalid-body', ''],
    [[], 'invalid-body', ''],
    [{ event: 'orders.created' }, 'invalid-body', ''],
    [{ ...hook, hookUrl: TARGET }, 'invalid-body', '/hookUrl'],
    [{ ...hook, event: ['orders.created'] }, 'invalid-body', '/event'],
    [{ ...hook, event: '' }, 'invalid-body', '/event'],
    [{ ...hook, event: 'x'.repeat(257) }, 'invalid-body', '/event'],
    [{ ...hook, event: 'orders.create' }, 'invalid-endpoint', '/event'],
    [{ ...hook, targetUrl: 'https://u:p@example.invalid/' }, 'invalid-endpoint', '/targetUrl'],
    [{ ...hook, targetUrl: 'ftp://example.invalid/' }, 'invalid-endpoint', '/targetUrl'],
    [{ ...hook, targetUrl: 'http://169.254.169.254/' }, 'invalid-endpoint', '/targetUrl'],
    [{ ...hook, filter: { $where: '1' } }, 'invalid-endpoint', /^\/filter/],
    [{ ...hook, filter: 'x' }, 'invalid-body', /^\/filter/],
  ] as const;
  for (const [body, code, pointer] of bad) {
    const response = await mine('POST /hooks', body);
    const what = JSON.stringify(body).slice(0, 80);
    t.equal(response.statusCode, 400, what);
    t.equal(response.json().code, code, what);
    t.match(response.json().errors[0].pointer, pointer, what);
  }
  t.match(await json(mine('POST /hooks', { ...hook, event: 'orders.create' })), {
    detail: /The hook is invalid: \/event .*Did you mean 'orders\.created'/,
  });
  t.equal((await json(mine('POST /hooks'))).code, 'body-required');
  t.equal((await json(mine('POST /hooks', '{'))).code, 'malformed-json');
  for (const url of ['/hooks?x=1', '/hooks?targetUrl=', '/hooks?targetUrl=a&targetUrl=b', '/hooks/none?x=1'] as const) {
    t.equal((await mine(`GET ${url}`)).statusCode, 400, url);
  }
  t.strictSame(await json(mine('GET /hooks')), [], 'nothing was created');
});

t.test('a key that can read half sees this half in schema, samples and deliveries', async (t) => {
  const red = {
    team: 'red',
    title: 'Tea',
    price: 3,
    secret: 'hidden',
    ordered: '2026-11-23T08:24:36Z',
    lines: [{ n: 1 }],
  };
  const subscribed = await json(half('POST /hooks', { targetUrl: `${receiver.url}/half`, event: 'orders.*' }));
  await json(boss('POST /api/orders', { id: 'one', ...red }));
  await json(boss('POST /api/orders', { id: 'blue', team: 'blue', onlyBlue: 1 }));
  await json(boss('POST /api/orders', { id: 'two', ...red, title: 'Milk' }));
  await json(boss('POST /api/order_items', { team: 'red' }));
  await json(boss('POST /api/hiddenThings', { a: 1 }));
  await until(() => receiver.at('/half').length === 2, 'both that may be read arrive');

  t.strictSame(await json(half('GET /api')), [
    { name: 'order_items', label: 'Order items' },
    { name: 'orders', label: 'Orders' },
  ]);
  t.strictSame(await json(boss('GET /api')), [
    { name: 'hiddenThings', label: 'Hidden things' },
    { name: 'order_items', label: 'Order items' },
    { name: 'orders', label: 'Orders' },
  ]);

  const schema = await json(half('GET /api/orders/_schema'));
  t.match(schema, { $schema: /2020-12/, title: 'Orders', type: 'object', additionalProperties: true });
  t.strictSame(Object.keys(schema.properties).sort(), ['_meta', 'id', 'lines', 'ordered', 'team', 'title']);
  t.match(schema.properties, {
    id: { type: 'string' },
    title: { type: 'string' },
    ordered: { type: 'string', format: 'date-time' },
    lines: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
    _meta: { readOnly: true },
  });
  const whole = await json(boss('GET /api/orders/_schema'));
  t.match(whole.properties, { secret: {}, price: { type: 'integer' }, onlyBlue: {} });

  const delivered = receiver.at('/half').map(({ event }) => event);
  const byId = (one: { documentId: string | null }, other: { documentId: string | null }) =>
    String(one.documentId) < String(other.documentId) ? 1 : -1;
  const samples = await json(half('GET /api/orders/_samples'));
  t.strictSame(samples, delivered.toSorted(byId), 'samples are what is delivered, the newest first');
  t.match(samples, [{ documentId: 'two' }, { documentId: 'one', data: { title: 'Tea' } }]);
  t.strictSame(await json(half('GET /api/orders/_samples?limit=1&eventType=orders.*')), samples.slice(0, 1));
  t.equal((await json(boss('GET /api/orders/_samples'))).length, 3);

  // The log has no such event: the sample is built from documents.
  const updated = await json(half('GET /api/orders/_samples?eventType=orders.updated'));
  t.match(updated, [
    { id: 'sample_two', type: 'orders.updated', collection: 'orders', documentId: 'two', revision: 1 },
    { id: 'sample_one', before: { title: 'Tea' }, data: { title: 'Tea' } },
  ]);
  t.strictSame(updated[0].changed, ['team', 'title', 'ordered', 'lines']);
  const deleted = await json(half('GET /api/orders/_samples?eventType=orders.deleted&limit=1'));
  t.match(deleted, [
    { type: 'orders.deleted', data: null, before: { id: 'two' }, changed: null, actor: { kind: 'admin' } },
  ]);
  t.strictSame(Object.keys(deleted[0]), Object.keys(delivered[0] ?? {}), 'with the fields of an event');
  t.strictSame(await json(half('GET /api/orders/_samples?eventType=orders.dropped')), []);

  await boss('PATCH /api/orders/one', { title: 'Green tea', secret: 'new', price: 4 }, MERGE);
  await until(() => receiver.at('/half').length === 3, 'the change arrives');
  const [real] = await json(half('GET /api/orders/_samples?eventType=orders.updated'));
  t.strictSame(real, receiver.at('/half').at(-1)?.event, 'a real one, once there is one');
  t.strictSame(real.changed, ['title']);
  const reported = JSON.stringify([schema, samples, updated, deleted, real, receiver.received.map(({ text }) => text)]);
  t.notMatch(reported, /hidden|secret|price|onlyBlue|blue/);
  await half(`DELETE /hooks/${subscribed.id}`);
  await boss('PATCH /api/orders/one', { title: 'Black tea' }, MERGE);
  const last = await json(half('POST /hooks', { targetUrl: `${receiver.url}/last`, event: 'orders.*' }));
  await boss('PATCH /api/orders/one', { title: 'White tea' }, MERGE);
  await until(() => receiver.at('/last').length > 0, 'the next hook gets the next change');
  t.equal(receiver.at('/half').length, 3, 'nothing comes after the end of a hook');
  await half(`DELETE /hooks/${last.id}`);
});

t.test('a target that responds with 410 ends its hook', async (t) => {
  receiver.response = () => 410;
  const { id } = await json(half('POST /hooks', { targetUrl: `${receiver.url}/gone`, event: 'orders.created' }));
  await boss('POST /api/orders', { team: 'red' });
  await until(async () => (await json(half(`GET /hooks/${id}`))).enabled === false, 'it is disabled');
  t.equal((await json(half(`GET /hooks/${id}`))).disabledReason, 'gone');
  t.equal((await half(`DELETE /hooks/${id}`)).statusCode, 204, 'it can still be removed');
});

t.test('missing collections and invalid queries are rejected in discovery', async (t) => {
  for (const what of ['schema', 'samples']) {
    t.match(await json(boss(`GET /api/never/_${what}`)), {
      status: 404,
      code: 'resource-not-available',
      detail: "Resource 'never' is not available in the database",
    });
    t.match(await json(boss(`GET /api/system/_${what}`)), { status: 400, code: 'invalid-collection-name' });
    t.match(await json(boss(`GET /api/orders/_${what}?x=1`)), { status: 400, code: 'unknown-parameter' });
  }
  await boss('DELETE /admin/collections/order_items');
  t.equal((await boss('GET /api/order_items/_samples')).statusCode, 404, 'the log alone is no collection');
  t.equal((await boss('GET /api?x=1')).statusCode, 400);
  for (const query of [
    'limit=0',
    'limit=51',
    'limit=x',
    'limit=1&limit=2',
    'eventType=',
    'eventType=orders.create',
    'eventType=others.created',
    `eventType=orders.${'x'.repeat(300)}.created`,
    'eventType=system.file.created',
  ]) {
    const response = await json(boss(`GET /api/orders/_samples?${query}`));
    t.match(response, { status: 400, code: 'invalid-parameter' }, query);
  }
});

/** Without undefined fields. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
