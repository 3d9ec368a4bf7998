/**
 * Each host operation once, and the other globals, through HTTP functions of a plugin stored over HTTP: in the real sandbox, with
 * real documents and files.
 */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { HOST_OPERATIONS } from '../../../src/functions/sandbox/sandbox.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { uploadOne } from '../../helpers/files/upload.ts';
import { until } from '../../helpers/until.ts';

const FILES = {
  'refused.ts': `export const refused = (asked) => asked.then(
    () => 'It was not refused',
    (error) => [error instanceof MillraceError && error.name, error.code, error.status, error.details.errors?.[0]?.pointer ?? ''].join(' '),
  );`,
  'documents.ts': `import { refused } from './refused.ts';
    export default async (input, ctx) => {
      console.log('begun');
      const notes = ctx.documents('notes');
      const created = await notes.create({ id: 'a', text: 'one', n: 1 });
      await notes.create({ id: 'b', text: 'two', n: 2 });
      // An answer to a batch has the entity tags of what it has written.
      const tagged = async (method, id, body) =>
        (await ctx.batch([{ method, path: '/api/notes/' + id, body }])).results[0].headers.etag;
      const first = await tagged('PUT', 'a', { text: 'eins' });
      const replaced = await notes.replace('a', { text: 'uno', n: 1 }, { ifMatch: first });
      const patched = await notes.patch('a', { n: 5 });
      const listed = await notes.patch('a', [{ op: 'add', path: '/tags', value: ['x'] }]);
      const updated = await notes.update('a', { $inc: { n: 2 } });
      const page = await notes.list({ filter: { n: { $gte: 2 } }, sort: '-n', limit: 1, fields: ['n'] });
      const rest = await notes.list({ filter: { n: { $gte: 2 } }, sort: '-n', limit: 1, fields: ['n'], cursor: page.next });
      const batch = await ctx.batch([
        { method: 'POST', path: '/api/notes', body: { id: 'c', n: 3 } },
        { method: 'DELETE', path: '/api/notes/b' },
      ]);
      const count = await notes.count({ n: { $gte: 3 } });
      const refusals = [
        await refused(notes.create({ id: 'a' })),
        await refused(notes.patch('a', { n: 0 }, { ifMatch: first })),
        await refused(notes.replace('none', {}, { ifMatch: '*' })),
        await refused(notes.update('a', { $wrong: {} })),
        await refused(notes.create({ deep: { ['__proto__']: 1 } })),
        await refused(notes.remove('none')),
        await refused(ctx.batch([{ method: 'POST', path: '/api/notes', body: { id: 'd' } }, { method: 'DELETE', path: '/api/notes/none' }])),
      ];
      const removed = await notes.remove('c', { ifMatch: await tagged('PUT', 'c', { n: 4 }) });
      return {
        created, replaced: replaced.text, patched: patched.n, listed: listed.tags, updated: updated.n, page: page.items, rest, count,
        batch: batch.results.map(({ status }) => status), refusals,
        left: [await notes.get('a'), await notes.get('b'), await notes.get('c'), await notes.get('d')].map((one) => one?.n ?? null),
        removed: removed === undefined,
      };
    };`,
  'files.ts': `import { refused } from './refused.ts';
    export default async ({ body }, ctx) => {
      console.log('begun');
      const created = await ctx.files.create({ name: 'a.txt', type: 'text/plain', body: 'h\\u00e9' });
      const binary = await ctx.files.create({ name: 'b', body: new Uint8Array([0, 255, 1]) });
      const found = await ctx.files.get(created.id);
      const refusals = [
        await refused(ctx.files.bytes(body.large)),
        await refused(ctx.files.text(body.large)),
        await refused(ctx.files.text('none')),
        await refused(ctx.files.create({ name: 'c', body: 'x'.repeat(1_048_577) })),
      ];
      const answer = {
        same: found.id === created.id, size: found.size, text: await ctx.files.text(created.id),
        bytes: [...(await ctx.files.bytes(binary.id))], refusals,
      };
      await ctx.files.remove(created.id);
      return { ...answer, removed: await ctx.files.get(created.id), kept: binary.id };
    };`,
  'fetch.ts': `import { refused } from './refused.ts';
    export default async ({ body: { base } }, ctx) => {
      console.log('begun');
      const headers = { 'X-Own': 'y', 'content-type': 'application/json' };
      const sent = await ctx.fetch(base + '/echo', { method: 'POST', headers, body: JSON.stringify({ a: 'h\\u00e9' }) });
      const bytes = await ctx.fetch(new URL('/bytes', base));
      return {
        sent: [sent.status, sent.ok, sent.headers['x-got'], await sent.json()],
        bytes: [bytes.status, bytes.ok, [...(await bytes.bytes())], (await bytes.text()).length],
        slow: await refused(ctx.fetch(base + '/never', { timeoutMs: 50 })),
        elsewhere: await refused(ctx.fetch('http://127.0.0.1:1/')),
      };
    };`,
  'plugin.ts': `import { refused } from './refused.ts';
    export default async (input, ctx) => console.log('begun') ?? ({
      hex: await ctx.hmac('KEY', 'a text'), base64: await ctx.hmac('KEY', 'a text', 'base64'),
      none: await refused(ctx.hmac('OTHER', 'a text')), wrong: await refused(ctx.hmac('KEY', 'a text', { key: 'hex' })),
      same: (await ctx.hmac('KEY', 'a text', { key: 'utf8', encoding: 'base64' })) === (await ctx.hmac('KEY', 'a text', 'base64')),
      secret: ctx.secrets.KEY, unset: ctx.secrets.UNSET ?? null,
      job: await ctx.schedule('later', { n: 7 }), missing: await refused(ctx.schedule('never')),
      principal: ctx.principal, own: ctx.run, now: ctx.now() instanceof Date,
      frozen: Object.isFrozen(ctx) && Object.isFrozen(ctx.run) && Object.isFrozen(ctx.secrets),
    });`,
  'later.ts': `export default (input, ctx) => ctx.documents('laters').create({ ...input, run: ctx.run.id });`,
  'globals.ts': `export default async (input, ctx) => {
      console.log('info', 1, { a: [true] });
      console.info('info too');
      console.warn('careful', null);
      console.error(new Error('seen'));
      ctx.log.info('a'); ctx.log.warn('b'); ctx.log.error('c');
      const url = new URL('../c?q=1#h', 'https://ann@example.org:8443/a/b/');
      url.searchParams.append('r', 'h\\u00e9');
      const order = [];
      const waited = new Promise((resolve) => setTimeout((word) => resolve(order.push(word)), 20, 'late'));
      clearTimeout(setTimeout(() => order.push('never'), 1));
      order.push('soon');
      await waited;
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc')));
      return {
        url: [url.href, url.host, url.searchParams.get('r'), URL.canParse('no'), new URLSearchParams({ a: 'b c' }).toString()],
        bytes: [...new TextEncoder().encode('h\\u00e9')], text: new TextDecoder().decode(new Uint8Array([104, 195, 169])),
        base64: [btoa('hi'), atob('aGk=')], clone: structuredClone({ at: new Date(0) }).at.getTime(), order,
        digest: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
        uuid: crypto.randomUUID(), random: new Set(crypto.getRandomValues(new Uint8Array(64))).size,
      };
    };`,
};
const NAMES = ['documents', 'files', 'fetch', 'plugin', 'globals'];
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

const server = createServer((request, response) => {
  if (request.url === '/never') return;
  if (request.url === '/bytes') return void response.writeHead(404).end(Buffer.from([0, 255]));
  response.writeHead(201, { 'x-got': `${request.method} ${request.headers['x-own']}` });
  request.pipe(response);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo;
const { app } = await buildTestApp(t, { MILLRACE_EGRESS_ALLOW: '127.0.0.1/32' });

const functions = NAMES.map((name) => ({
  name: `use-${name}`,
  file: `${name}.ts`,
  http: { method: 'POST', path: `/all/${name}` },
}));
const manifest = {
  name: 'all',
  functions: [...functions, { name: 'later', file: 'later.ts', job: true, roles: ['later'] }],
  fetch: [`127.0.0.1:${port}`],
  secrets: ['KEY', 'UNSET'],
};
const created = await app.inject({ method: 'PUT', url: '/admin/plugins/all', payload: { manifest, files: FILES } });
if (created.statusCode !== 201) throw new Error(created.body);
const secret = { method: 'PUT', url: '/admin/plugins/all/secrets/KEY', payload: { value: 'a key' } } as const;
await app.inject(secret);

/** The operations of the functions, from their run records. */
const requested = new Set<string>();

/** Calls an HTTP function. It logs, so its run is stored. */
async function call(name: string, payload: object = {}) {
  const response = await app.inject({ method: 'POST', url: `/fn/all/${name}`, payload });
  t.equal(response.statusCode, 200, `${name}: ${response.body}`);
  const url = `/admin/runs/${response.headers['millrace-run']}`;
  await until(async () => (await app.inject(url)).statusCode === 200, 'the run is stored');
  const run = (await app.inject(url)).json();
  for (const { operation } of run.operations) requested.add(operation);
  return { ...response.json(), run };
}

t.test('Every document operation works in the sandbox.', async (t) => {
  const response = await call('documents');
  t.match(response, {
    created: { id: 'a', text: 'one', n: 1, _meta: { revision: 1 } },
    replaced: 'uno',
    patched: 5,
    listed: ['x'],
    updated: 7,
    rest: { items: [{ id: 'b', n: 2 }], next: null },
    count: 2,
    batch: [201, 204],
    removed: true,
  });
  t.strictSame(response.page, [{ id: 'a', n: 7 }]);
  t.strictSame(response.left, [7, null, null, null]);
  t.strictSame(response.refusals, [
    'MillraceError id-exists 409 ',
    'MillraceError precondition-failed 412 ',
    'MillraceError precondition-failed 412 ',
    'MillraceError invalid-patch 400 ',
    'MillraceError unsupported-field-name 400 /deep/__proto__',
    'MillraceError document-not-found 404 ',
    'MillraceError document-not-found 404 /operations/1',
  ]);
});

t.test('Every file operation works in the sandbox.', async (t) => {
  const large = await uploadOne(app, { bytes: Buffer.alloc(5 * 1_048_576 + 1) });
  const response = await call('files', { large: large.id });
  t.match(response, { same: true, size: 3, text: 'h\u00e9', bytes: [0, 255, 1], removed: null });
  t.strictSame(response.refusals, [
    'MillraceError function-limits-exceeded 400 ',
    'MillraceError function-limits-exceeded 400 ',
    'MillraceError file-not-found 404 ',
    'MillraceError function-limits-exceeded 400 ',
  ]);
  t.equal((await app.inject(`/files/${response.kept}/b`)).rawPayload.length, 3);
});

t.test('Functions fetch from allowed hosts.', async (t) => {
  const response = await call('fetch', { base: `http://127.0.0.1:${port}` });
  t.match(response, {
    sent: [201, true, 'POST y', { a: 'h\u00e9' }],
    bytes: [404, false, [0, 255], 2],
    slow: 'MillraceError fetch-failed 502 ',
    elsewhere: 'MillraceError fetch-not-allowed 403 ',
  });
});

t.test('Functions see their plugin and call, and schedule jobs.', async (t) => {
  const response = await call('plugin');
  const signed = createHmac('sha256', 'a key').update('a text');
  const hex = signed.digest('hex');
  const { run, job } = response;
  t.match(response, {
    hex,
    base64: Buffer.from(hex, 'hex').toString('base64'),
    none: 'MillraceError invalid-parameter 400 ',
    wrong: 'MillraceError invalid-parameter 400 ',
    same: true,
    secret: 'a key',
    unset: null,
    missing: 'MillraceError function-not-found 404 ',
    principal: { kind: 'anonymous', id: null, roles: [] },
    own: { id: run.id, key: run.id, attempt: 1, function: 'all/use-plugin', version: '1' },
    now: true,
    frozen: true,
  });
  const laters = async () => (await app.inject('/api/laters')).json();
  const ended = async () => (await app.inject(`/admin/runs/${job.id}`)).json();
  await until(async () => (await ended()).state === 'succeeded', 'the job has run');
  t.match(await ended(), { kind: 'job', attempts: 1, function: 'later' });
  t.match(await laters(), [{ n: 7, run: job.id }], 'once');
  t.strictSame((await app.inject('/admin/jobs')).json(), []);
});

t.test('The documented globals work in the sandbox.', async (t) => {
  const response = await call('globals');
  t.match(response, {
    url: ['https://ann@example.org:8443/a/c?q=1&r=h%C3%A9#h', 'example.org:8443', 'h\u00e9', false, 'a=b+c'],
    bytes: [104, 195, 169],
    text: 'h\u00e9',
    base64: ['aGk=', 'hi'],
    clone: 0,
    order: ['soon', 'late'],
    digest: ABC,
    uuid: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  });
  t.ok(response.random > 32);
  t.match(response.run.logs, [
    { level: 'info', text: 'info 1 {"a":[true]}' },
    { level: 'info', text: 'info too' },
    { level: 'warn', text: 'careful null' },
    { level: 'error', text: /^Error: seen\n +at .*globals\.ts:5/ },
    { level: 'info', text: 'a' },
    { level: 'warn', text: 'b' },
    { level: 'error', text: 'c' },
  ]);
});

t.test('Every host operation is tested.', async (t) => {
  t.strictSame([...requested].sort(), [...HOST_OPERATIONS].sort());
});
