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
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureDashboard, isStale } from './dashboard.mjs';
import { isStopped, main, ROOT } from './install.mjs';

const FOLDER = join(ROOT, 'node_modules', '.cache', 'millrace-start');
const CURRENT = join(FOLDER, 'current.json');
const MAIN = join('src', 'main.ts');
/** What npm has installed, the bundler too; written anew by each installation. */
const INSTALLED = ['node_modules/.package-lock.json', 'dashboard/node_modules/.package-lock.json'];
const BUILDER = 'scripts/start-bundle.mjs';
/** The bundler of the dashboard. */
const BUNDLER = join(ROOT, 'dashboard', 'node_modules', 'rolldown', 'dist', 'index.mjs');
/**
 * Packages with a binary part, and those that a driver uses where somebody has installed them. Packages of rarely used
 * features stay outside as well, by their dynamic imports.
 */
const OUTSIDE = new Set([
  '@node-rs/argon2',
  'isolated-vm',
  'kerberos',
  'snappy',
  '@mongodb-js/zstd',
  'mongodb-client-encryption',
  'gcp-metadata',
  '@aws-sdk/credential-providers',
  'bufferutil',
  'utf-8-validate',
]);
/** Running servers load parts of their bundle on first use, so a bundle stays for a week after it was replaced. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** A build without an end by then was killed. */
const BUILD_LIMIT_MS = 3_600_000;
const INCOMPLETE = '.incomplete';
/** A folder that cannot be written, such as that of a container, is a choice: no bundle, and no message. */
const READ_ONLY = new Set(['EROFS', 'EACCES']);
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

/**
 * Whether the bundler is there, which is installed with the dashboard's packages. A bundle finds the packages outside
 * of it by the folder above it, and that by its real name.
 */
function isPossible() {
  const packages = join(ROOT, 'node_modules');
  return existsSync(BUNDLER) && existsSync(packages) && basename(realpathSync(packages)) === 'node_modules';
}

/** What distinguishes two versions of a file. Programs can set the time of modification, but not that of the change. */
function stateOf(path) {
  const { size, mtimeMs, ctimeMs } = statSync(resolve(ROOT, path));
  return `${size} ${mtimeMs} ${ctimeMs}`;
}

/** When a file of this state was changed, in milliseconds since 1970. */
const changedAt = (state) => Number(state.split(' ')[2]);

/** Builds the bundle if it is outdated. Without it the server runs from its sources, so a failure is only a message. */
async function ensureBundle() {
  if (!isPossible() || currentBundle() !== null) return;
  const name = `${Date.now()}-${process.pid}`;
  const folder = join(FOLDER, `${name}${INCOMPLETE}`);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const end = () => process.exit(1);
  const ends = ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const event of ends) process.on(event, end);
  process.on('exit', remove);
  try {
    mkdirSync(folder, { recursive: true });
    await build(folder, name);
    removeOldBundles(name);
  } catch (error) {
    if (READ_ONLY.has(error.code)) return;
    const [reason] = String(error.message).split('\n');
    console.error(`The sources could not be bundled (${reason}); the server runs from src/.`);
  } finally {
    remove();
    process.off('exit', remove);
    for (const event of ends) process.off(event, end);
  }
}

/** Writes the bundle and makes it the current one, unless a source has changed meanwhile. Then the next start builds. */
async function build(folder, name) {
  const started = Date.now();
  // Each state is read before the file: one that changes afterwards differs from it at the next start.
  const states = new Map([...INSTALLED, BUILDER].map((path) => [path, stateOf(path)]));
  await bundle(folder, (path) => states.has(path) || states.set(path, stateOf(path)));
  if (!states.has(MAIN)) throw new Error(`${MAIN} is not among the inputs`);
  if ([...states.values()].some((state) => changedAt(state) > started - CLOCK_STEP_MS)) return;
  const outputs = readdirSync(folder).map((file) => [file, statSync(join(folder, file)).size]);
  const current = join(folder, 'current.json');
  writeFileSync(current, JSON.stringify({ root: ROOT, name, inputs: [...states], outputs }));
  renameSync(folder, join(FOLDER, name));
  markReplaced();
  renameSync(join(FOLDER, name, 'current.json'), CURRENT);
}

/** Gives the present bundle the time of its replacement, from which it is kept. */
function markReplaced() {
  try {
    const { name } = JSON.parse(readFileSync(CURRENT, 'utf8'));
    utimesSync(join(FOLDER, name), new Date(), new Date());
  } catch {
    // There is none.
  }
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
  /** Native packages, optional ones, and those that our sources import on first use, are loaded from node_modules. */
  const resolveId = (name, importer, { kind }) => {
    const isOnFirstUse = kind === 'dynamic-import' && importer && isSource(importer) && /^[@a-z]/.test(name);
    if (name.endsWith('.node') && importer) return { id: resolve(dirname(importer), name), external: 'absolute' };
    return OUTSIDE.has(name) || isOnFirstUse ? { id: name, external: true } : null;
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

function removeOldBundles(current) {
  for (const name of readdirSync(FOLDER).filter((entry) => /^\d+-\d+/.test(entry) && entry !== current)) {
    const limit = name.endsWith(INCOMPLETE) ? BUILD_LIMIT_MS : KEPT_MS;
    const folder = join(FOLDER, name);
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (changed < Date.now() - limit) rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    try {
      await ensureDashboard();
    } finally {
      // The starter may have ended meanwhile.
      if (!isStopped() && process.connected !== false) await ensureBundle();
    }
    return 0;
  });
}
