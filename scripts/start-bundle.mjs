/**
 * The bundle that `npm start` runs: src/ and the packages that every start loads, in a few files without types. Finding
 * and stripping each of 700 sources takes longer than everything else of a start. It behaves as the sources do: each
 * module keeps the URL of its source, and a bundle is used only while sources and installed packages are unchanged.
 *
 * `node scripts/start-bundle.mjs`: builds what is outdated for the next start, the dashboard first.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureDashboard, isStale } from './dashboard.mjs';
import { main, ROOT } from './install.mjs';
import { ensurePackage } from './packages.mjs';

const FOLDER = join(ROOT, 'node_modules', '.cache', 'millrace-start');
const CURRENT = join(FOLDER, 'current.json');
const SOURCES = join(ROOT, 'src', '/');
/** What npm has installed; written anew by each installation. */
const INSTALLED = 'node_modules/.package-lock.json';
/** What the dashboard is built with bundles the sources, too. */
const BUNDLER = join(ROOT, 'dashboard', 'node_modules', 'rolldown', 'dist', 'index.mjs');
/** Packages with a binary part. Those of rarely used features stay outside as well, by their dynamic imports. */
const NATIVE = new Set(['@node-rs/argon2', 'isolated-vm']);
/** Running servers load parts of their bundle on first use, so earlier bundles stay for a while. */
const KEPT_BUNDLES = 10;
/** Files that changed up to this many milliseconds before a build may have changed after the bundler read them. */
const CLOCK_STEP_MS = 50;

/** The entry of the bundle of the present sources, or null if there is none. Reads the state of each input. */
export function currentBundle() {
  try {
    const { entry, inputs } = JSON.parse(readFileSync(CURRENT, 'utf8'));
    if (inputs.some(([path, state]) => stateOf(path) !== state)) return null;
    statSync(join(FOLDER, entry));
    return join(FOLDER, entry);
  } catch {
    // No bundle, or an input was deleted.
    return null;
  }
}

/** Whether anything must be built for the next start. */
export function isBuildNeeded() {
  return currentBundle() === null || isStale();
}

/** What distinguishes two versions of a file. Programs can set the time of modification, but not that of the change. */
function stateOf(path) {
  const { size, mtimeMs, ctimeMs } = statSync(join(ROOT, path));
  return `${size} ${mtimeMs} ${ctimeMs}`;
}

async function ensureBundle() {
  if (currentBundle() !== null) return;
  await ensurePackage('dashboard');
  const started = Date.now();
  const name = `${started}-${process.pid}`;
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  const paths = [...(await bundle(folder)), INSTALLED, 'scripts/start-bundle.mjs'];
  const inputs = paths.map((path) => [path, stateOf(path)]);
  if (paths.some((path) => statSync(join(ROOT, path)).ctimeMs > started - CLOCK_STEP_MS)) {
    // A source changed meanwhile. The next start builds again.
    rmSync(folder, { recursive: true, force: true });
    return;
  }
  writeFileSync(join(folder, 'inputs.json'), JSON.stringify({ entry: join(name, 'main.mjs'), inputs }));
  renameSync(join(folder, 'inputs.json'), CURRENT);
  removeOldBundles();
}

/** Writes the bundle into a folder. Returns the paths of the sources that were read for it, relative to the project. */
async function bundle(folder) {
  const { rolldown } = await import(pathToFileURL(BUNDLER).href);
  const sources = [];
  // Constants of a source may be all that is left of it, so the output does not name every source.
  const transform = (code, id) => {
    if (!id.startsWith(SOURCES)) return null;
    sources.push(relative(ROOT, id));
    return keepUrl(code, id, folder);
  };
  const build = await rolldown({
    input: { main: join(SOURCES, 'main.ts') },
    platform: 'node',
    tsconfig: false,
    logLevel: 'silent',
    plugins: [{ name: 'millrace', resolveId: leaveOutside, transform }],
  });
  try {
    await build.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name]-[hash].mjs',
    });
    return sources;
  } finally {
    await build.close();
  }
}

/** Native packages, and those that our sources import on first use, are loaded from node_modules. */
function leaveOutside(name, importer, { kind }) {
  const isOnFirstUse = kind === 'dynamic-import' && importer?.startsWith(SOURCES) && /^[@a-z]/.test(name);
  return NATIVE.has(name) || isOnFirstUse ? { id: name, external: true } : null;
}

/** Files that a module finds beside its source are there for the bundle, too. */
function keepUrl(code, id, folder) {
  if (!code.includes('import.meta.url')) return null;
  const source = JSON.stringify(relative(folder, id).replaceAll('\\', '/'));
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
