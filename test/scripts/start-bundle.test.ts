/**
 * A start runs the bundle of the sources while they are unchanged, and the sources otherwise. A project of its own, with two
 * small sources, takes the place of this one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { withoutSettings } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Says what it read and from where, and whether it runs from a bundle. */
const MAIN = `import { word } from './word.ts';
console.log(word satisfies string, import.meta.url, process.argv[1]?.endsWith('.ts') ? 'sources' : 'bundle');
process.on('disconnect', () => process.exit(0)).on('SIGTERM', () => process.exit(0));`;

function createProject(t: Test): string {
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
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync(join(ROOT, 'dashboard', 'node_modules'), join(root, 'dashboard', 'node_modules'));
  return root;
}

const currentOf = (root: string) =>
  statSync(join(root, 'node_modules', '.cache', 'millrace-start', 'current.json'), { throwIfNoEntry: false })
    ?.mtimeMs ?? 0;

/** Starts the project and returns what it says, after the build of a bundle if one is expected. */
async function start(t: Test, root: string, { builds }: { builds: boolean }): Promise<string> {
  const before = currentOf(root);
  const env = { ...withoutSettings(process.env), npm_lifecycle_event: undefined };
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
