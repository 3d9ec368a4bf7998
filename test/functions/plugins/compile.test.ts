/** Scripts become JavaScript at the same places, and every fault has its own. */
import t from 'tap';
import { compile, compileChecked } from '../../../src/functions/plugins/compile/compile.ts';
import { MAX_BYTES } from '../../../src/functions/plugins/manifest/source.ts';

const compiled = (files: Record<string, string>) => compile(new Map(Object.entries(files)));

async function faultsOf(files: Record<string, string>) {
  const made = await compiled(files);
  return 'faults' in made ? made.faults : [];
}

t.test('types are taken out and nothing moves', async (t) => {
  const files = {
    'a.ts': 'import type { X } from "./b.ts";\nexport default (async (x: X) => x!) satisfies unknown;',
    'lib/b.js': 'export const b = a < b > (c);',
    'c.mjs': 'export {}',
  };
  const made = await compiled(files);
  if ('faults' in made) throw new Error(JSON.stringify(made.faults));
  const { bundle } = made;
  t.equal(bundle.files.get('a.ts')?.split('\n')[1], 'export default (async (x   ) => x )                  ;');
  t.equal(bundle.files.get('a.ts')?.length, files['a.ts'].length);
  t.equal(bundle.files.get('lib/b.js'), files['lib/b.js'], 'JavaScript stays as it is');
  const same = await compiled({ 'c.mjs': files['c.mjs'], 'lib/b.js': files['lib/b.js'], 'a.ts': files['a.ts'] });
  t.equal('bundle' in same && same.bundle.id, bundle.id, 'the id names the content');
  const other = await compiled({ ...files, 'c.mjs': 'export { }' });
  t.not('bundle' in other && other.bundle.id, bundle.id);
  const moved = await compiled({ 'a.js': '1', 'b.js': '' });
  t.not('bundle' in moved && moved.bundle.id, ((await compiled({ 'a.js': '', 'b.js': '1' })) as typeof made).bundle.id);
});

t.test('faults have their places', async (t) => {
  t.match(await faultsOf({ 'a.ts': 'const a = 1;\n  const b: number = ;' }), [
    { file: 'a.ts', line: 2, column: 21, message: 'Expression expected' },
  ]);
  t.match(await faultsOf({ 'lib/a.ts': '\n\nenum A { B }', 'b.ts': 'class C { constructor(private x) {} }' }), [
    { file: 'lib/a.ts', line: 3, column: 1, message: /enum is not supported/ },
    { file: 'b.ts', line: 1, column: 31, message: /parameter property/ },
  ]);
  t.match(await faultsOf({ 'a.ts': 'export default async (x: string => 1' }), [{ file: 'a.ts', line: 1 }]);
});

t.test('a source that exhausts the parser is a fault, and harms no other plugin', async (t) => {
  for (const deep of ['('.repeat(200_000), `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'a<b<'.repeat(2_000)]) {
    const [fault] = await faultsOf({ 'deep.ts': deep });
    t.match(fault, { file: 'deep.ts', message: /cannot be parsed/ });
  }
  t.strictSame(await faultsOf({ 'a.ts': 'export default (a: number) => a' }), []);
});

t.test('paths and sizes', async (t) => {
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
    t.match(await faultsOf({ [path]: '' }), [{ line: null, message: /no path of a script/ }], JSON.stringify(path));
  }
  t.match(await faultsOf({ 'Total.ts': '', 'total.ts': '' }), [
    { file: 'total.ts', message: /only by capital letters/ },
  ]);
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}.js`, '']));
  t.match(await faultsOf(many), [{ message: /51 files/ }]);
  t.match(await faultsOf({ 'a.js': 'ä'.repeat(MAX_BYTES / 2 + 1) }), [{ message: /1048578 bytes/ }]);
  t.strictSame(await faultsOf({ 'a.js': 'ä'.repeat(MAX_BYTES / 2) }), []);
});

t.test('the sandbox is asked about what was compiled', async (t) => {
  const asked: unknown[] = [];
  const fault = { file: 'a.ts', line: 1, column: 1, message: 'There is no default export' };
  const sandbox = {
    check: async (...one: unknown[]) => {
      asked.push(one);
      return [fault];
    },
  };
  const files = new Map([['a.ts', 'const a: 1 = 1;']]);
  t.strictSame(await compileChecked(files, ['a.ts'], sandbox), { faults: [fault] });
  t.match(asked, [[{ files: new Map([['a.ts', 'const a    = 1;']]) }, ['a.ts']]]);
  await compileChecked(new Map([['a.ts', 'enum A {}']]), ['a.ts'], sandbox);
  t.equal(asked.length, 1, 'not about what has faults already');
});
