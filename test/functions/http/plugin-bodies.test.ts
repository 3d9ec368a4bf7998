/** Invalid plugin bodies: each error has a pointer, and the active version is unchanged. */
import t from 'tap';
import { createPluginFixture, onePlugin } from '../../helpers/functions/plugin-fixture.ts';

t.test('Invalid plugin bodies are rejected and change nothing.', async (t) => {
  const { boss, services } = await createPluginFixture(t);
  await boss('PUT /admin/plugins/a', onePlugin('a'));
  const { manifest, files } = onePlugin('a');
  const of = (more: object) => ({ manifest, files, ...more });
  const [fn] = manifest.functions;
  const rows: readonly (readonly [body: unknown, code: string, error: object])[] = [
    [undefined, 'body-required', {}],
    [[], 'invalid-body', {}],
    [{ files }, 'invalid-body', { detail: /manifest/ }],
    [{ manifest }, 'invalid-body', { detail: /files/ }],
    [of({ more: 1 }), 'invalid-body', { errors: [{ pointer: '/more' }] }],
    [of({ files: { 'total.ts': 1 } }), 'invalid-body', { errors: [{ pointer: '/files/total.ts' }] }],
    [of({ files: ['export default 1'] }), 'invalid-body', { errors: [{ pointer: '/files' }] }],
    [of({ note: 'x'.repeat(501) }), 'invalid-body', { errors: [{ pointer: '/note' }] }],
    [of({ manifest: 'text' }), 'invalid-plugin', { errors: [{ pointer: '/manifest' }] }],
    [of({ manifest: { ...manifest, name: 'b' } }), 'invalid-plugin', { errors: [{ pointer: '/manifest/name' }] }],
    [
      of({ manifest: { ...manifest, functions: [{ ...fn, file: 'x.ts' }] } }),
      'invalid-plugin',
      {
        errors: [{ pointer: '/manifest/functions/0/file', detail: /x\.ts/ }],
      },
    ],
    [
      of({ manifest: { ...manifest, functions: [fn, { ...fn, name: 'again' }] } }),
      'invalid-plugin',
      {
        errors: [{ pointer: '/manifest/functions/1/http', detail: /'again' and 'total' both serve POST/ }],
      },
    ],
    [of({ files: { ...files, '../x.ts': '' } }), 'invalid-plugin', { errors: [{ pointer: '/files/..~1x.ts' }] }],
    [
      of({ files: { 'total.ts': 'export default (\n  a: number =>' } }),
      'invalid-plugin',
      {
        detail: /total\.ts:2:\d+: /,
        errors: [{ pointer: '/files/total.ts', file: 'total.ts', line: 2, column: Number }],
      },
    ],
    [
      of({ files: { ...files, 'lib/e.ts': 'enum A {}' } }),
      'invalid-plugin',
      {
        errors: [{ pointer: '/files/lib~1e.ts', file: 'lib/e.ts', line: 1, column: 1 }],
      },
    ],
    [of({ files: { ...files, 'x.js': 'x'.repeat(1_048_577) } }), 'invalid-plugin', { detail: /1048576/ }],
    [of({ files: { ...files, 'x.js': 'x'.repeat(3_200_000) } }), 'body-too-large', {}],
  ];
  const before = await boss('GET /admin/plugins/a');
  for (const [body, code, error] of rows) {
    const response = await boss('PUT /admin/plugins/a', body as object);
    t.match(
      response.json(),
      { code, ...error },
      `${JSON.stringify(body)?.slice(0, 100)}: ${response.body.slice(0, 300)}`,
    );
  }
  for (const body of [undefined, {}, { enabled: 1 }, { enabled: true, name: 'b' }, []]) {
    t.ok((await boss('PATCH /admin/plugins/a', body)).statusCode >= 400, JSON.stringify(body));
  }
  const typed = await boss('PUT /admin/plugins/a', 'text', { 'content-type': 'text/plain' });
  t.match(typed.json(), { code: 'unsupported-media-type' });
  t.match((await boss('GET /admin/plugins?all=1')).json(), { code: 'unknown-parameter' });
  const after = await boss('GET /admin/plugins/a');
  t.strictSame(after.json(), before.json());
  t.equal(after.headers.etag, before.headers.etag);
  t.equal((await boss('GET /admin/plugins/a/versions')).json().length, 1);
  t.equal(services.functions.active.find('a/total')?.plugin.version, '1');
  const large = of({ files: { ...files, 'x.js': '"'.repeat(1_040_000) } });
  t.equal((await boss('PUT /admin/plugins/a', large)).statusCode, 200, 'a megabyte is longer as JSON');
});
