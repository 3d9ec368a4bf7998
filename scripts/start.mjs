/**
 * `npm start`: from a fresh clone to a running server. Installs missing packages, then runs src/main.ts under a Node
 * that can run TypeScript, with the same arguments, terminal and signals. Builds the dashboard concurrently, if needed.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { isStale } from './dashboard.mjs';
import { COMPILE_CACHE, ended, ensureInstalled, main, nodeForSources, ROOT, whenNpmIsGone } from './install.mjs';

/** How long the build of the dashboard may take to end, in milliseconds. */
const BUILD_END_MS = 1_000;

await main(async () => {
  await ensureInstalled({ dev: false });
  // The IPC channel closes when this process ends, even by kill -9, and then the program ends too. The warning is
  // disabled because an experimental function of Node turns the examples into JavaScript.
  const words = ['--disable-warning=ExperimentalWarning', join(ROOT, 'src', 'main.ts'), ...process.argv.slice(2)];
  const child = spawn(nodeForSources(), words, {
    stdio: [0, 1, 2, 'ipc'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
  });
  // The server already responds; /dashboard says that it is being built.
  const building = isStale()
    ? spawn(process.execPath, [join(ROOT, 'scripts', 'dashboard.mjs')], { stdio: ['ignore', 2, 2, 'ipc'] })
    : null;
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // At a terminal, Ctrl-C reaches both processes, so it is passed on only elsewhere.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  whenNpmIsGone('start.mjs', () => child.kill('SIGTERM'));
  return ended(child).finally(() => endBuild(building));
});

/** Ends the build of the dashboard and its child processes. It does not delay the exit if it does not end. */
async function endBuild(building) {
  if (building === null || building.exitCode !== null || building.signalCode !== null) return;
  building.kill();
  const limit = setTimeout(() => building.kill('SIGKILL'), BUILD_END_MS);
  await ended(building);
  clearTimeout(limit);
}
