/** Reports about functions: what endpoints are given, what happens to their process, and the runs that are stored. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Webhook } from 'svix';
import { expect } from './identity.ts';
import type { Product, Report } from './report.ts';

const LIMIT_MS = 60_000;

async function until(fact: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; !(await fact()); await pause(10)) {
    if (performance.now() > end) throw new Error(`Not within ${LIMIT_MS} ms: ${what}`);
  }
}

/** Stores a plugin whose functions have a script of their own each. */
async function install(
  product: Product,
  name: string,
  functions: readonly ({ readonly name: string; readonly code: string } & Readonly<Record<string, unknown>>)[],
  more: object = {},
): Promise<void> {
  const manifest = {
    name,
    ...more,
    functions: functions.map(({ code: _code, ...fn }) => ({ ...fn, file: `${fn.name}.js` })),
  };
  const files = Object.fromEntries(functions.map(({ name: fn, code }) => [`${fn}.js`, code]));
  await expect(product.call('PUT', `/admin/plugins/${name}`, { body: { manifest, files } }), 201);
}

async function allowCalls(product: Product, plugin: string): Promise<void> {
  const policy = {
    name: `Everybody calls ${plugin}`,
    resources: ['_functions'],
    actions: ['call'],
    effect: 'allow',
    principals: { anonymous: true },
    filter: { plugin },
  };
  await expect(product.call('POST', '/admin/policies', { body: policy }), 201);
}

async function ownAuthorization(product: Product): Promise<void> {
  const code = 'export default ({ headers }, ctx) => [headers.authorization ?? null, ctx.principal.kind];';
  const http = { method: 'POST', path: '/push' };
  await install(product, 'push', [{ name: 'own', code, http, authorization: 'own' }]);
  await allowCalls(product, 'push');
  for (const header of ['Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln', `Basic ${btoa('azure:secret')}`, 'AWS4-HMAC x']) {
    const headers = { authorization: header };
    const body = await expect(product.call('POST', '/fn/push', { token: null, headers, body: {} }), 200);
    assert.deepEqual(body, [header, 'anonymous']);
  }
  // A credential of this server is no business of the code.
  assert.deepEqual(await expect(product.call('POST', '/fn/push', { body: {} }), 200), [null, 'anonymous']);
}

async function exactNumbers(product: Product): Promise<void> {
  const code = 'export default ({ body, text }) => [body, text];';
  await install(product, 'exact', [
    { name: 'strict', code, http: { method: 'POST', path: '/strict' } },
    { name: 'texts', code, http: { method: 'POST', path: '/texts' }, largeNumbers: 'string' },
  ]);
  const sent = '{"id":1234567890123456789,"n":[1.5,-9007199254740993]}';
  assert.equal((await expect(product.call('POST', '/fn/strict', { body: sent }), 400)).code, 'unsupported-value');
  const exact = { id: '1234567890123456789', n: [1.5, '-9007199254740993'] };
  assert.deepEqual(await expect(product.call('POST', '/fn/texts', { body: sent }), 200), [exact, sent]);
  const marked = '\ufeff{"id":1}';
  assert.deepEqual(await expect(product.call('POST', '/fn/strict', { body: marked }), 200), [{ id: 1 }, marked]);
}

/** The process that runs the code; null when none runs. */
async function runnerOf({ pid }: Product): Promise<number | null> {
  const found = await promisify(execFile)('pgrep', ['-P', String(pid), '-f', 'runner/main']).catch(() => null);
  return found === null ? null : Number(found.stdout.split('\n')[0]);
}

async function killRunner(product: Product, signal: NodeJS.Signals): Promise<void> {
  let pid: number | null = null;
  await until(async () => {
    pid = await runnerOf(product);
    return pid !== null;
  }, 'a process runs functions');
  if (pid !== null) process.kill(pid, signal);
}

const stateOf = async (product: Product, plugin: string): Promise<string[]> =>
  (await expect(product.call('GET', `/admin/plugins/${plugin}`), 200)).functions.map(
    ({ state }: { readonly state: string }) => state,
  );

async function kills(product: Product): Promise<void> {
  const code = `export default async ({ documentId }, ctx) => {
    await ctx.documents('handled').create({ of: documentId });
  };`;
  await install(product, 'killed', [{ name: 'handle', code, on: ['arrivals.created'], roles: ['keeper'] }]);
  const policy = {
    name: 'Keepers handle',
    resources: ['handled'],
    actions: ['create'],
    effect: 'allow',
    principals: { roles: ['keeper'] },
  };
  await expect(product.call('POST', '/admin/policies', { body: policy }), 201);
  const handled = product.database.collection('handled');
  const arrivals = Array.from({ length: 600 }, (_, n) => ({ _id: `a${n}` as never, n }));
  await product.database.collection('arrivals').insertMany(arrivals);
  for (const signal of ['SIGKILL', 'SIGKILL', 'SIGUSR2', 'SIGKILL', 'SIGKILL'] as const) {
    const before = await handled.countDocuments();
    await until(async () => (await handled.countDocuments()) > before, 'runs go on');
    await killRunner(product, signal);
  }
  await until(async () => (await handled.countDocuments()) >= 600, 'all events are handled');
  assert.equal((await handled.distinct('of')).length, 600);
  assert.equal(await handled.countDocuments(), 600);
  assert.deepEqual(await stateOf(product, 'killed'), ['active']);
}

async function crashes(product: Product): Promise<void> {
  const http = { method: 'POST', path: '/crash' };
  const code = `export default async (input, ctx) => {
    await ctx.documents('crashing').create({});
    await new Promise((end) => setTimeout(end, 5_000));
  };`;
  await install(product, 'crash', [{ name: 'crash', code, http }]);
  for (let n = 0; n < 3; n += 1) {
    const call = product.call('POST', '/fn/crash', { body: {} });
    await until(async () => (await product.database.collection('crashing').countDocuments()) > n, 'the code runs');
    await killRunner(product, 'SIGSEGV');
    assert.equal((await call).body.code, 'function-failed');
  }
  await until(async () => (await stateOf(product, 'crash'))[0] === 'quarantined', 'the function is in quarantine');
}

/** Runs of a plugin, and bytes of their inputs and results. */
async function storedRuns(
  product: Product,
  plugin: string,
): Promise<{ readonly runs: number; readonly bytes: number }> {
  let [runs, bytes] = [0, 0];
  for (const state of ['rejected', 'failed', 'succeeded']) {
    for (const { id } of await expect(
      product.call('GET', `/admin/runs?plugin=${plugin}&state=${state}&limit=100`),
      200,
    )) {
      const { input, result } = await expect(product.call('GET', `/admin/runs/${id}`), 200);
      runs += 1;
      bytes += (input?.length ?? 0) + (result?.length ?? 0);
    }
  }
  return { runs, bytes };
}

async function floods(product: Product): Promise<void> {
  await install(product, 'flood', [
    {
      name: 'refuse',
      code: 'export default () => { throw new Refusal("no"); };',
      beforeWrite: { collections: ['flooded'] },
    },
    { name: 'fail', code: 'export default () => { throw new Error("no"); };', http: { method: 'POST', path: '/fail' } },
    {
      name: 'log',
      code: 'export default () => { console.log("x"); return 1; };',
      http: { method: 'POST', path: '/log' },
    },
  ]);
  await allowCalls(product, 'flood');
  const body = { text: 'x'.repeat(200_000) };
  const send = async (path: string, status: number, token?: null) => {
    for (let n = 0; n < 60; n += 1) {
      const reply = await product.call('POST', path, { body, ...(token === null ? { token } : {}) });
      assert.equal(reply.status, status, JSON.stringify(reply.body).slice(0, 300));
    }
  };
  await Promise.all([send('/api/flooded', 422), send('/fn/fail', 500, null), send('/fn/log', 200, null)]);
  await until(async () => (await storedRuns(product, 'flood')).runs >= 90, 'the first runs are stored');
  const { runs, bytes } = await storedRuns(product, 'flood');
  // A slow machine gets some runs more by the minute.
  assert.ok(runs < 120, `${runs} runs`);
  assert.ok(bytes <= 3 * 2.2e6, `${bytes} bytes`);
}

async function verifiedWebhooks(product: Product): Promise<void> {
  const code = `export default async ({ headers, text }, ctx) => {
    try { return await ctx.webhooks.verify(headers, text, 'SENDER'); }
    catch (error) { return Response.json({ message: error.message }, { status: error.status }); }
  };`;
  const mac = `export default async (input, ctx) =>
    [await ctx.hmac('SENDER', 'a', { key: 'base64', encoding: 'base64' }), await ctx.hmac('SENDER', 'a')];`;
  const functions = [
    { name: 'receive', code, http: { method: 'POST', path: '/receive' } },
    { name: 'mac', code: mac, http: { method: 'GET', path: '/mac' } },
  ];
  await install(product, 'receiver', functions, { secrets: ['SENDER'] });
  await allowCalls(product, 'receiver');
  const bytes = Buffer.alloc(24, 0xfb);
  const secret = `whsec_${bytes.toString('base64')}`;
  await expect(product.call('PUT', '/admin/plugins/receiver/secrets/SENDER', { body: { value: secret } }), 204);
  const [base64, utf8] = await expect(product.call('GET', '/fn/mac'), 200);
  assert.equal(base64, createHmac('sha256', bytes).update('a').digest('base64'));
  assert.equal(utf8, createHmac('sha256', secret).update('a').digest('hex'));
  const body = '{"type":"orders.created","data":{"name":"Zoë"}}';
  const send = async (prefix: string, by: string, at: number, text: string) => {
    const signature = new Webhook(by).sign('msg_1', new Date(at), body);
    const headers = {
      [`${prefix}-id`]: 'msg_1',
      [`${prefix}-timestamp`]: String(Math.floor(at / 1_000)),
      [`${prefix}-signature`]: `v1,AAAA ${signature}`,
    };
    return (await product.call('POST', '/fn/receive', { token: null, headers, body: text })).status;
  };
  const now = Date.now();
  assert.equal(await send('webhook', secret, now, body), 200);
  assert.equal(await send('svix', secret, now, body), 200);
  assert.equal(await send('webhook', secret, now, `${body} `), 401);
  assert.equal(await send('svix', `whsec_${Buffer.alloc(24).toString('base64')}`, now, body), 401);
  for (const offset of [-310_000, 310_000]) assert.equal(await send('webhook', secret, now + offset, body), 401);
  assert.equal(await send('stripe', secret, now, body), 401);
}

/** A webhook of the product itself, received by a function of another one. */
async function ownWebhooks(product: Product): Promise<void> {
  const it = await product.another({ MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1' });
  const code = `export default async ({ headers, text, body }, ctx) => {
    await ctx.webhooks.verify(headers, text, 'OWN');
    await ctx.documents('received').create({ type: body.type });
  };`;
  const http = { method: 'POST', path: '/own' };
  await install(it, 'own', [{ name: 'own', code, http, as: 'function', roles: ['keeper'] }], { secrets: ['OWN'] });
  await allowCalls(it, 'own');
  const endpoint = { url: `${it.url}/fn/own`, types: ['orders.created'] };
  const { secret } = await expect(it.call('POST', '/webhooks/endpoints', { body: endpoint }), 201);
  await expect(it.call('PUT', '/admin/plugins/own/secrets/OWN', { body: { value: secret } }), 204);
  const policy = {
    name: 'Keepers receive',
    resources: ['received'],
    actions: ['create'],
    effect: 'allow',
    principals: { roles: ['keeper'] },
  };
  await expect(it.call('POST', '/admin/policies', { body: policy }), 201);
  await expect(it.call('POST', '/api/orders', { body: { n: 1 } }), 201);
  await until(async () => (await it.database.collection('received').countDocuments()) === 1, 'it is verified');
}

export const reports: readonly Report[] = [
  { point: 'D2', title: 'An endpoint gets an Authorization header of its sender', run: ownAuthorization },
  { point: 'D3', title: 'An endpoint gets numbers and texts exactly, or the request is refused', run: exactNumbers },
  { point: 'D4', title: 'A function verifies webhooks of others, and uses keys in base64', run: verifiedWebhooks },
  { point: 'D4', title: 'A function verifies webhooks of Millrace', run: ownWebhooks },
  { point: 'H3', title: 'Kills from outside quarantine no function, and all events are handled', run: kills },
  { point: 'H3', title: 'A function whose process crashes three times is in quarantine', run: crashes },
  { point: 'H5', title: 'Refused writes and failed calls of one caller fill no storage', run: floods },
];
