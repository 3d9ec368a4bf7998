/** Invalid requests to the webhook routes: rejected with an error, without any change. */
import t from 'tap';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { HOOK, webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';
import { BAD_BODIES } from '../endpoint/bodies.ts';

const { boss } = await webhookFixture(t);

t.test('invalid bodies of webhook routes change nothing', async (t) => {
  const before = (await boss('GET /webhooks/endpoints')).json();
  for (const [name, body, code] of BAD_BODIES) {
    if (body === undefined) continue;
    // Over HTTP, the JSON parser may reject it first.
    const response = await boss('POST /webhooks/endpoints', JSON.stringify(body));
    t.ok([400, 413].includes(response.statusCode), `${name}: ${response.body.slice(0, 200)}`);
    if (!name.includes('address of clouds') && !name.includes('NUL')) t.equal(response.json().code, code, name);
  }
  t.strictSame((await boss('GET /webhooks/endpoints')).json(), before);
});

t.test('no body and no parameter crashes the webhook routes', async (t) => {
  const seed = runSeed();
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const { id } = (await boss('POST /webhooks/endpoints', HOOK)).json();
  const urls = [
    'POST /webhooks/endpoints',
    `PATCH /webhooks/endpoints/${id}`,
    `POST /webhooks/endpoints/${id}/rotate`,
    `POST /webhooks/endpoints/${id}/test`,
    `POST /webhooks/endpoints/${id}/recover`,
    `POST /webhooks/endpoints/${id}/replay`,
    'GET /webhooks/deliveries',
    'POST /hooks',
    'GET /hooks',
    'GET /api/todos/_samples',
    'GET /api/%2e%2e/_schema',
    `GET /webhooks/endpoints/%00`,
    'POST /webhooks/deliveries/%F0%9F%98%80/resend',
  ] as const;
  const values = [
    'null',
    '[]',
    '{}',
    '"x"',
    '{"$where":"1"}',
    '{"a":{"$regex":"("}}',
    '1e400',
    '"•••"',
    '["*"]',
    '-1',
    '"1-1"',
    '{',
  ];
  const names = [
    'url',
    'targetUrl',
    'event',
    'types',
    'filter',
    'headers',
    'since',
    'until',
    'type',
    'graceSeconds',
    'enabled',
    '__proto__',
    'ordering',
  ];
  for (let round = 0; round < runCount(300, 10_000); round += 1) {
    const pairs = Array.from({ length: random.below(4) }, () => `"${random.pick(names)}":${random.pick(values)}`);
    const body = random.once(5) ? random.pick(values) : `{${pairs.join(',')}}`;
    const url = random.pick(urls);
    const query = random.once(4)
      ? `?${random.pick(['limit', 'cursor', 'type', 'state', 'targetUrl', 'x'])}=${encodeURIComponent(random.pick(values))}`
      : '';
    const response = url.startsWith('GET') ? await boss(`${url}${query}`) : await boss(`${url}${query}`, body);
    t.ok(response.statusCode < 500, `${url}${query} ${body}: ${response.body.slice(0, 200)}`);
  }
  for (const { id: created } of (await boss('GET /webhooks/endpoints')).json())
    await boss(`DELETE /webhooks/endpoints/${created}`);
});
