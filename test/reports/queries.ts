/** Reports about filters, sorts and paths of lists. */
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { fieldsOfSchema } from '../helpers/schema-fields.ts';
import type { Product, Report } from './report.ts';

export const reports: readonly Report[] = [
  { point: 'B2', title: 'Lost pluses and times with another offset get a hint that says what to write', run: times },
  { point: 'B3', title: 'Values and names that no document has get a hint with the right spelling', run: spellings },
  { point: 'B4', title: 'Members with dots, a leading $ and empty names are named wherever a path is', run: anyNames },
];

/** The ids that a list has, and its hint. */
async function list({ call }: Product, url: string): Promise<{ ids: readonly string[]; hint: string }> {
  const { status, headers, body } = await call('GET', url);
  assert.equal(status, 200, `${url}: ${JSON.stringify(body)}`);
  return { ids: body.map(({ id }: { id: string }) => id), hint: decodeURI(headers.get('millrace-hint') ?? '') };
}

async function times(product: Product): Promise<void> {
  const people = [
    { id: 'a', mail: 'ann+news@example.org', phone: '+4930123', at: '2026-01-31T10:00:00Z' },
    { id: 'b', mail: 'bob@example.org', phone: '+4930124', at: '2026-02-01T10:00:00.000Z' },
  ];
  assert.equal((await product.call('POST', '/api/people', { body: people })).status, 201);
  for (const [query, hint] of [
    ['mail=ann+news@example.org', /%2B/],
    ['mail[in]=x,ann+news@example.org', /%2B/],
    ['phone=+4930123', /%2B/],
    ['phone[lt]=+5', /%2B/],
    ['filter={"phone":"+4930123"}', /%2B/],
    ['at[gte]=2026-01-31T12:00:00+02:00', /%2B02:00/],
    ['at[lt]=2026-02-30T12:00:00Z', /not a time/],
    ['at[gte]=2026-01-31T12:00:00%2B02:00', /2026-01-31T10:00:00/],
    ['at[gt]=2026-02-01T12:00:00%2B01:00', /2026-02-01T11:00:00/],
    ['filter={"at":{"$lt":"2026-01-31T10:30:00%2B02:00"}}', /2026-01-31T08:30:00/],
  ] as const) {
    assert.match((await list(product, `/api/people?${query}`)).hint, hint, query);
  }
  for (const query of ['at[gte]=2026-01-31T10:00:00Z', 'mail=ann%2Bnews@example.org', 'phone=%2B4930123']) {
    const { ids, hint } = await list(product, `/api/people?${query}`);
    assert.deepEqual([ids.includes('a'), hint], [true, ''], query);
  }
  const future = '_meta.createdAt[gte]=2020-01-31T12:00:00';
  assert.equal((await list(product, `/api/people?${future}%2B02:00`)).ids.length, 2);
  const refused = await product.call('GET', `/api/people?${future}+02:00`);
  assert.deepEqual([refused.status, /%2B/.test(refused.body.hint)], [400, true]);
}

async function spellings(product: Product): Promise<void> {
  const films = [
    { id: '1', Title: 'Avatar', zip: '60601' },
    { id: '2', Title: 'Up', zip: '80331' },
  ];
  assert.equal((await product.call('POST', '/api/films', { body: films })).status, 201);
  for (const [query, found, hint] of [
    ['zip[gte]=60000', 0, /zip\[gte\]="60000"/],
    ['filter={"zip":{"$lt":90000}}', 0, /"\$lt":"90000"/],
    ['Title=eq.Avatar', 0, /Title=Avatar/],
    ['id=eq.1', 0, /id=1/],
    ['Title=ilike.*av*', 0, /Title\[ilike\]=\*av\*/],
    ['fields=Titel', 2, /'Title'/],
    ['sort=createdAt', 2, /'_meta\.createdAt'/],
    ['title=Avatar', 0, /'Title'/],
  ] as const) {
    const response = await list(product, `/api/films?${query}`);
    assert.equal(response.ids.length, found, query);
    assert.match(response.hint, hint, query);
  }
  const refused = await product.call('GET', '/api/films?sort=["Title","ASC"]');
  assert.deepEqual([refused.status, /sort=Title/.test(refused.body.hint)], [400, true]);
}

async function anyNames(product: Product): Promise<void> {
  const { call } = product;
  const packages = [
    { id: 'a', dependencies: { 'socket.io': 4, express: '5' }, $ref: '#/a', '': 1, secret: { 'k.1': 1 } },
    { id: 'b', dependencies: { 'socket.io': 3 }, $ref: '#/b', '': 2, secret: { 'k.1': 2 } },
  ];
  assert.equal((await call('POST', '/api/packages', { body: packages })).status, 201);
  const at = (query: string) => list(product, `/api/packages?${encodeURI(query).replaceAll('#', '%23')}`);
  for (const [query, ids] of [
    ["dependencies['socket.io']=4", ['a']],
    ["dependencies['socket.io'][lt]=4", ['b']],
    [`filter={"['$ref']":{"$in":["#/b"]}}`, ['b']],
    [`filter={"$or":[{"['']":1},{"dependencies['socket.io']":{"$exists":false}}]}`, ['a']],
    ["sort=dependencies['socket.io']", ['b', 'a']],
    ["sort=-['']&limit=1", ['b']],
  ] as const) {
    assert.deepEqual((await at(query)).ids, ids, query);
  }
  const shown = await call('GET', `/api/packages/a?fields=${encodeURIComponent("dependencies['socket.io'],['']")}`);
  assert.deepEqual(shown.body, { id: 'a', dependencies: { 'socket.io': 4 }, '': 1 });
  for (const query of ['dependencies.socket.io=4', 'socket.io=4', 'sort=dependencies.socket.io'])
    assert.match((await at(query)).hint, /'dependencies\['socket\.io'\]'/, query);
  const bare = await call('GET', '/api/packages?$ref=x');
  assert.deepEqual([bare.status, bare.body.hint], [400, "A field with this name is written as ['$ref']."]);

  const paths = fieldsOfSchema((await call('GET', '/api/packages/_schema')).body).map(({ path }) => path);
  for (const path of paths) assert.ok((await at(`${path}[exists]=true`)).ids.length > 0, path);
  const indexes = [{ fields: ["dependencies['socket.io']"] }];
  const refused = await call('PUT', '/admin/collections/packages/indexes', { body: indexes });
  assert.equal(refused.status, 400);
  assert.match(refused.body.detail, /cannot be indexed/);
  const deep = await call('GET', `/api/packages?${encodeURIComponent("['a.b']".repeat(11))}=1`);
  assert.equal(deep.status, 400);

  const endpoint = {
    url: 'https://example.org/never',
    types: ['packages.created'],
    enabled: false,
    filter: { "dependencies['socket.io']": { $gte: 4 } },
  };
  const saved = await call('POST', '/webhooks/endpoints', { body: endpoint });
  assert.equal(saved.status, 201, JSON.stringify(saved.body));
  assert.deepEqual(saved.body.filter, endpoint.filter);
  await call('DELETE', `/webhooks/endpoints/${saved.body.id}`);

  const policy = {
    id: 'any-names',
    name: 'any names',
    effect: 'allow',
    resources: ['packages'],
    actions: ['read'],
    principals: { anonymous: true },
    filter: { "['']": { $gte: 2 } },
    fields: { read: ['*', "-secret['k.1']"] },
  };
  const allowed = await call('POST', '/admin/policies', { body: policy });
  assert.equal(allowed.status, 201, JSON.stringify(allowed.body));
  if (product.mode === 'production') {
    const seen = await call('GET', '/api/packages', { token: null });
    assert.deepEqual(
      seen.body.map(({ id, secret }: { id: string; secret: object }) => ({ id, secret })),
      [{ id: 'b', secret: {} }],
    );
  }
  await call('DELETE', '/admin/policies/any-names');
  assert.deepEqual(await liveIds(product, { filter: { "['$ref']": '#/a' }, sort: "-['']" }), ['a']);
}

/** The ids of a live query as they come first. */
async function liveIds({ url, admin }: Product, query: object): Promise<readonly string[]> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/realtime`, 'millrace.v1');
  const messages: string[] = [];
  try {
    return await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('open', () => {
        socket.send(JSON.stringify({ type: 'hello', token: admin }));
        socket.send(JSON.stringify({ type: 'subscribe', id: 'q', collection: 'packages', query }));
      });
      socket.on('message', (bytes) => {
        messages.push(String(bytes));
        const { type } = JSON.parse(String(bytes));
        if (type === 'unsubscribed') reject(new Error(String(bytes)));
        if (type === 'live') resolve(messages.flatMap((one) => one.match(/(?<="id":")[ab](?=")/g) ?? []));
      });
    });
  } finally {
    socket.close();
  }
}
