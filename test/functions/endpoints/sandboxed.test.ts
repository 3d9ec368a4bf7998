/** Endpoints from a plugin of the database to an answer, with their code in the real sandbox; and what owners see of it. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';

const { app, parts } = await buildTestApp(t);

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
const made = await app.inject({ method: 'PUT', url: '/admin/plugins/shop', payload: { manifest, files } });
t.equal(made.statusCode, 201, made.body);
await until(
  async () => (await app.inject({ method: 'OPTIONS', url: '/fn/echo' })).statusCode === 204,
  'it is in force',
);

const keptRun = async (headers: Record<string, unknown>) => {
  const url = `/admin/runs/${headers['millrace-run']}`;
  await until(async () => (await app.inject(url)).statusCode === 200, 'the run is kept');
  return (await app.inject(url)).json();
};

t.test('a call reads and writes documents as its caller', async (t) => {
  await app.inject({ method: 'POST', url: '/api/invoices', payload: { id: 'i1', lines: [1, 2, 4] } });
  const call = (id: string) => app.inject({ method: 'POST', url: `/fn/invoice/${id}/total`, payload: { factor: 2 } });
  const answer = await call('i1');
  t.strictSame([answer.statusCode, answer.json()], [200, { total: 14, who: 'anonymous' }]);
  t.match((await app.inject('/api/invoices/i1')).json(), { total: 14 });
  const none = await call('i2');
  t.strictSame([none.statusCode, none.json(), none.headers['x-why']], [404, { reason: 'none' }, 'gone']);
});

t.test('the input arrives as it is described', async (t) => {
  const headers = { 'content-type': 'text/plain', cookie: 'c=1' };
  const bad = { ...headers, authorization: 'Bearer x' };
  const payload = 'ü\u2028';
  const refused = await app.inject({ method: 'POST', url: '/fn/echo', headers: bad, payload });
  t.equal(refused.statusCode, 401, 'a bad credential is refused here as everywhere');
  const url = '/fn/echo?a=1&a=2';
  const answer = await app.inject({ method: 'POST', url, headers, payload });
  t.match(answer.json(), { method: 'POST', path: '/echo', query: { a: ['1', '2'] }, body: 'ü\u2028', text: 'ü\u2028' });
  t.notOk('cookie' in answer.json().headers);
});

t.test('what it logs is kept with its run', async (t) => {
  const answer = await app.inject('/fn/log');
  t.strictSame([answer.statusCode, answer.body], [204, '']);
  const run = await keptRun(answer.headers);
  t.match(run, {
    state: 'ok',
    logs: [
      { level: 'info', text: 'hello 1' },
      { level: 'warn', text: 'careful' },
    ],
  });
});

t.test('a failure says where, and one that does not end is ended', async (t) => {
  const failed = await app.inject('/fn/fail');
  t.match(failed.json(), { status: 500, code: 'function-failed', detail: /no such luck/ });
  t.match((await keptRun(failed.headers)).error, { code: 'function-failed', stack: /fail\.ts:2/ });
  const endless = await app.inject('/fn/loop');
  t.match(endless.json(), { status: 504, code: 'function-timeout' });
  t.equal((await app.inject('/fn/log')).statusCode, 204, 'the next call is answered');
});

t.test('a page runs no scripts, and sets no cookie', async (t) => {
  const { headers, body } = await app.inject('/fn/page');
  t.equal(body, '<script>1</script>');
  t.match(headers['content-type'], /^text\/html/);
  t.match(headers['content-security-policy'], /sandbox$/);
  t.equal(headers['set-cookie'], undefined);
});

t.test('the list of plugins counts what ran', async (t) => {
  const { functions } = (await app.inject('/admin/plugins/shop')).json();
  const counts = new Map(functions.map((one: { name: string; runs: object }) => [one.name, one.runs]));
  t.match(counts.get('fail'), { ok: 0, failed: 1 });
  t.match(counts.get('total'), { ok: 2, failed: 0, p95Ms: Number });
  t.equal((await parts.functions.runs.counts.of(['shop/loop'])).get('shop/loop')?.failed, 1);
});

t.test('Bytes of a Response arrive as they are.', async (t) => {
  for (const [path, type] of [
    ['/fn/bytes', 'image/png'],
    ['/fn/blob', 'application/octet-stream'],
  ]) {
    const answer = await app.inject(String(path));
    t.same(answer.rawPayload, Buffer.from([0, 255, 1]), String(path));
    t.match(answer.headers, { 'content-type': type, 'content-length': '3', 'x-content-type-options': 'nosniff' });
    t.equal((await app.inject({ method: 'HEAD', url: String(path) })).headers['content-type'], type);
  }
});
