/**
 * Makes a fresh clone runnable: installs the packages of the lockfile and finds a Node that can run TypeScript. Plain
 * JavaScript without dependencies, because it runs before they are installed, on Node 20 too.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, constants, platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Folder of Node's compile cache: it halves the time to load the modules at each later start, of the program or of a
 * test.
 */
export const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'node');

const NEEDED_NODE = 24;
const TICK_MS = 10_000;
const POLL_MS = 500;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Installs the packages if one is missing or has another version. Otherwise it only reads two files.
 * @param root the folder of the lockfile; `of` is the owner of the packages, for messages
 */
export async function ensureInstalled({ dev, root = ROOT, of = null }) {
  const missing = missingPackage(root, dev);
  if (missing === null) return;
  const whose = of === null ? '' : ` of ${of}`;
  console.error(`Installing packages${whose} (${missing} is missing); once, about a minute …`);
  const npm = process.env.npm_execpath;
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: root, stdio: ['ignore', 2, 2] };
  // The npm that runs this script, if there is one; otherwise the one on the PATH.
  const child = npm?.endsWith('.js')
    ? spawn(process.execPath, [npm, ...words], options)
    : spawn('npm', words, { ...options, shell: platform() === 'win32' });
  const started = Date.now();
  const ticking = setInterval(() => {
    console.error(`… still installing (${Math.round((Date.now() - started) / 1000)} s)`);
  }, TICK_MS);
  // The next start repeats an installation that was killed, so it need not end by itself.
  const code = await endedWithUs(child, () => child.kill('SIGKILL')).finally(() => clearInterval(ticking));
  if (code !== 0)
    throw new Error(`npm ci failed with exit code ${code}. Its output is above. Is the network reachable?`);
}

/**
 * The first package of the lockfile under `root` that node_modules lacks or has in another version, or null. npm keeps
 * a lockfile of the installed packages, so no folders have to be read. Packages for other systems may be absent.
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

/** The Node that runs the sources: this one if it is new enough, otherwise the one among the packages. */
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

/** The exit code of a child process; 128 plus the signal's number when a signal ended it, as in shells. */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

/** The signal that has ended this script while it waited for a child; null until then. */
let stoppedBy = null;
export const isStopped = () => stoppedBy !== null;

/**
 * The exit code of a child that must not outlive this script: it is ended when a signal ends this script, or when the
 * parent of this script has ended (the other end of the IPC channel).
 * @param end called with the signal to end the child
 */
async function endedWithUs(child, end) {
  const stop = (signal) => {
    stoppedBy ??= signal;
    end(signal);
  };
  const orphaned = () => stop('SIGTERM');
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  process.on('disconnect', orphaned);
  try {
    return await ended(child);
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
    process.off('disconnect', orphaned);
  }
}

/** Runs a script of a package, or one of ours, under the Node that runs the sources. Returns its exit code. */
export function runScript(path, ...words) {
  return runScriptIn(ROOT, path, ...words);
}

/** The same in another folder, to which the path of the script is relative. */
export function runScriptIn(folder, path, ...words) {
  const child = spawn(nodeForSources(), [join(folder, path), ...words], { cwd: folder, stdio: ['ignore', 1, 2] });
  // At a terminal, Ctrl-C reaches the child by itself.
  return endedWithUs(child, (signal) => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
}

/**
 * Calls `then` when npm, which started this script, has ended. npm passes a SIGTERM on to the shell that runs this
 * script, but the shell does not pass it on, and a killed npm sends nothing. So this polls whether both still run. Does
 * nothing if the script was started without npm.
 * @param script the name of this script in the command line of npm's shell
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

/**
 * The pid of the parent process and, if that is npm's shell (its command line names this script), of the shell's
 * parent. Linux, proc(5).
 */
function ancestors(script) {
  try {
    if (!readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').includes(script)) return String(process.ppid);
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return String(process.ppid);
  }
}

/**
 * Runs the body of a script and exits with its return value. An error is printed as one line, without a stack; one that
 * a signal caused is not printed.
 */
export async function main(body) {
  try {
    process.exitCode = await body();
  } catch (error) {
    // An interruption by a signal is no error.
    if (stoppedBy === null) console.error(error instanceof Error ? error.message : error);
    process.exitCode = stoppedBy === null ? 1 : 128 + constants.signals[stoppedBy];
  }
}
