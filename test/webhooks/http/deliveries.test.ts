/** Deliveries over HTTP: filtered lists in pages, one with its body and its attempts, and resending. */
import t from 'tap';
import { DeliveryListStore } from '../../../src/webhooks/sending/queue/delivery-list-store.ts';
import { type Account, ask, signInAdmin } from '../../helpers/users.ts';
import { newDelivery } from '../../helpers/webhooks/endpoints.ts';
import { HOOK, webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';

const { app, services, sender, boss, viewer, mine } = await webhookFixture(t);
const [one, two] = [
  (await boss('POST /webhooks/endpoints', HOOK)).json().id,
  (await mine('POST /webhooks/endpoints', HOOK)).json().id,
];
await sender.submit([1, 2, 3, 4, 5].map((number) => newDelivery(number % 2 === 0 ? two : one, number)));

const eventsOf = (response: { json(): { event: string }[] }) => response.json().map(({ event }) => event);

t.test('deliveries are listed in pages, newest first, with the URL of the next page', async (t) => {
  const seen: string[] = [];
  let url: `/${string}` = '/webhooks/deliveries?limit=2';
  for (;;) {
    const page = await boss(`GET ${url}`);
    t.equal(page.statusCode, 200, page.body);
    seen.push(...eventsOf(page));
    const [, next] = /<(\/[^>]+)>; rel="next"/.exec(String(page.headers.link)) ?? [];
    t.equal(next === undefined, page.headers['millrace-next'] === undefined);
    if (next === undefined) break;
    url = `/${next.slice(1)}`;
  }
  t.strictSame(seen, ['1-5', '1-4', '1-3', '1-2', '1-1']);
});

t.test('the filters of a list reach the sender, and only readable deliveries are returned', async (t) => {
  t.strictSame(eventsOf(await boss(`GET /webhooks/deliveries?endpoint=${two}`)), ['1-4', '1-2']);
  t.strictSame(eventsOf(await mine('GET /webhooks/deliveries')), ['1-4', '1-2']);
  t.strictSame(eventsOf(await mine(`GET /webhooks/deliveries?endpoint=${two}&limit=1`)), ['1-4']);
  await boss('GET /webhooks/deliveries?state=failed&eventType=todos.*&eventId=1-3&limit=7&cursor=0');
  t.strictSame(sender.queries.at(-1), { limit: 7, state: 'failed', type: 'todos.*', event: '1-3', after: '0' });
  await boss('GET /webhooks/deliveries?eventType=system.webhook.test');
  t.strictSame(sender.queries.at(-1), { limit: 100, type: 'system.webhook.test' });
});

t.test('unknown and invalid parameters of deliveries are rejected', async (t) => {
  const bad = [
    ['limit=0', 'invalid-parameter'],
    ['limit=1001', 'invalid-parameter'],
    ['limit=x', 'invalid-parameter'],
    ['state=lost', 'invalid-parameter'],
    ['eventType=todos.create', 'invalid-parameter'],
    ['endpoint=', 'invalid-parameter'],
    ['eventId=a&eventId=b', 'invalid-parameter'],
    ['after=x', 'unknown-parameter'],
  ] as const;
  for (const [query, code] of bad) {
    t.match((await boss(`GET /webhooks/deliveries?${query}`)).json(), { status: 400, code }, query);
  }
  const list = new DeliveryListStore(services.mongo);
  for (const after of ['x', '[]', 'W10', '!'])
    await t.rejects(list.page({ limit: 1, after }), { code: 'cursor-mismatch' });
});

t.test('a delivery is read with its body and its attempts, and sent again', async (t) => {
  const id = `${two}:1-4`;
  const whole = (await mine(`GET /webhooks/deliveries/${id}`)).json();
  t.match(whole, { id, endpoint: two, event: '1-4', state: 'failed', attempts: 1 });
  t.match(JSON.parse(whole.body), { id: '1-4' });
  t.notOk('body' in (await mine('GET /webhooks/deliveries?limit=1')).json()[0], 'lists have no bodies');
  t.match((await mine(`GET /webhooks/deliveries/${id}/attempts`)).json(), [{ status: 500, error: 'status' }]);
  const again = await mine(`POST /webhooks/deliveries/${id}/resend`);
  t.equal(again.statusCode, 202, again.body);
  t.match(again.json(), { id, state: 'pending' });
  await boss(`PATCH /webhooks/endpoints/${two}`, { enabled: false });
  t.match((await mine(`POST /webhooks/deliveries/${id}/resend`)).json(), { status: 409, code: 'endpoint-disabled' });
  await boss(`DELETE /webhooks/endpoints/${two}`);
  t.equal((await boss(`GET /webhooks/deliveries/${id}`)).statusCode, 200, 'administrators still see what was sent');
  t.match((await boss(`POST /webhooks/deliveries/${id}/resend`)).json(), { code: 'endpoint-not-found' });
  t.match((await mine(`GET /webhooks/deliveries/${id}`)).json(), { code: 'delivery-not-found' });
});

t.test(
  'Deliveries of user events are for those who may read users, whatever the endpoint receives today.',
  async (t) => {
    const admin = await signInAdmin(app, services, ['manager']);
    const developer = await signInAdmin(app, services, ['developer']);
    const as =
      ({ headers }: Account): typeof boss =>
      (request, body) =>
        ask(app, request, typeof body === 'object' ? body : undefined, { headers });
    const [by, dev] = [as(admin), as(developer)];
    const { id } = (await by('POST /webhooks/endpoints', { ...HOOK, types: ['system.user.*'] })).json();
    await sender.submit([
      newDelivery(id, 21, { type: 'system.user.created', body: '{"email":"eve@example.org"}' }),
      newDelivery(id, 22, { type: 'todos.created', body: '{"title":"eve@example.org"}' }),
      newDelivery(id, 23, { type: 'system.unknown.created', body: '{"email":"eve@example.org"}' }),
    ]);
    await by(`PATCH /webhooks/endpoints/${id}`, { types: ['todos.*'] });
    for (const [event, isShown] of [
      ['1-21', false],
      ['1-22', true],
      ['1-23', false],
    ] as const) {
      const path = `/webhooks/deliveries/${id}:${event}` as const;
      for (const who of [dev, viewer]) {
        const shown = await who(`GET ${path}`);
        t.equal(shown.body.includes('eve@'), isShown, event);
        t.equal(shown.headers['millrace-hint'] === undefined, isShown);
        t.match((await who(`GET ${path}/attempts`)).json(), [
          isShown ? { response: { body: 'no' } } : { response: { body: '' } },
        ]);
      }
      t.match((await by(`GET ${path}`)).body, /eve@/);
      t.equal((await dev(`POST ${path}/resend`)).statusCode, isShown ? 202 : 403, event);
      t.equal((await by(`POST ${path}/resend`)).statusCode, 202);
    }
    const since = { since: '2026-01-01T00:00:00Z' };
    await dev(`POST /webhooks/endpoints/${id}/recover`, since);
    t.match(sender.calls.at(-1), /^recover .* but system\.user\.created/);
    await by(`POST /webhooks/endpoints/${id}/recover`, since);
    t.notMatch(sender.calls.at(-1), / but /);
    // A client with fewer rights than its creator cannot redirect or extend such an endpoint either.
    for (const patch of [{ url: 'https://dev.invalid/' }, { types: ['*'] }, { headers: {} }, { filter: null }]) {
      const refused = await dev(`PATCH /webhooks/endpoints/${id}`, patch);
      t.match(refused.json(), { status: 403, code: 'forbidden' }, JSON.stringify(patch));
    }
    t.equal((await dev(`PATCH /webhooks/endpoints/${id}`, { enabled: false })).statusCode, 200, 'it can be stopped');
    t.equal((await by(`PATCH /webhooks/endpoints/${id}`, { url: 'https://else.invalid/' })).statusCode, 200);
    const own = (await dev('POST /webhooks/endpoints', { ...HOOK, types: ['*'] })).json();
    t.equal(
      (await dev(`PATCH /webhooks/endpoints/${own.id}`, { url: 'https://dev.invalid/' })).statusCode,
      200,
      'their own',
    );
    t.equal((await by(`PATCH /webhooks/endpoints/${own.id}`, { url: HOOK.url })).statusCode, 200);
  },
);
