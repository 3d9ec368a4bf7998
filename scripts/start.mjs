/**
 * `npm start`: from a fresh clone to a running server. Installs what is missing, then runs src/main.ts under a Node
 * that understands it, with the same arguments, terminal and signals. What the program does is main.ts's matter.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILE_CACHE, ended, ensureInstalled, main, nodeForSources, ROOT } from './install.mjs';

const POLL_MS = 500;

await main(async () => {
  await ensureInstalled({ dev: false });
  // The channel tells the program when this one has gone, even by kill -9: it then ends too.
  // The examples' sources are made JavaScript by a part of Node that still calls itself experimental.
  const words = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src', 'main.ts'), ...process.argv.slice(2)];
  const child = spawn(nodeForSources(), words, {
    stdio: [0, 1, 2, 'ipc'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // A terminal sends Ctrl-C to both.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  whenNpmIsGone(() => child.kill('SIGTERM'));
  return ended(child);
});

/**
 * npm passes a SIGTERM on to the shell it runs us in, and the shell to nobody; a killed npm tells nobody at all. So we
 * look whether both are still there. Started without npm we stay, whatever becomes of the terminal.
 */
function whenNpmIsGone(then) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const first = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === first) return;
    clearInterval(timer);
    then();
  }, POLL_MS).unref();
}

/** Our parent and, when that is npm's shell (its command line names us), the parent of the shell: proc(5), Linux. */
function ancestors() {
  try {
    if (!readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').includes('start.mjs')) return String(process.ppid);
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return String(process.ppid);
  }
}
