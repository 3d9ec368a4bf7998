/**
 * Makes a fresh clone runnable: installs what the lockfile names and finds a Node that runs TypeScript sources. Plain
 * JavaScript with no dependency, since it runs before there are any, on Node 20 too.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, constants, platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Keeps what Node compiled: it saves each later start, of the program or of a test, half of the time to load the modules. */
export const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'node');

const NEEDED_NODE = 24;
const TICK_MS = 10_000;
const POLL_MS = 500;

/** Installs the packages when one is missing or another version; a look at two files when all is well. */
export async function ensureInstalled({ dev }) {
  const missing = missingPackage(ROOT, dev);
  if (missing === null) return;
  console.error(`Installing packages (${missing} is missing); once, about a minute …`);
  const npm = process.env.npm_execpath;
  const words = ['ci', '--ignore-scripts', '--loglevel=error'];
  const options = { cwd: ROOT, stdio: ['ignore', 2, 2] };
  // The npm that runs us, if one does; else the one on the PATH.
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

/**
 * The first package of the lockfile under `root` that node_modules lacks or has in another version, or null. npm keeps
 * a lockfile of what is really there, so that no folder has to be walked. Packages for other systems may be absent.
 */
export function missingPackage(root, dev) {
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const marker = join(root, 'node_modules', '.package-lock.json');
  const present = existsSync(marker) ? JSON.parse(readFileSync(marker, 'utf8')).packages : {};
  for (const [path, entry] of Object.entries(wanted)) {
    const dispensable = entry.optional || entry.devOptional || entry.peer || (entry.dev && !dev);
    if (path === '' || (dispensable && present[path] === undefined)) continue;
    if (present[path]?.version !== entry.version) return path.replace(/^.*node_modules\//, '');
  }
  return null;
}

/** The Node that runs the sources: this one when it is new enough, else the one that came with the packages. */
export function nodeForSources() {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_NODE) return process.execPath;
  const [system, file] = platform() === 'win32' ? ['win', 'node.exe'] : [platform(), 'node'];
  const path = join(ROOT, 'node_modules', `node-${system}-${arch()}`, 'bin', file);
  if (existsSync(path)) return path;
  throw new Error(
    `Node ${process.versions.node} is too old to run the sources, and no newer one came with the packages for ` +
      `${platform()} on ${arch()}. Install Node ${NEEDED_NODE} or newer and start again.`,
  );
}

/** The exit code of a child; 128 and the signal's number when a signal ended it, as shells say it. */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

/** Runs a script of a package, or one of ours, under the Node that runs the sources; answers with its exit code. */
export function runScript(path, ...words) {
  const child = spawn(nodeForSources(), [join(ROOT, path), ...words], { cwd: ROOT, stdio: ['ignore', 1, 2] });
  process.once('SIGTERM', () => child.kill('SIGTERM'));
  return ended(child);
}

/**
 * npm passes a SIGTERM on to the shell it runs us in, and the shell to nobody; a killed npm tells nobody at all. So we
 * look whether both are still there. Started without npm we stay, whatever becomes of the terminal.
 * @param script our own name, as npm's shell has it in its command line
 */
export function whenNpmIsGone(script, then) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const first = ancestors(script);
  const timer = setInterval(() => {
    if (ancestors(script) === first) return;
    clearInterval(timer);
    then();
  }, POLL_MS).unref();
}

/** Our parent and, when that is npm's shell (its command line names us), the parent of the shell: proc(5), Linux. */
function ancestors(script) {
  try {
    if (!readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').includes(script)) return String(process.ppid);
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return String(process.ppid);
  }
}

/** Runs a script's body and exits with what it answers; a fault is one line, not a trace. */
export async function main(body) {
  try {
    process.exitCode = await body();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
