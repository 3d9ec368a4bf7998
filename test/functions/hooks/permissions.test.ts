/**
 * What write hooks can do: read as the writer or as themselves, inside the transaction of the write, without writing. They also
 * run for writes of other functions. Each rejection and failure is stored as a run.
 */
import t from 'tap';
import { createPluginFixture } from '../../helpers/functions/plugin-fixture.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const ALL = ['create', 'read', 'update', 'delete'];

t.test('Write hooks read within the transaction, write nothing, and record their failures.', async (t) => {
  const fixture = await createPluginFixture(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const { services, boss, somebody } = fixture;
  await beOwned(services);
  withPolicies(services, [
    { resources: ['orders', 'lines', 'asked', 'log'], actions: ALL },
    { resources: ['stock'], actions: ['read'], principals: { roles: ['keeper'] } },
  ]);
  const put = async (name: string, files: Record<string, string>, functions: readonly object[]) => {
    const response = await boss(`PUT /admin/plugins/${name}`, { manifest: { name, functions }, files });
    t.equal(response.statusCode < 300, true, response.body);
  };
  const before = (...collections: string[]) => ({ beforeWrite: { collections } });
  const stock = services.mongo.data.collection<{ _id: string; left: number }>('stock');
  await stock.insertOne({ _id: 'a', left: 1 });

  await t.test('Write hooks read as themselves or as the writer.', async (t) => {
    const code = `export default async ({ document }, ctx) => {
      const item = await ctx.documents('stock').get('a').catch((error) => ({ left: error.code }));
      return { ...document, left: item.left, who: ctx.principal };
    };`;
    await put('reading', { 'a.ts': code }, [
      { name: 'own', file: 'a.ts', ...before('orders'), as: 'function', roles: ['keeper'] },
      { name: 'callers', file: 'a.ts', ...before('lines') },
    ]);
    t.match((await somebody('POST /api/orders', {})).json(), {
      left: 1,
      who: { kind: 'function', id: 'reading/own', roles: ['keeper'] },
    });
    t.match((await somebody('POST /api/lines', {})).json(), { left: 'forbidden', who: { kind: 'user', id: 'u1' } });
    t.match((await boss('POST /api/lines', {})).json(), { left: 1, who: { kind: 'admin' } });
  });

  await t.test('A write hook sees earlier writes of the same batch.', async (t) => {
    const code = `export default async ({ document }, ctx) => {
      const order = await ctx.documents('orders').get(document.order);
      if (order === null) throw new Refusal('There is no such order');
    };`;
    await put('reading', { 'a.ts': code }, [{ name: 'lines', file: 'a.ts', ...before('lines') }]);
    const line = { method: 'POST', path: '/api/lines', body: { order: 'o1' } };
    const order = { method: 'POST', path: '/api/orders', body: { id: 'o1' } };
    t.equal((await somebody('POST /batch', { operations: [line, order] })).json().code, 'rejected-by-function');
    t.equal((await somebody('POST /batch', { operations: [order, line] })).statusCode, 200);
  });

  await t.test('A write hook cannot write.', async (t) => {
    const code = `export default async ({ document }, ctx) => {
      const log = ctx.documents('log');
      const tried = [
        () => log.create({ n: 1 }),
        () => log.replace('l', { n: 2 }),
        () => log.patch('l', { n: 2 }),
        () => log.update('l', { $inc: { n: 1 } }),
        () => log.remove('l'),
        () => ctx.batch([{ method: 'POST', path: '/api/log', body: {} }]),
        () => ctx.files.create({ name: 'a', type: 'text/plain', body: 'a' }),
        () => ctx.schedule('later', {}),
      ];
      const codes = [];
      for (const write of tried) codes.push(await write().then(() => 'done', (error) => error.code));
      return { ...document, codes };
    };`;
    await put('reading', { 'a.ts': code }, [{ name: 'writes', file: 'a.ts', ...before('asked') }]);
    await somebody('POST /api/log', { id: 'l', n: 1 });
    const { codes } = (await boss('POST /api/asked', {})).json();
    t.strictSame(
      codes,
      Array.from({ length: 8 }, () => 'forbidden'),
    );
    t.match((await somebody('GET /api/log')).json(), [{ id: 'l', n: 1 }]);
  });

  await t.test('Write hooks run for writes of other functions.', async (t) => {
    const writing = `export default async (input, ctx) => ctx.documents('orders').create({ id: 'made' });`;
    const seeing = 'export default ({ document }, ctx) => ({ ...document, by: ctx.principal.id });';
    await put('reading', { 'a.ts': writing, 'b.ts': seeing }, [
      { name: 'write', file: 'a.ts', http: { method: 'POST', path: '/write' }, as: 'function' },
      { name: 'see', file: 'b.ts', ...before('orders') },
    ]);
    const fn = services.functions.active.find('reading/write');
    if (fn === undefined) throw new Error('It is not active');
    const report = await services.functions.calls.call({
      fn,
      input: '{}',
      run: { id: 'run_test', attempt: 1, depth: 0, restricted: false },
      caller: null,
      within: null,
      mayWrite: true,
    });
    t.equal(report.outcome.kind, 'value', JSON.stringify(report.outcome));
    t.match((await somebody('GET /api/orders/made')).json(), { by: 'reading/write' });
  });

  await t.test('Rejections and failures of write hooks are stored as runs.', async (t) => {
    const code = `export default ({ document }) => {
      if (document.n === 1) throw new Refusal('No', { code: 'no' });
      throw new Error('broken');
    };`;
    await put('reading', { 'a.ts': code }, [{ name: 'kept', file: 'a.ts', ...before('orders') }]);
    await somebody('POST /api/orders', { n: 1 });
    await somebody('POST /api/orders', { n: 2 });
    const runs = services.mongo.log.collection('runs');
    await until(async () => (await runs.countDocuments({ function: 'kept' })) === 2, 'both runs are stored');
    t.match(await runs.find({ function: 'kept' }).sort({ state: 1 }).toArray(), [
      {
        plugin: 'reading',
        kind: 'beforeWrite',
        state: 'failed',
        error: { code: 'function-failed', message: /broken/ },
      },
      { plugin: 'reading', kind: 'beforeWrite', state: 'rejected', error: { code: 'no', message: 'No' } },
    ]);
  });
});
