/** Scripts compile to JavaScript with unchanged positions, and every error has a location. */
import t from 'tap';
import { compileAndCheck, compileScripts } from '../../../src/functions/plugins/compile/compile.ts';
import { MAX_TOTAL_SCRIPT_BYTES } from '../../../src/functions/plugins/manifest/script-validation.ts';

const compiled = (files: Record<string, string>) => compileScripts(new Map(Object.entries(files)));

async function issuesOf(files: Record<string, string>) {
  const created = await compiled(files);
  return 'diagnostics' in created ? created.diagnostics : [];
}

t.test('Types are stripped and no position moves.', async (t) => {
  const files = {
    'a.ts': 'import type { X } from "./b.ts";\nexport default (async (x: X) => x!) satisfies unknown;',
    'lib/b.js': 'export const b = a < b > (c);',
    'c.mjs': 'export {}',
  };
  const created = await compiled(files);
  if ('diagnostics' in created) throw new Error(JSON.stringify(created.diagnostics));
  const { bundle } = created;
  t.equal(bundle.files.get('a.ts')?.split('\n')[1], 'export default (async (x   ) => x )                  ;');
  t.equal(bundle.files.get('a.ts')?.length, files['a.ts'].length);
  t.equal(bundle.files.get('lib/b.js'), files['lib/b.js'], 'JavaScript stays as it is');
  const same = await compiled({ 'c.mjs': files['c.mjs'], 'lib/b.js': files['lib/b.js'], 'a.ts': files['a.ts'] });
  t.equal('bundle' in same && same.bundle.id, bundle.id, 'the id names the content');
  const other = await compiled({ ...files, 'c.mjs': 'export { }' });
  t.not('bundle' in other && other.bundle.id, bundle.id);
  const moved = await compiled({ 'a.js': '1', 'b.js': '' });
  t.not(
    'bundle' in moved && moved.bundle.id,
    ((await compiled({ 'a.js': '', 'b.js': '1' })) as typeof created).bundle.id,
  );
});

t.test('Errors have locations.', async (t) => {
  t.match(await issuesOf({ 'a.ts': 'const a = 1;\n  const b: number = ;' }), [
    { file: 'a.ts', line: 2, column: 21, message: 'Expression expected' },
  ]);
  t.match(await issuesOf({ 'lib/a.ts': '\n\nenum A { B }', 'b.ts': 'class C { constructor(private x) {} }' }), [
    { file: 'lib/a.ts', line: 3, column: 1, message: /enum is not supported/ },
    { file: 'b.ts', line: 1, column: 31, message: /parameter property/ },
  ]);
  t.match(await issuesOf({ 'a.ts': 'export default async (x: string => 1' }), [{ file: 'a.ts', line: 1 }]);
});

t.test('A source that exhausts the parser is an error, and harms no other plugin.', async (t) => {
  for (const deep of ['('.repeat(200_000), `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'a<b<'.repeat(2_000)]) {
    const [issue] = await issuesOf({ 'deep.ts': deep });
    t.match(issue, { file: 'deep.ts', message: /cannot be parsed/ });
  }
  t.strictSame(await issuesOf({ 'a.ts': 'export default (a: number) => a' }), []);
});

t.test('Paths and sizes of scripts are limited.', async (t) => {
  const wrong = [
    '../a.ts',
    '/a.ts',
    'a/../b.ts',
    './a.ts',
    'a//b.ts',
    'a.json',
    'a',
    '.a.ts',
    'a\\b.ts',
    'a b.ts',
    'ä.ts',
    'a.d.ts',
  ];
  for (const path of [...wrong, `${'a/'.repeat(8)}a.ts`, `${'a'.repeat(126)}.ts`, '__proto__', 'a.ts\n']) {
    t.match(
      await issuesOf({ [path]: '' }),
      [{ line: null, message: /is not a path of a script/ }],
      JSON.stringify(path),
    );
  }
  t.match(await issuesOf({ 'Total.ts': '', 'total.ts': '' }), [{ file: 'total.ts', message: /only in letter case/ }]);
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}.js`, '']));
  t.match(await issuesOf(many), [{ message: /51 files/ }]);
  t.match(await issuesOf({ 'a.js': 'ä'.repeat(MAX_TOTAL_SCRIPT_BYTES / 2 + 1) }), [{ message: /1048578 bytes/ }]);
  t.strictSame(await issuesOf({ 'a.js': 'ä'.repeat(MAX_TOTAL_SCRIPT_BYTES / 2) }), []);
});

t.test('The sandbox checks the compiled scripts.', async (t) => {
  const requested: unknown[] = [];
  const issue = { file: 'a.ts', line: 1, column: 1, message: 'There is no default export' };
  const sandbox = {
    check: async (...one: unknown[]) => {
      requested.push(one);
      return [issue];
    },
  };
  const files = new Map([['a.ts', 'const a: 1 = 1;']]);
  t.strictSame(await compileAndCheck(files, ['a.ts'], sandbox), { diagnostics: [issue] });
  t.match(requested, [[{ files: new Map([['a.ts', 'const a    = 1;']]) }, ['a.ts']]]);
  await compileAndCheck(new Map([['a.ts', 'enum A {}']]), ['a.ts'], sandbox);
  t.equal(requested.length, 1, 'not called for scripts that already have errors');
});
