/**
 * The bundle that `npm start` runs: src/ and the packages that every start loads, in a few files without types. Finding
 * and stripping each of 700 sources takes longer than everything else of a start. It behaves as the sources do: each
 * module keeps the URL of its source, and a bundle is used only while sources and installed packages are unchanged.
 *
 * `node scripts/start-bundle.mjs`: builds what is outdated for the next start, the dashboard first.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureDashboard, isStale } from './dashboard.mjs';
import { main, ROOT } from './install.mjs';
import { ensurePackage } from './packages.mjs';

const FOLDER = join(ROOT, 'node_modules', '.cache', 'millrace-start');
const CURRENT = join(FOLDER, 'current.json');
const MAIN = join('src', 'main.ts');
/** What npm has installed, the bundler too; written anew by each installation. */
const INSTALLED = ['node_modules/.package-lock.json', 'dashboard/node_modules/.package-lock.json'];
const BUILDER = 'scripts/start-bundle.mjs';
/** What the dashboard is built with bundles the sources, too. */
const BUNDLER = join(ROOT, 'dashboard', 'node_modules', 'rolldown', 'dist', 'index.mjs');
/** Packages with a binary part. Those of rarely used features stay outside as well, by their dynamic imports. */
const NATIVE = new Set(['@node-rs/argon2', 'isolated-vm']);
/** Running servers load parts of their bundle on first use, so earlier bundles stay for a while. */
const KEPT_BUNDLES = 10;
/** The clock of a file system. A file that changed up to this many milliseconds before a build may change in the same step. */
const CLOCK_STEP_MS = 50;

/** The entry of the bundle of the present sources, or null if there is none. Reads the state of each input and output. */
export function currentBundle() {
  try {
    const { root, name, inputs, outputs } = JSON.parse(readFileSync(CURRENT, 'utf8'));
    // Several clones can share a folder of packages by links.
    if (root !== ROOT) return null;
    if (inputs.some(([path, state]) => stateOf(path) !== state)) return null;
    // After a power failure, files can be there without their content.
    if (outputs.some(([file, size]) => statSync(join(FOLDER, name, file)).size !== size)) return null;
    return join(FOLDER, name, 'main.mjs');
  } catch {
    // No bundle, or a file of it was deleted.
    return null;
  }
}

/** Whether anything must be built for the next start. */
export function isBuildNeeded() {
  return (isPossible() && currentBundle() === null) || isStale();
}

/** A bundle finds the packages outside of it by the folder above it, and that by its real name. */
function isPossible() {
  const packages = join(ROOT, 'node_modules');
  return existsSync(packages) && basename(realpathSync(packages)) === 'node_modules';
}

/** What distinguishes two versions of a file. Programs can set the time of modification, but not that of the change. */
function stateOf(path) {
  const { size, mtimeMs, ctimeMs } = statSync(resolve(ROOT, path));
  return `${size} ${mtimeMs} ${ctimeMs}`;
}

/** When a file of this state was changed, in milliseconds since 1970. */
const changedAt = (state) => Number(state.split(' ')[2]);

async function ensureBundle() {
  if (!isPossible() || currentBundle() !== null) return;
  await ensurePackage('dashboard');
  const started = Date.now();
  const name = `${started}-${process.pid}`;
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  // Each state is read before the file: one that changes afterwards differs from it at the next start.
  const states = new Map([...INSTALLED, BUILDER].map((path) => [path, stateOf(path)]));
  await bundle(folder, (path) => states.has(path) || states.set(path, stateOf(path)));
  if (!states.has(MAIN)) throw new Error(`${MAIN} is not among the inputs of its bundle.`);
  if ([...states.values()].some((state) => changedAt(state) > started - CLOCK_STEP_MS)) {
    // A source changed meanwhile. The next start builds again.
    rmSync(folder, { recursive: true, force: true });
    return;
  }
  const outputs = readdirSync(folder).map((file) => [file, statSync(join(folder, file)).size]);
  const current = join(folder, 'current.json');
  writeFileSync(current, JSON.stringify({ root: ROOT, name, inputs: [...states], outputs }));
  renameSync(current, CURRENT);
  removeOldBundles();
}

/**
 * Writes the bundle into a folder.
 * @param onRead called before a file is read that an installation does not replace, with its path relative to the project
 */
async function bundle(folder, onRead) {
  const { rolldown } = await import(pathToFileURL(BUNDLER).href);
  // The bundler names files by their real paths.
  const [root, sources, target] = [ROOT, join(ROOT, 'src'), folder].map((path) => realpathSync(path));
  const isSource = (id) => id.startsWith(join(sources, '/'));
  const load = (id) => {
    // A linked package (npm link) is outside of node_modules.
    if (isSource(id) || (isAbsolute(id) && !/[\\/]node_modules[\\/]/.test(id))) onRead(relative(root, id));
    return null;
  };
  const transform = (code, id) => (isSource(id) ? keepUrl(code, relative(target, id)) : null);
  /** Native packages, and those that our sources import on first use, are loaded from node_modules. */
  const resolveId = (name, importer, { kind }) => {
    const isOnFirstUse = kind === 'dynamic-import' && importer && isSource(importer) && /^[@a-z]/.test(name);
    return NATIVE.has(name) || isOnFirstUse ? { id: name, external: true } : null;
  };
  const build = await rolldown({
    input: { main: join(ROOT, MAIN) },
    platform: 'node',
    tsconfig: false,
    logLevel: 'silent',
    plugins: [{ name: 'millrace', resolveId, load, transform }],
  });
  try {
    await build.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name]-[hash].mjs',
    });
  } finally {
    await build.close();
  }
}

/** Files that a module finds beside its source are there for the bundle, too. */
function keepUrl(code, path) {
  if (!code.includes('import.meta.url')) return null;
  const source = JSON.stringify(path.replaceAll('\\', '/'));
  return code.replaceAll('import.meta.url', `new URL(${source}, import.meta.url).href`);
}

function removeOldBundles() {
  const names = readdirSync(FOLDER).filter((name) => /^\d+-\d+$/.test(name));
  for (const name of names.sort().slice(0, -KEPT_BUNDLES)) rmSync(join(FOLDER, name), { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await ensureDashboard();
    await ensureBundle();
    return 0;
  });
}
