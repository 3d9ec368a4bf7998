/** Typings in an author's editor: valid programs compile, and each mistake is reported in its line. */
import { BSON } from 'mongodb';
import t from 'tap';
import { describeFields } from '../../../../src/collections/schema/collection-list.ts';
import { generateTypings } from '../../../../src/functions/plugins/typings/typings.ts';
import { HOST_OPERATIONS } from '../../../../src/functions/sandbox/sandbox.ts';
import { compileForAuthors } from '../../../helpers/functions/author-program.ts';

const meta = { revision: 1, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: null, createdBy: null, updatedBy: null };
const ORDER = {
  id: 'a',
  _meta: meta,
  customer: 'Ada',
  lines: [{ price: 1.5, quantity: 2 }],
  'ship to': { street: 'x' },
  'rate */': 1,
  paidAt: null,
};
const TYPES = generateTypings([{ name: 'orders', sampled: 1, fields: await describeFields([BSON.serialize(ORDER)]) }]);

const RIGHT = {
  'shop/total.ts': `
import { sum } from './lib/sum.ts';

interface Author { name: string }
interface Book { title: string; author: Author }
const AUTHOR: Author = { name: 'Ada' };

export default (async ({ params, body, query, headers, text }, ctx) => {
  const order = await ctx.documents('orders').get(params.id);
  if (order === null) return Response.json({ error: 'There is no such order' }, { status: 404 });
  const total = sum(order.lines ?? []);
  await ctx.documents('orders').patch(order.id, { total, lines: null }, { ifMatch: '"1-x"' });
  await ctx.documents('orders').update(order.id, { $inc: { views: 1 } });
  await ctx.documents('orders').create({ customer: 'Bob', 'ship to': { street: 'y', city: 'z' }, new: [1] });
  const { items, next } = await ctx.documents('anything').list({ filter: { price: { $gte: 1 } }, sort: ['-price'], limit: 5 });
  const first: unknown = items[0]?.price;
  const mine = await ctx.documents<Book>('books').get('1');
  if (mine !== null) await ctx.documents<Book>('books').replace('1', { ...mine, author: AUTHOR });
  const title: string | undefined = mine?.title;
  const street: string | undefined = order['ship to']?.street;
  const revision: number = order._meta.revision;
  await ctx.schedule('later', { id: order.id }, { after: 1_000 });
  console.log(ctx.now(), crypto.randomUUID(), new URL('https://example.org').host, body.amount.toFixed(2), query);
  const { id, sentAt } = await ctx.webhooks.verify(headers, text, 'KEY');
  const signature = await ctx.hmac('KEY', 'text', { key: 'base64', encoding: 'base64' });
  console.log(id, sentAt.getTime(), signature);
  return { total, next, first, title, street, revision, key: await ctx.hmac('KEY', 'text') };
}) satisfies Millrace.Endpoint<{ amount: number }>;
`,
  'shop/lib/sum.ts': `
export const sum = (lines: readonly { price?: number; quantity?: number }[]): number =>
  lines.reduce((total, { price = 0, quantity = 1 }) => total + price * quantity, 0);
`,
  'shop/changed.ts': `
export default (async ({ data, before, type }, ctx) => {
  if (type === 'system.user.created' || data === null) return;
  const answer = await ctx.fetch('https://example.org', { method: 'POST', body: JSON.stringify({ customer: data.customer }) });
  if (!answer.ok) throw new Error(await answer.text());
  ctx.log.info(before?.customer?.toUpperCase(), (await answer.json<{ id: string }>()).id);
}) satisfies Millrace.Trigger<'orders'>;
`,
  'shop/check.ts': `
export default (({ action, document, before }) => {
  if (action === 'delete') return;
  if (!document.customer) throw new Refusal('An order has a customer', { code: 'no-customer', pointer: '/customer' });
  if (action === 'update' && before._meta.revision > 9) return;
  document.customer = document.customer.trim();
  return document;
}) satisfies Millrace.Before<'orders'>;
`,
  'shop/any.ts': `
export default (async ({ action, document }, ctx) => {
  if (action === 'delete' || typeof document.title !== 'string') return;
  const { items } = await ctx.documents('notes').list({ filter: { title: document.title } });
  return items.length > 0 ? { ...document, title: document.title + ' (2)' } : document;
}) satisfies Millrace.Before<'notes'>;
`,
  'shop/nightly.ts': `
export default (async ({ scheduledAt }, ctx) => {
  try {
    const { id } = await ctx.files.create({ name: 'report.csv', type: 'text/csv', body: scheduledAt.slice(0, 10) });
    const bytes: Uint8Array = await ctx.files.bytes(id);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'forbidden') return error.status;
    throw error;
  }
}) satisfies Millrace.Cron;
`,
  'shop/later.ts': `
export default (async ({ id }, ctx) => ctx.documents('orders').remove(id)) satisfies Millrace.Job<{ id: string }>;
`,
};

/** Programs with one mistake each, and the expected compiler error. */
const WRONG: readonly (readonly [string, RegExp])[] = [
  ['export default (async ({ parms }) => parms) satisfies Millrace.Endpoint;', /'parms' does not exist/],
  [
    "export default (async (_, ctx) => (await ctx.documents('orders').get('1'))?.custmer) satisfies Millrace.Cron;",
    /'custmer' does not exist/,
  ],
  [
    "export default (async (_, ctx) => ctx.documents('orders').create({ customer: 5 })) satisfies Millrace.Cron;",
    /'number' is not assignable to type 'string/,
  ],
  [
    "export default (async (_, ctx) => ctx.documents('orders').update('1', { $incr: { n: 1 } })) satisfies Millrace.Cron;",
    /'\$incr' does not exist/,
  ],
  [
    "export default (async (_, ctx) => ctx.documents('orders').list({ where: {} })) satisfies Millrace.Cron;",
    /'where' does not exist/,
  ],
  [
    "export default (async (_, ctx) => ctx.documents('orders').find('1')) satisfies Millrace.Cron;",
    /'find' does not exist/,
  ],
  [
    "export default (({ document }) => document.customer) satisfies Millrace.Before<'orders'>;",
    /possibly 'null'|not assignable/,
  ],
  [
    "export default (async (_, ctx) => { await ctx.documents('orders').remove('1'); }) satisfies Millrace.Before;",
    /'remove' does not exist/,
  ],
  [
    "export default (async (_, ctx) => { await ctx.schedule('later'); }) satisfies Millrace.Before;",
    /'schedule' does not exist/,
  ],
  [
    "export default (async ({ data }) => data.customer) satisfies Millrace.Trigger<'orders'>;",
    /'data' is possibly 'null'/,
  ],
  ["export default (async () => fetch('https://example.org')) satisfies Millrace.Cron;", /Cannot find name 'fetch'/],
  ['export default (async () => process.env) satisfies Millrace.Cron;', /Cannot find name 'process'/],
  ["import fs from 'node:fs';\nexport default (async () => fs) satisfies Millrace.Cron;", /Cannot find name 'node:fs'/],
  ['enum Size { Small }\nexport default (async () => Size.Small) satisfies Millrace.Cron;', /erasableSyntaxOnly/],
  ["export default (async () => new MillraceError('x')) satisfies Millrace.Cron;", /private/],
  [
    'export default (async () => { try { return 1; } catch (e) { return (e as MillraceError).kode; } }) satisfies Millrace.Cron;',
    /'kode' does not exist/,
  ],
];

t.test('Programs of every kind compile.', async (t) => {
  t.strictSame(await compileForAuthors(t, TYPES, RIGHT), []);
});

t.test('Programs compile before any collection is known.', async (t) => {
  const scripts = { 'any.ts': RIGHT['shop/any.ts'], 'nightly.ts': RIGHT['shop/nightly.ts'] };
  t.strictSame(await compileForAuthors(t, generateTypings([]), scripts), []);
});

t.test('Each mistake is reported in its file.', async (t) => {
  const scripts = Object.fromEntries(WRONG.map(([script], index) => [`wrong-${index}.ts`, `${script}\n`]));
  const said = await compileForAuthors(t, TYPES, scripts);
  for (const [index, [script, message]] of WRONG.entries()) {
    const lines = said.filter((line) => line.startsWith(`wrong-${index}.ts(`));
    t.ok(
      lines.some((line) => message.test(line)),
      `${script}\n${lines.join('\n')}`,
    );
  }
});

t.test('Names of fields cannot break out of the generated typings.', async (t) => {
  const fields = await describeFields([
    BSON.serialize({ '"; } declare const x: 1; //': 1, '\u2028': 'a', '*/ ${1} `': [null], __proto: {} }),
  ]);
  const types = generateTypings([{ name: 'odd', sampled: 1, fields }]);
  const script =
    "export default (async (_, ctx) => (await ctx.documents('odd').get('1'))?.['\\u2028']?.length) satisfies Millrace.Cron;\n";
  t.strictSame(await compileForAuthors(t, types, { 'odd.ts': script }), []);
});

t.test('Every host operation is declared in ctx.', async (t) => {
  const calls = HOST_OPERATIONS.map((operation) => {
    const path = operation.startsWith('documents.') ? operation.replace('documents.', "documents('a').") : operation;
    return `ctx.${path};`;
  });
  const script = `export default (async (_, ctx) => { ${calls.join(' ')} }) satisfies Millrace.Cron;\n`;
  t.strictSame(await compileForAuthors(t, TYPES, { 'all.ts': script }), []);
});

t.test('The event types in the typings are exactly the system events.', async (t) => {
  for (const type of ['system.user.created', 'system.policy.deleted', 'system.auth.failed', 'system.event-log.gap']) {
    t.ok(TYPES.includes(`| '${type}'`), type);
  }
  t.notMatch(TYPES, /'system\.[\w-]+\.(?:dropped|renamed)'/);
});
