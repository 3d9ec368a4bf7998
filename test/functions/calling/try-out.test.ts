/** Dry runs over HTTP, in the sandbox: every kind, rolled back, with all operations listed. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { nextRow } from '../../helpers/events/log-rows.ts';
import { emptyFolder } from '../../helpers/functions/plugin-fixture.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

const SECRET = 'sk_live_4eC39HqLyjWDarjtT1zdP7dc';

const FILES = {
  'endpoint.js': `export default async (input, ctx) => {
    const orders = ctx.documents('orders');
    const created = await orders.create({ id: 'new', who: ctx.principal.kind });
    await orders.patch('old', { n: 2 });
    await ctx.files.create({ name: 'a.txt', type: 'text/plain', body: 'text' });
    await ctx.schedule('job', { n: 1 }, { after: 1000 });
    console.log('key ' + ctx.secrets.KEY);
    return { input, read: await orders.get('new'), created, key: ctx.secrets.KEY };
  }`,
  'respond.js': `export default () => Response.json({ ok: true }, { status: 202 })`,
  'trigger.js': `export default async (event, ctx) => {
    await ctx.documents('orders').update('old', { $inc: { n: 1 } });
    return event.type;
  }`,
  'cron.js': `export default async ({ scheduledAt }, ctx) => { await ctx.documents('orders').remove('old'); return scheduledAt; }`,
  'before.js': `export default async ({ document }, ctx) => {
    if (document.bad) throw new Refusal('No', { code: 'bad', pointer: '/bad' });
    const refused = await ctx.documents('orders').create({}).catch((error) => error.code);
    return { ...document, refused };
  }`,
  'job.js': `export default (input) => { throw new Error('job of ' + input) }`,
};
const MANIFEST = {
  name: 'tried',
  secrets: ['KEY'],
  functions: [
    { name: 'endpoint', file: 'endpoint.js', http: { method: 'POST', path: '/tried' } },
    { name: 'respond', file: 'respond.js', http: { method: 'GET', path: '/tried' } },
    { name: 'trigger', file: 'trigger.js', on: ['orders.created'], roles: ['clerk'] },
    { name: 'cron', file: 'cron.js', cron: '0 3 * * *' },
    { name: 'before', file: 'before.js', beforeWrite: { collections: ['others'] } },
    { name: 'job', file: 'job.js', job: true },
  ],
};

t.test('Dry runs roll back their writes and list their operations.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: '' });
  const boss = await signInAdmin(app, services);
  // A trigger has a start position: earlier events must have been passed.
  const passed = nextRow(
    services.events.tail,
    ({ collection, operation }) => collection === 'orders' && operation === 'insert',
  );
  await ask(app, 'POST /api/orders', { id: 'old', n: 1 }, boss);
  await passed;
  const orders = services.mongo.data.collection<{ _id: string }>('orders');
  const draft = { manifest: MANIFEST, files: FILES };
  const tried = async (fn: string, input: unknown = null, more: object = {}) => {
    const response = await ask(app, 'POST /admin/plugins/tried/dry-run', { function: fn, input, ...more }, boss);
    return { status: response.statusCode, ...response.json() };
  };

  t.match(await tried('endpoint'), { status: 404, code: 'plugin-not-found' });

  await t.test('An unsaved plugin can be dry-run.', async (t) => {
    const { operations, ...reported } = await tried(
      'endpoint',
      { a: [1] },
      { ...draft, principal: { kind: 'user', id: 'u1' } },
    );
    t.match(reported, {
      status: 200,
      result: {
        input: { a: [1] },
        created: { id: 'new', who: 'user', _meta: { createdBy: 'u1' } },
        read: { id: 'new' },
      },
      durationMs: Number,
    });
    t.match(operations, [
      { operation: 'documents.create', target: 'orders', error: null, written: { id: 'new', who: 'user' } },
      { operation: 'documents.patch', target: 'orders/old', error: null, written: { n: 2 } },
      { operation: 'files.create', target: 'a.txt', written: { name: 'a.txt', type: 'text/plain', text: 'text' } },
      { operation: 'schedule', target: 'job', written: { name: 'job', input: { n: 1 }, after: 1000 } },
      { operation: 'documents.get', target: 'orders/new', written: null },
    ]);
    t.match(await orders.find().toArray(), [{ _id: 'old', n: 1 }]);
    t.equal(await services.mongo.data.collection('_files').countDocuments(), 0);
    t.match(await ask(app, 'GET /admin/plugins/tried', undefined, boss), { statusCode: 404 });
  });

  await ask(app, 'PUT /admin/plugins/tried', draft, boss);
  await ask(app, 'PUT /admin/plugins/tried/secrets/KEY', { value: SECRET }, boss);

  await t.test('The stored version can be dry-run, for every kind of function.', async (t) => {
    const endpoint = await tried('endpoint');
    t.match(endpoint, {
      result: { key: '[secret]', created: { who: 'admin' } },
      logs: [{ level: 'info', text: 'key [secret]' }],
    });
    t.notMatch(JSON.stringify(endpoint), SECRET);
    t.match(await tried('respond'), { result: { status: 202, body: '{"ok":true}' } });
    const event = { type: 'orders.created' };
    t.match(await tried('trigger', event), { result: 'orders.created', operations: [{ written: { $inc: { n: 1 } } }] });
    t.match(await tried('cron', { scheduledAt: 'now' }), {
      result: 'now',
      operations: [{ operation: 'documents.remove', target: 'orders/old', error: null, written: null }],
    });
    const write = { action: 'create', collection: 'others', document: { a: 1 }, before: null };
    t.match(await tried('before', write), {
      result: { a: 1, refused: 'forbidden' },
      operations: [{ operation: 'documents.create', error: 'forbidden' }],
    });
    t.match(await tried('before', { ...write, document: { bad: true } }), { error: { code: 'bad', message: 'No' } });
    t.match(await tried('job', 'x'), { error: { code: 'function-failed', message: /job of x/, stack: /job\.js:1/ } });
    t.match(await orders.find().toArray(), [{ _id: 'old', n: 1 }]);
  });

  await t.test('Unsaved scripts of a stored plugin can be dry-run.', async (t) => {
    const files = { ...FILES, 'respond.js': 'export default () => 7' };
    t.match(await tried('respond', null, { files }), { result: 7 });
    t.match(await tried('respond'), { result: { status: 202 } }, 'nothing is stored');
    const wrong = await tried('respond', null, { files: { ...FILES, 'respond.js': 'export default (' } });
    t.match(wrong, { status: 400, code: 'invalid-plugin', errors: [{ pointer: '/files/respond.js' }] });
    t.match(await tried('nothing'), { status: 404, code: 'function-not-found' });
    t.match(await tried('respond', null, { other: 1 }), { status: 400, code: 'invalid-body' });
  });

  await t.test('Administrators with only the right to build can start dry runs.', async (t) => {
    const body = { function: 'respond', input: null };
    const viewer = await signInAdmin(app, services, ['viewer']);
    t.match(await ask(app, 'POST /admin/plugins/tried/dry-run', body, viewer), { statusCode: 403 });
    const developer = await signInAdmin(app, services, ['developer']);
    t.match(await ask(app, 'POST /admin/plugins/tried/dry-run', body, developer), { statusCode: 200 });
  });

  await t.test('A write that the database rejects ends a dry run as it ends a run.', async (t) => {
    const code = `export default async (_, ctx) => {
      await ctx.documents('orders').create({ id: 'old' }).catch(() => undefined);
      return 'caught';
    }`;
    const reported = await tried('respond', null, { files: { ...FILES, 'respond.js': code } });
    t.match(reported, {
      error: { code: 'function-failed', message: /^id-exists: / },
      operations: [{ error: 'id-exists' }],
    });
  });
});

t.test('An unsaved plugin that differs from the one in a folder does not get its secrets.', async (t) => {
  const folder = await emptyFolder(t);
  const http = { method: 'GET', path: '/spelled' };
  const manifest = { name: 'spelled', secrets: ['KEY'], functions: [{ name: 'spell', file: 'spell.js', http }] };
  const script = 'export default (_, ctx) => ({ key: ctx.secrets.KEY === undefined ? null : [...ctx.secrets.KEY] });';
  await mkdir(join(folder, 'spelled'));
  await writeFile(join(folder, 'spelled', 'spell.js'), script);
  await writeFile(join(folder, 'spelled', 'plugin.json'), JSON.stringify(manifest));
  const { app, services } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: folder });
  const [boss, developer] = [await signInAdmin(app, services), await signInAdmin(app, services, ['developer'])];
  t.equal((await ask(app, 'PUT /admin/plugins/spelled/secrets/KEY', { value: SECRET }, boss)).statusCode, 204);
  const key = async (draft: object) => {
    const body = { function: 'spell', input: null, ...draft };
    return (await ask(app, 'POST /admin/plugins/spelled/dry-run', body, developer)).json().result?.key ?? null;
  };
  const all = [...SECRET];
  t.strictSame(await key({}), all, 'what lies in the folder has them');
  t.strictSame(await key({ manifest, files: { 'spell.js': script } }), all, 'so has a draft that is the same');
  for (const [what, draft] of Object.entries({
    'another script': { files: { 'spell.js': `${script} ` } },
    'one more script': { files: { 'spell.js': script, 'more.js': 'export {}' } },
    'another manifest': { manifest: { ...manifest, fetch: ['example.org'] } },
  })) {
    t.equal(await key(draft), null, what);
  }
});
