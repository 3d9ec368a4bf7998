/** HTTP functions of a stored plugin, with their code in the real sandbox; and the views of administrators. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';

const { app, services } = await buildTestApp(t);

const files = {
  'total.ts': `
    import { sum } from './lib/sum.ts';
    export default (async ({ params, body }, ctx) => {
      const invoice = await ctx.documents('invoices').get(params.id);
      if (invoice === null) return Response.json({ reason: 'none' }, { status: 404, headers: { 'x-why': 'gone' } });
      const total: number = sum(invoice.lines) * body.factor;
      await ctx.documents('invoices').patch(params.id, { total });
      return { total, who: ctx.principal.kind };
    });`,
  'lib/sum.ts': 'export const sum = (lines: number[]) => lines.reduce((a, b) => a + b, 0);',
  'echo.ts': 'export default (input) => input;',
  'log.ts': "export default (input, ctx) => { console.log('hello', 1); ctx.log.warn('careful'); };",
  'fail.ts': "export default () => {\n  throw new Error('no such luck');\n};",
  'loop.ts': 'export default () => { for (;;); };',
  'page.ts':
    "export default () => new Response('<script>1</script>', { headers: { 'content-type': 'text/html', 'set-cookie': 'a=b' } });",
};
Object.assign(files, {
  'bytes.ts':
    "export default () => new Response(new Uint8Array([0, 255, 1]), { headers: { 'content-type': 'image/png' } });",
  'blob.ts': 'export default () => new Response(new Blob([new Uint8Array([0, 255, 1])]));',
});
const fn = (name: string, method: string, path: string) => ({ name, file: `${name}.ts`, http: { method, path } });
const manifest = {
  name: 'shop',
  functions: [
    fn('total', 'POST', '/invoice/:id/total'),
    fn('echo', 'POST', '/echo'),
    fn('log', 'GET', '/log'),
    fn('fail', 'GET', '/fail'),
    { ...fn('loop', 'GET', '/loop'), timeoutMs: 3_000 },
    fn('page', 'GET', '/page'),
    fn('bytes', 'GET', '/bytes'),
    fn('blob', 'GET', '/blob'),
  ],
};
const created = await app.inject({ method: 'PUT', url: '/admin/plugins/shop', payload: { manifest, files } });
t.equal(created.statusCode, 201, created.body);
await until(async () => (await app.inject({ method: 'OPTIONS', url: '/fn/echo' })).statusCode === 204, 'it is active');

const keptRun = async (headers: Record<string, unknown>) => {
  const url = `/admin/runs/${headers['millrace-run']}`;
  await until(async () => (await app.inject(url)).statusCode === 200, 'the run is stored');
  return (await app.inject(url)).json();
};

t.test('An HTTP function reads and writes documents as its caller.', async (t) => {
  await app.inject({ method: 'POST', url: '/api/invoices', payload: { id: 'i1', lines: [1, 2, 4] } });
  const call = (id: string) => app.inject({ method: 'POST', url: `/fn/invoice/${id}/total`, payload: { factor: 2 } });
  const response = await call('i1');
  t.strictSame([response.statusCode, response.json()], [200, { total: 14, who: 'anonymous' }]);
  t.match((await app.inject('/api/invoices/i1')).json(), { total: 14 });
  const none = await call('i2');
  t.strictSame([none.statusCode, none.json(), none.headers['x-why']], [404, { reason: 'none' }, 'gone']);
});

t.test('The input has the documented form.', async (t) => {
  const headers = { 'content-type': 'text/plain', cookie: 'c=1' };
  const bad = { ...headers, authorization: 'Bearer x' };
  const payload = 'ü\u2028';
  const refused = await app.inject({ method: 'POST', url: '/fn/echo', headers: bad, payload });
  t.equal(refused.statusCode, 401, 'an invalid credential is rejected here as everywhere');
  const url = '/fn/echo?a=1&a=2';
  const response = await app.inject({ method: 'POST', url, headers, payload });
  t.match(response.json(), {
    method: 'POST',
    path: '/echo',
    query: { a: ['1', '2'] },
    body: 'ü\u2028',
    text: 'ü\u2028',
  });
  t.notOk('cookie' in response.json().headers);
});

t.test('Log lines are stored with the run.', async (t) => {
  const response = await app.inject('/fn/log');
  t.strictSame([response.statusCode, response.body], [204, '']);
  const run = await keptRun(response.headers);
  t.match(run, {
    state: 'succeeded',
    logs: [
      { level: 'info', text: 'hello 1' },
      { level: 'warn', text: 'careful' },
    ],
  });
});

t.test('A failure reports its location, and an endless function is stopped.', async (t) => {
  const failed = await app.inject('/fn/fail');
  t.match(failed.json(), { status: 500, code: 'function-failed', detail: /no such luck/ });
  t.match((await keptRun(failed.headers)).error, { code: 'function-failed', stack: /fail\.ts:2/ });
  const endless = await app.inject('/fn/loop');
  t.match(endless.json(), { status: 504, code: 'function-timeout' });
  t.equal((await app.inject('/fn/log')).statusCode, 204, 'the next call gets a response');
});

t.test('A page from a function runs no scripts and sets no cookie.', async (t) => {
  const { headers, body } = await app.inject('/fn/page');
  t.equal(body, '<script>1</script>');
  t.match(headers['content-type'], /^text\/html/);
  t.match(headers['content-security-policy'], /sandbox$/);
  t.equal(headers['set-cookie'], undefined);
});

t.test('The list of plugins counts runs.', async (t) => {
  const { functions } = (await app.inject('/admin/plugins/shop')).json();
  const counts = new Map(functions.map((one: { name: string; runs: object }) => [one.name, one.runs]));
  t.match(counts.get('fail'), { succeeded: 0, failed: 1 });
  t.match(counts.get('total'), { succeeded: 2, failed: 0, p95Ms: Number });
  t.equal((await services.functions.runs.counts.of(['shop/loop'])).get('shop/loop')?.failed, 1);
});

t.test('Bytes of a Response arrive unchanged.', async (t) => {
  for (const [path, type] of [
    ['/fn/bytes', 'image/png'],
    ['/fn/blob', 'application/octet-stream'],
  ]) {
    const response = await app.inject(String(path));
    t.same(response.rawPayload, Buffer.from([0, 255, 1]), String(path));
    t.match(response.headers, { 'content-type': type, 'content-length': '3', 'x-content-type-options': 'nosniff' });
    t.equal((await app.inject({ method: 'HEAD', url: String(path) })).headers['content-type'], type);
  }
});
