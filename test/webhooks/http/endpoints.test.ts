/** Webhook endpoints over HTTP: access, responses, conditions, and rejections. */
import t from 'tap';
import type { Client } from '../../helpers/principals.ts';
import { HOOK, webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';

const fixture = await webhookFixture(t);
const { services, sender, boss, viewer, mine, others, ann, looker, unprivileged, anonymous } = fixture;

const make = async (who: Client, more: object = {}) =>
  (await who('POST /webhooks/endpoints', { ...HOOK, ...more })).json();

t.test('an endpoint is created, read, changed and deleted', async (t) => {
  const created = await boss('POST /webhooks/endpoints', { ...HOOK, headers: { 'X-Token': 'hidden-token' } });
  t.equal(created.statusCode, 201, created.body);
  const { secret, ...endpoint } = created.json();
  t.match(secret, /^whsec_/);
  t.equal(created.headers.location, `/webhooks/endpoints/${endpoint.id}`);
  t.match(endpoint, {
    ...HOOK,
    name: null,
    filter: null,
    headers: { 'x-token': '•••' },
    ratePerSecond: null,
    ordering: 'none',
    retrySchedule: 'standard',
    enabled: true,
    disabledReason: null,
    principal: { kind: 'admin', id: 'o1' },
    createdAt: /Z$/,
    health: { breaker: 'open', pending: 7, lastSuccessAt: null, lastFailureAt: null, failingSince: null, error: null },
  });
  const url = `/webhooks/endpoints/${endpoint.id}` as const;
  const read = await boss(`GET ${url}`);
  t.strictSame(read.json(), endpoint, 'the secret is shown once');
  t.equal(read.headers.etag, created.headers.etag);
  t.match((await viewer('GET /webhooks/endpoints')).json(), [endpoint]);

  const changed = await boss(`PATCH ${url}`, { name: 'Shipping', headers: { 'x-token': '•••', 'x-more': '1' } });
  t.match(changed.json(), { name: 'Shipping', headers: { 'x-token': '•••', 'x-more': '•••' }, ...HOOK });
  t.not(changed.headers.etag, read.headers.etag);
  const merge = { 'content-type': 'application/merge-patch+json', 'if-match': String(changed.headers.etag) };
  t.match((await boss(`PATCH ${url}`, { enabled: false }, merge)).json(), { enabled: false, disabledReason: 'manual' });
  t.match((await boss(`PATCH ${url}`, { name: 'Late' }, merge)).json(), { status: 412, code: 'precondition-failed' });
  t.match((await boss(`PATCH ${url}`, { enabled: true })).json(), {
    enabled: true,
    disabledReason: null,
    name: 'Shipping',
  });
  const xml = await boss(`PATCH ${url}`, '<a/>', { 'content-type': 'application/xml' });
  t.equal(xml.statusCode, 415);
  t.equal((await boss(`PUT ${url}`, HOOK)).statusCode, 405, 'there is no PUT');

  t.equal((await boss(`DELETE ${url}`, undefined, { 'if-match': '"x"' })).statusCode, 412);
  t.equal((await boss(`DELETE ${url}`)).statusCode, 204);
  t.match((await boss(`GET ${url}`)).json(), { status: 404, code: 'endpoint-not-found' });
  t.equal((await boss(`DELETE ${url}`)).statusCode, 404);
});

t.test('endpoints reject clients without rights, and viewers may only read', async (t) => {
  const { id } = await make(boss);
  const requests = [
    ['GET /webhooks/endpoints', undefined],
    ['POST /webhooks/endpoints', HOOK],
    [`GET /webhooks/endpoints/${id}`, undefined],
    [`PATCH /webhooks/endpoints/${id}`, { name: 'x' }],
    [`POST /webhooks/endpoints/${id}/rotate`, {}],
    [`POST /webhooks/endpoints/${id}/test`, {}],
    [`POST /webhooks/endpoints/${id}/recover`, { since: '2026-01-01T00:00:00Z' }],
    [`POST /webhooks/endpoints/${id}/replay`, { since: '1-0' }],
    ['GET /webhooks/replays/none', undefined],
    ['GET /webhooks/deliveries', undefined],
    ['GET /webhooks/deliveries/none', undefined],
    ['GET /webhooks/deliveries/none/attempts', undefined],
    ['POST /webhooks/deliveries/none/resend', undefined],
    [`DELETE /webhooks/endpoints/${id}`, undefined],
  ] as const;
  for (const [request, body] of requests) {
    const reads = request.startsWith('GET');
    t.equal((await anonymous(request, body)).statusCode, 401, `anonymous ${request}`);
    t.equal((await unprivileged(request, body)).statusCode, 403, `a key without a policy: ${request}`);
    const checked = (await looker(request, body)).statusCode;
    t.ok(reads ? [200, 404].includes(checked) : checked === 403, `looker ${request} ${checked}`);
    const viewed = (await viewer(request, body)).statusCode;
    t.ok(reads ? [200, 404].includes(viewed) : viewed === 403, `viewer ${request} ${viewed}`);
  }
  t.equal((await boss(`GET /webhooks/endpoints/${id}`)).statusCode, 200, 'it is still there');
  await boss(`DELETE /webhooks/endpoints/${id}`);
});

/** An error without its request-specific fields. */
function reported(response: { readonly body: string; json(): { request: string } }, id: string): string {
  return response.body.replaceAll(id, '').replace(response.json().request, '');
}

t.test('a key and a user can access their own endpoints, deliveries and replays, and no others', async (t) => {
  const [own, foreign, same] = [await make(mine), await make(others), await make(ann)];
  t.match(own.principal, { kind: 'key', id: 'k1' });
  t.match(same.principal, { kind: 'user', id: 'k1' }, 'a user with the same id is another principal');
  const ids = async (who: Client) => (await who('GET /webhooks/endpoints')).json().map(({ id }: { id: string }) => id);
  t.strictSame(await ids(mine), [own.id]);
  t.strictSame(await ids(others), [foreign.id]);
  t.strictSame(await ids(ann), [same.id]);
  t.strictSame(await ids(boss), [own.id, foreign.id, same.id]);

  for (const { id } of [own, foreign, same]) {
    t.equal((await boss(`POST /webhooks/endpoints/${id}/test`)).statusCode, 202);
  }
  const deliveryOf = (id: string) => `${id}:${sender.submitted.findLast(({ endpoint }) => endpoint === id)?.event}`;
  const [theirs, my] = [deliveryOf(foreign.id), deliveryOf(own.id)];
  const missing = [
    [`GET /webhooks/endpoints/${foreign.id}`, 'endpoint-not-found'],
    [`PATCH /webhooks/endpoints/${foreign.id}`, 'endpoint-not-found', { name: 'x' }],
    [`DELETE /webhooks/endpoints/${foreign.id}`, 'endpoint-not-found'],
    [`POST /webhooks/endpoints/${foreign.id}/rotate`, 'endpoint-not-found', {}],
    [`POST /webhooks/endpoints/${foreign.id}/test`, 'endpoint-not-found', {}],
    [`POST /webhooks/endpoints/${foreign.id}/recover`, 'endpoint-not-found', { since: '2026-01-01T00:00:00Z' }],
    [`POST /webhooks/endpoints/${foreign.id}/replay`, 'endpoint-not-found', { since: '1-0' }],
    [`GET /webhooks/deliveries?endpoint=${foreign.id}`, 'endpoint-not-found'],
    [`GET /webhooks/deliveries/${theirs}`, 'delivery-not-found'],
    [`GET /webhooks/deliveries/${theirs}/attempts`, 'delivery-not-found'],
    [`POST /webhooks/deliveries/${theirs}/resend`, 'delivery-not-found'],
  ] as const;
  for (const [request, code, body] of missing) {
    const response = await mine(request, body);
    t.match(response.json(), { status: 404, code }, request);
    const never = await mine(request.replaceAll(foreign.id, 'never') as typeof request, body);
    t.strictSame(reported(never, 'never'), reported(response, foreign.id), `${request}: as if it had never been there`);
  }
  t.strictSame(
    (await mine('GET /webhooks/deliveries')).json().map(({ id }: { id: string }) => id),
    [my],
  );
  t.equal((await mine(`GET /webhooks/deliveries/${my}`)).statusCode, 200);
  t.equal((await boss(`GET /webhooks/endpoints/${foreign.id}`)).json().name, null, 'nothing has changed');

  const replay = (
    await others(`POST /webhooks/endpoints/${foreign.id}/replay`, { since: services.events.feed.position })
  ).json();
  t.match(replay, { endpoint: foreign.id, sent: 0 });
  t.equal((await others(`GET /webhooks/replays/${replay.id}`)).statusCode, 200);
  t.equal((await boss(`GET /webhooks/replays/${replay.id}`)).statusCode, 200);
  t.match((await mine(`GET /webhooks/replays/${replay.id}`)).json(), { status: 404, code: 'replay-not-found' });
  for (const { id } of [own, foreign, same]) await boss(`DELETE /webhooks/endpoints/${id}`);
});

t.test('a rotation of an endpoint secret returns the new secret once', async (t) => {
  const { id, secret } = await make(mine);
  const url = `/webhooks/endpoints/${id}/rotate` as const;
  const first = (await mine(`POST ${url}`)).json();
  t.match(first, { secret: /^whsec_/, expires: [/Z$/] });
  t.not(first.secret, secret);
  const [until] = first.expires;
  const left = new Date(until).getTime() - Date.now();
  t.ok(left > 23 * 3_600_000 && left <= 24 * 3_600_000, `a day by default: ${left}`);
  const second = (await mine(`POST ${url}`, { graceSeconds: 0 })).json();
  t.strictSame(second.expires, []);
  for (const graceSeconds of [-1, 604_801, 1.5, '5', null]) {
    t.match((await mine(`POST ${url}`, { graceSeconds })).json(), {
      code: 'invalid-body',
      errors: [{ pointer: '/graceSeconds' }],
    });
  }
  t.match((await mine(`POST ${url}`, { secret: 'x' })).json(), { code: 'invalid-body' });
  await mine(`DELETE /webhooks/endpoints/${id}`);
});

t.test('a test sends a sample under an id of its own', async (t) => {
  const { id } = await make(boss);
  const url = `/webhooks/endpoints/${id}/test` as const;
  const response = await boss(`POST ${url}`);
  t.equal(response.statusCode, 202, response.body);
  const delivery = response.json();
  t.match(delivery, { endpoint: id, type: 'system.webhook.test', event: /^test_/ });
  t.equal(response.headers.location, `/webhooks/deliveries/${delivery.id}`);
  t.match(sender.submitted.at(-1), { trigger: 'test', document: null, event: delivery.event });
  const { body } = (await boss(`GET /webhooks/deliveries/${delivery.id}`)).json();
  t.match(JSON.parse(body), { id: delivery.event, type: 'system.webhook.test', data: { endpoint: id } });

  t.match((await boss(`POST ${url}`, { type: 'todos.create' })).json(), {
    code: 'invalid-body',
    errors: [{ pointer: '/type', detail: /Did you mean 'todos\.created'/ }],
  });
  t.match((await boss(`POST ${url}`, { type: 'todos.created' })).json(), {
    status: 404,
    code: 'event-sample-not-found',
  });
  const { id: todo } = (await boss('POST /api/todos', { title: 'tea' })).json();
  const { type, event } = (await sampled(() => boss(`POST ${url}`, { type: 'todos.*' }))).json();
  t.equal(type, 'todos.created');
  t.match(JSON.parse(sender.submitted.at(-1)?.body ?? ''), { id: event, documentId: todo, data: { title: 'tea' } });

  await boss(`PATCH /webhooks/endpoints/${id}`, { enabled: false });
  t.match((await boss(`POST ${url}`)).json(), { status: 409, code: 'endpoint-disabled' });
  await boss(`DELETE /webhooks/endpoints/${id}`);
});

t.test('recover and replay over HTTP resend deliveries', async (t) => {
  const { id } = await make(boss);
  const url = `/webhooks/endpoints/${id}` as const;
  t.match((await boss(`POST ${url}/recover`, { since: '2026-01-02T03:04:05Z' })).json(), { count: 0 });
  t.equal(sender.calls.at(-1), `recover ${id} 2026-01-02T03:04:05.000Z`);
  for (const since of ['yesterday', '2026-01-02', '2026-99-02T03:04:05Z', 7]) {
    t.match((await boss(`POST ${url}/recover`, { since })).json(), {
      code: 'invalid-body',
      errors: [{ pointer: '/since' }],
    });
  }
  t.equal((await boss(`POST ${url}/recover`)).json().code, 'body-required');

  const since = services.events.feed.position;
  const begun = await boss(`POST ${url}/replay`, { since, types: ['todos.created'] });
  t.equal(begun.statusCode, 202, begun.body);
  t.match(begun.json(), { id: /.+/, endpoint: id, state: 'running', sent: 0, position: since });
  t.equal(begun.headers.location, `/webhooks/replays/${begun.json().id}`);
  t.match((await boss(`GET /webhooks/replays/${begun.json().id}`)).json(), { endpoint: id, state: /running|done/ });
  const bad = [
    [{}, 'invalid-body', /since|^$/],
    [{ since: 'then' }, 'invalid-body', /^\/since$/],
    [{ since, until: 'now' }, 'invalid-body', /^\/until$/],
    [{ since, types: ['todos.create'] }, 'invalid-body', /^\/types$/],
    [{ since, types: [] }, 'invalid-body', /^\/types$/],
  ] as const;
  for (const [body, code, pointer] of bad) {
    const response = (await boss(`POST ${url}/replay`, body)).json();
    t.match(response, { code, errors: [{ pointer }] }, JSON.stringify(body));
  }
  t.equal((await boss(`POST ${url}/replay`, { since: '99-1' })).statusCode, 410);
  await boss(`PATCH ${url}`, { enabled: false });
  t.match((await boss(`POST ${url}/replay`, { since })).json(), { code: 'endpoint-disabled' });
  t.match((await boss(`POST ${url}/recover`, { since: '2026-01-02T03:04:05Z' })).json(), { code: 'endpoint-disabled' });
  await boss(`DELETE ${url}`);
});

/** Polls until the log has the event for a sample. */
async function sampled(request: () => ReturnType<Client>): ReturnType<Client> {
  for (;;) {
    const response = await request();
    if (response.statusCode !== 404) return response;
  }
}
