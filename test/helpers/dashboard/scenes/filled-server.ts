/**
 * A server with content on every page of the dashboard: documents, users, keys, policies with versions, plugins with
 * runs and a job, endpoints with failed deliveries, hooks, files, a provider, e-mails. Names have realistic lengths.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import { buildTestApp } from '../../app.ts';
import { multipart } from '../../files/upload.ts';
import { testMailbox } from '../../network/mailbox.ts';
import { until } from '../../until.ts';
import { type Account, ask, PASSWORD, signInAdmin } from '../../users.ts';
import { startReceiver } from '../../webhooks/receiver.ts';

/** The ids in the URLs of its pages. */
export interface FilledServer {
  readonly origin: string;
  readonly user: string;
  readonly key: string;
  readonly event: string;
  readonly endpoint: string;
  readonly delivery: string;
  readonly run: string;
  readonly file: string;
  /** Another administrator writes. */
  readonly write: Created;
}

/** Without a possible line break, as ids and URLs are. */
const LONG = 'a-name-that-somebody-made-far-too-long-for-a-telephone_and_went_on';

export async function filledServer(t: Test): Promise<FilledServer> {
  const mailbox = await testMailbox(t);
  const receiver = await startReceiver(t);
  receiver.response = ({ body }, response) => {
    response.writeHead(body.includes('webhook.test') ? 200 : 500, { 'x-trace': LONG }).end(`{"error":"${LONG}"}`);
    return undefined;
  };
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
    MILLRACE_SMTP_URL: mailbox.url,
    MILLRACE_RATE_LIMIT_PRINCIPAL: '100000',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const created = async (request: Parameters<typeof ask>[1], body?: object) => {
    const response = await ask(app, request, body, owner);
    if (response.statusCode >= 300) throw new Error(`${request}: ${response.statusCode} ${response.body}`);
    return response.statusCode === 204 ? null : response.json();
  };
  const files = await uploads(app, owner);
  await plugins(created);
  const endpoint = await created('POST /webhooks/endpoints', {
    name: `Shop of ${LONG}`,
    url: `${receiver.url}/${LONG}/${LONG}`,
    types: ['orders.created', 'orders.updated', 'orders.deleted'],
    filter: { 'customer.address.city': { $in: ['Winterthur', 'La Chaux-de-Fonds'] } },
    headers: { 'x-shop-of-the-customer': 'north' },
    retrySchedule: 'none',
  });
  await documents(created, files[0] ?? '');
  await created(`POST /webhooks/endpoints/${endpoint.id}/test`);
  const { user, key } = await principals(created);
  await policies(created);
  await created('POST /hooks', { targetUrl: `https://hooks.example.invalid/${LONG}`, event: 'orders.created' });
  await created('POST /admin/providers', {
    kind: 'oidc',
    name: 'company-of-our-friends',
    issuer: `${receiver.url}/${LONG}`,
    clientId: LONG,
    clientSecret: 'not a secret of anybody',
  });
  await created('PATCH /admin/settings', { redirectUrls: [`https://app.example.org/${LONG}/${LONG}`] });
  await created('POST /admin/emails/test');
  await created('PUT /admin/collections/orders/indexes', [{ fields: ['customer.address.city', '-placedAt'] }]);

  const list = async (path: `/${string}`) => (await created(`GET ${path}`)) as readonly Row[];
  const failed = async () => await list(`/webhooks/deliveries?endpoint=${endpoint.id}&eventType=orders.*`);
  await until(async () => (await failed()).some(({ attempts }) => Number(attempts) > 0), 'a delivery has failed');
  const runs = async () => await list('/admin/runs?plugin=remember&state=succeeded');
  await until(async () => (await runs()).length > 0, 'a run is stored');
  const { events } = await created('GET /api/orders/order-0039/_history');
  return {
    origin,
    user,
    key,
    event: events[0].id,
    endpoint: endpoint.id,
    delivery: (await failed()).find(({ attempts }) => Number(attempts) > 0)?.id ?? '',
    run: (await runs())[0]?.id ?? '',
    file: files[0] ?? '',
    write: created,
  };
}

interface Row {
  readonly id: string;
  readonly attempts?: number;
}

/**
 * Sends a request as the administrator.
 * @returns the JSON of the response, with any status
 */
type Created = (request: Parameters<typeof ask>[1], body?: object) => ReturnType<LightMyRequestResponse['json']>;

/** An image of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

async function uploads(app: FastifyInstance, owner: Account): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [name, type] of [
    ['Receipt of the order.png', 'image/png'],
    [`${LONG}.png`, 'image/png'],
    ['Terms and conditions.pdf', 'application/pdf'],
    ['prices.csv', 'text/csv'],
  ] as const) {
    const bytes = type === 'image/png' ? Buffer.from(PIXEL, 'base64') : `${name},1\n`;
    const { send, headers } = await multipart({ name, type, bytes }, ['metadata', JSON.stringify({ shop: LONG })]);
    const all = { ...headers, ...owner.headers };
    ids.push((await app.inject({ method: 'POST', url: '/files', payload: send, headers: all })).json().id);
  }
  return ids;
}

async function documents(created: Created, receipt: string): Promise<void> {
  await created('POST /api/customers', { id: 'ada', name: 'Ada Lovelace', mail: 'ada.lovelace@example.org' });
  const orders = Array.from({ length: 40 }, (_, at) => ({
    id: `order-${String(at).padStart(4, '0')}`,
    customerId: 'ada',
    customer: { name: 'Ada Lovelace', address: { city: 'La Chaux-de-Fonds', street: LONG } },
    status: ['new', 'paid', 'sent'][at % 3],
    total: at * 12.5,
    isGift: at % 2 === 0,
    placedAt: new Date(Date.UTC(2026, 0, 1 + at)).toISOString(),
    receipt,
    lines: [{ sku: LONG, count: at }],
  }));
  await created('POST /api/orders', orders);
  const note = 'The customer asked for a delivery in the evening, because nobody is at home before six.';
  await created('PATCH /api/orders/order-0039', { status: 'sent', note, customer: { name: LONG }, isGift: null });
  await created(`POST /api/${LONG.slice(0, 60)}`, { id: LONG, title: 'A collection with a long name' });
  await created('POST /api/todos', { id: 'milk', title: 'Buy milk' });
}

async function principals(created: Created): Promise<{ readonly user: string; readonly key: string }> {
  const body = {
    username: 'ada',
    email: 'ada.lovelace.of.the.analytical.engine@customers.example.org',
    password: PASSWORD,
    roles: ['author', 'editor-of-the-northern-branch'],
    profile: { name: LONG },
    claims: { tenant: 'north', 'https://example.org/claims/branch': LONG },
  };
  const user = (await created('POST /admin/users', body)) as Row;
  for (const username of ['grace', 'linus', LONG.slice(0, 60)]) await created('POST /admin/users', { username });
  const { id } = (await created('POST /admin/keys', {
    name: 'The nightly export of the accounting department',
    roles: ['author'],
    resources: ['orders', 'customers'],
    actions: ['read', 'create'],
  })) as Row;
  await created('POST /admin/keys', { name: LONG });
  return { user: user.id, key: id };
}

async function policies(created: Created): Promise<void> {
  const common = { effect: 'allow', actions: ['read'] };
  await created('POST /admin/policies', {
    ...common,
    name: 'Authors see the orders of their own branch',
    resources: ['orders', 'customers'],
    actions: ['read', 'create', 'update'],
    principals: { roles: ['author', 'editor-of-the-northern-branch'] },
    filter: { 'customer.address.city': '$user.claims.city' },
    fields: { read: ['*', '-total'], write: ['status', 'note'] },
  });
  for (const role of ['accountant', 'support']) {
    await created('POST /admin/policies', {
      ...common,
      name: `Everything is read by ${role}`,
      resources: ['*'],
      principals: { roles: [role] },
    });
  }
  await created('POST /admin/policies', {
    ...common,
    name: 'Anybody may call',
    resources: ['_functions'],
    actions: ['call'],
  });
  const { policies: all } = (await created('GET /admin/policies')) as { policies: readonly { id: string }[] };
  const { id, ...first } = all.find((policy) => policy.id.startsWith('authors')) ?? { id: '' };
  await created(`PUT /admin/policies/${id}`, {
    ...first,
    actions: ['read', 'update'],
    filter: { 'customer.address.street': LONG },
  });
}

async function plugins(created: Created): Promise<void> {
  await created('POST /admin/policies', {
    name: 'What functions write',
    effect: 'allow',
    resources: ['notes'],
    actions: ['create'],
    principals: { roles: ['remember'] },
  });
  const follow = `export default async ({ documentId, data }, ctx) => {
  ctx.log.info('A new todo:', documentId, '${LONG}');
  await ctx.documents('notes').create({ todo: documentId, text: '${LONG}' });
};
`;
  await created('PUT /admin/plugins/remember', {
    manifest: {
      name: 'remember',
      functions: [
        { name: 'follow', file: 'follow.ts', on: ['todos.created'], as: 'function', roles: ['remember'] },
        { name: 'greet', file: 'greet.ts', http: { method: 'GET', path: '/greet/:who' } },
        { name: 'ask', file: 'ask.ts', http: { method: 'POST', path: '/ask' } },
        { name: 'remind', file: 'remind.ts', job: true },
        { name: 'tick', file: 'remind.ts', cron: '0 3 * * 1', timeZone: 'Europe/Zurich' },
      ],
      secrets: ['MAIL_KEY', 'THE_KEY_OF_THE_SERVICE_THAT_PRINTS_LABELS'],
    },
    files: {
      'follow.ts': follow,
      'greet.ts': `export default async ({ params }, ctx) => {
  await ctx.documents('greetings').create({ who: params.who, of: '${LONG}' });
  return { text: 'Hello, ' + params.who, of: '${LONG}' };
};
`,
      'ask.ts': `export default async (_, ctx) => ctx.schedule('remind', { text: 'Tea' }, { after: 3_600_000 });\n`,
      'remind.ts': 'export default () => {};\n',
    },
  });
  await created('PUT /admin/plugins/remember', {
    manifest: { name: 'remember', functions: [{ name: 'follow', file: 'follow.ts', on: ['todos.created'] }] },
    files: { 'follow.ts': 'export default () => {};\n' },
    note: 'Only follows, until the printer of labels is repaired',
  });
  await created('POST /admin/plugins/remember/versions/1/activate');
  await created('POST /fn/ask');
}
