/**
 * `node scripts/dashboard.mjs`: builds the dashboard for browsers if it is missing or older than its sources, and
 * installs its packages first if they are missing. `npm run dashboard` (`--serve`) serves it from its sources during
 * development; its requests go to the server at MILLRACE_URL.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { main, ROOT, runScriptIn } from './install.mjs';
import { ensurePackage } from './packages.mjs';

const FOLDER = join(ROOT, 'dashboard');
const VITE = 'node_modules/vite/bin/vite.js';
const SOURCES = [
  'dashboard/src',
  'dashboard/index.html',
  'dashboard/vite.config.ts',
  'dashboard/package-lock.json',
  'client',
  'src/commands/functions/templates.ts',
  'src/files/upload/text-encoding.ts',
];

/** The folder of this clone's build. */
const BUILT = join(FOLDER, 'dist');

/** Whether the build is missing or older than one of its sources. */
export function isStale() {
  const built = statSync(join(BUILT, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return SOURCES.some((path) => newest(join(ROOT, path)) > built);
}

/** When a file, or the newest file in a folder, was changed, in milliseconds since 1970. */
function newest(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

/**
 * Builds the dashboard if needed, and prints that. The current build is replaced at the end, so a running server has
 * either the old pages or the new ones.
 */
export async function ensureDashboard() {
  if (!isStale()) return;
  await ensurePackage('dashboard');
  console.error('Building the dashboard …');
  const started = Date.now();
  const fresh = `${BUILT}.${process.pid}`;
  try {
    const code = await runScriptIn(FOLDER, VITE, 'build', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn');
    if (code !== 0) throw new Error(`The dashboard could not be built (exit code ${code}). See the output above.`);
    compress(join(fresh, 'assets'));
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(fresh, BUILT);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  console.error(`The dashboard is built (${((Date.now() - started) / 1000).toFixed(1)} s).`);
}

/** Stores a compressed copy of each file beside it, so that no request has to compress. */
function compress(folder) {
  for (const name of readdirSync(folder).filter((file) => /\.(?:js|css|svg)$/.test(file))) {
    const bytes = readFileSync(join(folder, name));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    if (!process.argv.includes('--serve')) {
      await ensureDashboard();
      return 0;
    }
    await ensurePackage('dashboard');
    return runScriptIn(FOLDER, VITE);
  });
}
