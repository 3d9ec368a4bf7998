/**
 * A server with something on every page of the dashboard: documents, accounts, keys, policies with versions, plugins with runs
 * and a job, endpoints with deliveries that failed, hooks, files, a provider, letters. Names are as long as people make them.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import { type Account, ask, PASSWORD, signInOwner } from '../../accounts.ts';
import { buildTestApp } from '../../app.ts';
import { multipart } from '../../files/upload.ts';
import { testMailbox } from '../../network/mailbox.ts';
import { until } from '../../until.ts';
import { startReceiver } from '../../webhooks/receiver.ts';

/** What the addresses of its pages name. */
export interface FilledServer {
  readonly origin: string;
  readonly user: string;
  readonly key: string;
  readonly event: string;
  readonly endpoint: string;
  readonly delivery: string;
  readonly run: string;
  readonly file: string;
  /** Another owner writes. */
  readonly write: Made;
}

/** Without a place where a line may break, as ids and addresses are. */
const LONG = 'a-name-that-somebody-made-far-too-long-for-a-telephone_and_went_on';

export async function filledServer(t: Test): Promise<FilledServer> {
  const mailbox = await testMailbox(t);
  const receiver = await startReceiver(t);
  receiver.answer = ({ body }, response) => {
    response.writeHead(body.includes('webhook.test') ? 200 : 500, { 'x-trace': LONG }).end(`{"error":"${LONG}"}`);
    return undefined;
  };
  const { app, parts } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
    MILLRACE_SMTP_URL: mailbox.url,
    MILLRACE_RATE_PRINCIPAL: '100000',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInOwner(app, parts);
  const made = async (request: Parameters<typeof ask>[1], body?: object) => {
    const answer = await ask(app, request, body, owner);
    if (answer.statusCode >= 300) throw new Error(`${request}: ${answer.statusCode} ${answer.body}`);
    return answer.statusCode === 204 ? null : answer.json();
  };
  const files = await uploads(app, owner);
  await plugins(made);
  const endpoint = await made('POST /webhooks/endpoints', {
    name: `Shop of ${LONG}`,
    url: `${receiver.url}/${LONG}/${LONG}`,
    types: ['orders.created', 'orders.updated', 'orders.deleted'],
    filter: { 'customer.address.city': { $in: ['Winterthur', 'La Chaux-de-Fonds'] } },
    headers: { 'x-shop-of-the-customer': 'north' },
    schedule: 'none',
  });
  await documents(made, files[0] ?? '');
  await made(`POST /webhooks/endpoints/${endpoint.id}/test`);
  const { user, key } = await principals(made);
  await policies(made);
  await made('POST /hooks', { targetUrl: `https://hooks.example.invalid/${LONG}`, event: 'orders.created' });
  await made('POST /admin/providers', {
    kind: 'oidc',
    name: 'company-of-our-friends',
    issuer: `${receiver.url}/${LONG}`,
    clientId: LONG,
    clientSecret: 'not a secret of anybody',
  });
  await made('PUT /admin/settings', { redirects: [`https://app.example.org/${LONG}/${LONG}`] });
  await made('POST /admin/mail/test');
  await made('PUT /admin/collections/orders/indexes', [{ fields: ['customer.address.city', '-placedAt'] }]);

  const list = async (path: `/${string}`) => (await made(`GET ${path}`)) as readonly Row[];
  const failed = async () => await list(`/webhooks/deliveries?endpoint=${endpoint.id}&type=orders.*`);
  await until(async () => (await failed()).some(({ attempts }) => Number(attempts) > 0), 'a delivery has failed');
  const runs = async () => await list('/admin/runs?plugin=remember&state=ok');
  await until(async () => (await runs()).length > 0, 'a run is stored');
  const { events } = await made('GET /api/orders/order-0039/_history');
  return {
    origin,
    user,
    key,
    event: events[0].id,
    endpoint: endpoint.id,
    delivery: (await failed()).find(({ attempts }) => Number(attempts) > 0)?.id ?? '',
    run: (await runs())[0]?.id ?? '',
    file: files[0] ?? '',
    write: made,
  };
}

interface Row {
  readonly id: string;
  readonly attempts?: number;
}

/** Sends a request as the owner. @returns the JSON of the answer, whatever it is */
type Made = (request: Parameters<typeof ask>[1], body?: object) => ReturnType<LightMyRequestResponse['json']>;

/** A picture of one pixel. */
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
    const { send, headers } = await multipart({ name, type, bytes }, ['custom', JSON.stringify({ shop: LONG })]);
    const all = { ...headers, ...owner.headers };
    ids.push((await app.inject({ method: 'POST', url: '/files', payload: send, headers: all })).json().id);
  }
  return ids;
}

async function documents(made: Made, receipt: string): Promise<void> {
  await made('POST /api/customers', { id: 'ada', name: 'Ada Lovelace', mail: 'ada.lovelace@example.org' });
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
  await made('POST /api/orders', orders);
  const note = 'The customer asked for a delivery in the evening, because nobody is at home before six.';
  await made('PATCH /api/orders/order-0039', { status: 'sent', note, customer: { name: LONG }, isGift: null });
  await made(`POST /api/${LONG.slice(0, 60)}`, { id: LONG, title: 'A collection with a long name' });
  await made('POST /api/todos', { id: 'milk', title: 'Buy milk' });
}

async function principals(made: Made): Promise<{ readonly user: string; readonly key: string }> {
  const body = {
    username: 'ada',
    email: 'ada.lovelace.of.the.analytical.engine@customers.example.org',
    password: PASSWORD,
    roles: ['author', 'editor-of-the-northern-branch'],
    profile: { name: LONG },
    claims: { tenant: 'north', 'https://example.org/claims/branch': LONG },
  };
  const user = (await made('POST /admin/users', body)) as Row;
  for (const username of ['grace', 'linus', LONG.slice(0, 60)]) await made('POST /admin/users', { username });
  const { id } = (await made('POST /admin/keys', {
    name: 'The nightly export of the accounting department',
    roles: ['author'],
    collections: ['orders', 'customers'],
    actions: ['read', 'create'],
  })) as Row;
  await made('POST /admin/keys', { name: LONG });
  return { user: user.id, key: id };
}

async function policies(made: Made): Promise<void> {
  const common = { effect: 'allow', actions: ['read'] };
  await made('POST /admin/policies', {
    ...common,
    name: 'Authors see the orders of their own branch',
    collections: ['orders', 'customers'],
    actions: ['read', 'create', 'update'],
    principals: { roles: ['author', 'editor-of-the-northern-branch'] },
    where: { 'customer.address.city': '$user.claims.city' },
    fields: { read: ['*', '-total'], write: ['status', 'note'] },
  });
  for (const role of ['accountant', 'support']) {
    await made('POST /admin/policies', {
      ...common,
      name: `Everything is read by ${role}`,
      collections: ['*'],
      principals: { roles: [role] },
    });
  }
  await made('POST /admin/policies', {
    ...common,
    name: 'Anybody may call',
    collections: ['functions'],
    actions: ['call'],
  });
  const { policies: all } = (await made('GET /admin/policies')) as { policies: readonly { id: string }[] };
  const { id, ...first } = all.find((policy) => policy.id.startsWith('authors')) ?? { id: '' };
  await made(`PUT /admin/policies/${id}`, {
    ...first,
    actions: ['read', 'update'],
    where: { 'customer.address.street': LONG },
  });
}

async function plugins(made: Made): Promise<void> {
  await made('POST /admin/policies', {
    name: 'What functions write',
    effect: 'allow',
    collections: ['notes'],
    actions: ['create'],
    principals: { roles: ['remember'] },
  });
  const follow = `export default async ({ documentId, data }, ctx) => {
  ctx.log.info('A new todo:', documentId, '${LONG}');
  await ctx.documents('notes').create({ todo: documentId, text: '${LONG}' });
};
`;
  await made('PUT /admin/plugins/remember', {
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
  await made('PUT /admin/plugins/remember', {
    manifest: { name: 'remember', functions: [{ name: 'follow', file: 'follow.ts', on: ['todos.created'] }] },
    files: { 'follow.ts': 'export default () => {};\n' },
    note: 'Only follows, until the printer of labels is repaired',
  });
  await made('POST /admin/plugins/remember/versions/1/activate');
  await made('POST /fn/ask');
}
