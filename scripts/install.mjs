/**
 * Makes a fresh clone runnable: installs what the lockfile names and finds a Node that runs TypeScript sources. Plain
 * JavaScript with no dependency, since it runs before there are any, on Node 20 too.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const NEEDED_NODE = 24;
const TICK_MS = 10_000;

/** Installs the packages when one is missing or another version; a look at two files when all is well. */
export async function ensureInstalled({ dev }) {
  const missing = missingPackage(dev);
  if (missing === null) return;
  console.error(`Installing packages (${missing} is missing); once, about a minute …`);
  const npm = process.env.npm_execpath;
  const words = ['ci', '--ignore-scripts', '--loglevel=error'];
  const options = { cwd: ROOT, stdio: ['ignore', 2, 2] };
  // npm as it runs us, if it does: a path with spaces and Windows' npm.cmd are no matter then.
  const child = npm?.endsWith('.js')
    ? spawn(process.execPath, [npm, ...words], options)
    : spawn('npm', words, { ...options, shell: platform() === 'win32' });
  const started = Date.now();
  const ticking = setInterval(() => {
    console.error(`… still installing (${Math.round((Date.now() - started) / 1000)} s)`);
  }, TICK_MS);
  const code = await ended(child).finally(() => clearInterval(ticking));
  if (code !== 0) throw new Error(`npm ci ended with ${code}. Its words are above; is the network reachable?`);
}

/** The first package of the lockfile that node_modules lacks or has in another version, or null. */
function missingPackage(dev) {
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const marker = join(ROOT, 'node_modules', '.package-lock.json');
  const present = existsSync(marker) ? JSON.parse(readFileSync(marker, 'utf8')).packages : {};
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || entry.optional || entry.devOptional || entry.peer || (entry.dev && !dev)) continue;
    if (present[path]?.version !== entry.version) return path.replace(/^.*node_modules\//, '');
  }
  return null;
}

/** The Node that runs the sources: this one when it is new enough, else the one that came with the packages. */
export function nodeForSources() {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_NODE) return process.execPath;
  const system = platform() === 'win32' ? 'win' : platform();
  const file = platform() === 'win32' ? 'node.exe' : 'node';
  const path = join(ROOT, 'node_modules', `node-${system}-${arch()}`, 'bin', file);
  if (existsSync(path)) return path;
  throw new Error(
    `Node ${process.versions.node} is too old to run the sources, and no newer one came with the packages for ` +
      `${platform()} on ${arch()}. Install Node ${NEEDED_NODE} or newer and start again.`,
  );
}

/** The exit code of a child, 128 + the signal's number when a signal ended it. */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + (SIGNALS[signal] ?? 0)));
  });
}

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/** Runs a script's body; a fault is one line, not a trace. */
export async function main(body) {
  try {
    process.exitCode = await body();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
