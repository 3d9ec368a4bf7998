/**
 * A start runs the bundle of the sources while they are unchanged, and the sources otherwise. A project of its own, with two
 * small sources, takes the place of this one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { withoutSettings } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DASHBOARD_PACKAGES = join('dashboard', 'node_modules');
/** Says what it read and from where, and whether it runs from a bundle. */
const MAIN = `import { word } from './word.ts';
console.log(word satisfies string, import.meta.url, process.argv[1]?.endsWith('.ts') ? 'sources' : 'bundle');
process.on('disconnect', () => process.exit(0)).on('SIGTERM', () => process.exit(0));`;

/** @param bundler the code of a module in the place of the bundler; without it, the one of the dashboard */
function createProject(t: Test, bundler?: string): string {
  const root = t.testdir();
  cpSync(join(ROOT, 'scripts'), join(root, 'scripts'), { recursive: true });
  const files = {
    'package-lock.json': '{"packages":{}}',
    'node_modules/.package-lock.json': '{"packages":{}}',
    'dashboard/package-lock.json': '{"packages":{}}',
    'dashboard/index.html': '',
    'dashboard/vite.config.ts': '',
    'dashboard/src/a.ts': '',
    'client/a.ts': '',
    'src/commands/functions/templates.ts': '',
    'src/files/upload/text-encoding.ts': '',
    'src/main.ts': MAIN,
    'src/word.ts': "export const word: string = 'one';",
    'dashboard/dist/index.html': '',
    ...(bundler !== undefined && {
      'dashboard/node_modules/.package-lock.json': '{"packages":{}}',
      'dashboard/node_modules/rolldown/dist/index.mjs': bundler,
    }),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (bundler === undefined) symlinkSync(join(ROOT, DASHBOARD_PACKAGES), join(root, DASHBOARD_PACKAGES));
  return root;
}

const BUNDLES = join('node_modules', '.cache', 'millrace-start');
const currentOf = (root: string) =>
  statSync(join(root, BUNDLES, 'current.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;

interface StartOptions {
  readonly builds: boolean;
  readonly NODE_OPTIONS?: string;
}

/** Starts the project and returns what it says, after the build of a bundle if one is expected. */
async function start(t: Test, root: string, { builds, ...variables }: StartOptions): Promise<string> {
  const before = currentOf(root);
  const env = { ...withoutSettings(process.env), npm_lifecycle_event: undefined, ...variables };
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const closed = once(child, 'close');
  await until(() => output.includes('\n') && (!builds || currentOf(root) > before), 'it serves, and the build is done');
  child.kill('SIGTERM');
  await closed;
  t.equal(currentOf(root) > before, builds, builds ? 'a bundle was built' : 'nothing was built');
  return output.trim();
}

t.test('a start runs the bundle, and never one of changed sources', async (t) => {
  const root = createProject(t);
  const [source, url] = [join(root, 'src', 'word.ts'), pathToFileURL(join(root, 'src', 'main.ts')).href];
  t.equal(await start(t, root, { builds: true }), `one ${url} sources`, 'the first start does not wait for the build');
  t.equal(await start(t, root, { builds: false }), `one ${url} bundle`, 'modules keep the URLs of their sources');

  writeFileSync(source, "export const word: string = 'three';");
  t.equal(await start(t, root, { builds: true }), `three ${url} sources`);
  t.equal(await start(t, root, { builds: false }), `three ${url} bundle`);

  const { atime, mtime } = statSync(source);
  writeFileSync(source, readFileSync(source, 'utf8').replace('three', 'seven'));
  utimesSync(source, atime, mtime);
  t.equal(await start(t, root, { builds: true }), `seven ${url} sources`, 'also of the same size and time');
});

t.test(
  'a source that changes after the bundler has read it is a changed source, whatever the clock says',
  async (t) => {
    const { href } = pathToFileURL(join(ROOT, DASHBOARD_PACKAGES, 'rolldown', 'dist', 'index.mjs'));
    const root = createProject(
      t,
      `import { writeFileSync } from 'node:fs';
import { rolldown as real } from ${JSON.stringify(href)};
const transform = (code, id) => {
  if (code.includes("'one'")) writeFileSync(id, code.replace('one', 'two'));
};
export const rolldown = (options) => real({ ...options, plugins: [...options.plugins, { name: 'editor', transform }] });`,
    );
    const ahead = 'const now = Date.now; Date.now = () => now() + 3_600_000;';
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(ahead)}`;
    t.match(await start(t, root, { builds: true, NODE_OPTIONS }), /^one .* sources$/);
    t.match(await start(t, root, { builds: true, NODE_OPTIONS }), /^two .* sources$/);
    t.match(await start(t, root, { builds: false }), /^two .* bundle$/);
  },
);

t.test('a bundle that has lost content is built again', async (t) => {
  const root = createProject(t);
  await start(t, root, { builds: true });
  const [name = ''] = readdirSync(join(root, BUNDLES)).filter((entry) => entry !== 'current.json');
  truncateSync(join(root, BUNDLES, name, 'main.mjs'));
  t.match(await start(t, root, { builds: true }), /^one .* sources$/);
  t.match(await start(t, root, { builds: false }), /^one .* bundle$/);
});
