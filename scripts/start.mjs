/**
 * `npm start`: from a fresh clone to a running server. Installs missing packages, then runs the program under a Node
 * that can run TypeScript, with the same arguments, terminal and signals: the bundle of its sources, or src/main.ts
 * where a source has changed since. Concurrently a start of the server builds what is outdated, for the next start.
 * With `MILLRACE_START=sources` it always runs src/main.ts and builds nothing.
 */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { COMPILE_CACHE, ended, ensureInstalled, main, nodeForSources, ROOT, whenNpmIsGone } from './install.mjs';
import { currentBundle, isBuildNeeded } from './start-bundle.mjs';

/** How long the build may take to end, in milliseconds. */
const BUILD_END_MS = 1_000;
/** A third of the memory for short-lived objects; the Dockerfile has the same. */
const SEMI_SPACE_MB = 16;

await main(async () => {
  await ensureInstalled({ dev: false });
  // The IPC channel closes when this process ends, even by kill -9, and then the program ends too. The warning is
  // disabled because an experimental function of Node turns the examples into JavaScript.
  const { MILLRACE_START, ...variables } = process.env;
  const isFromSources = MILLRACE_START === 'sources';
  const bundle = isFromSources ? null : currentBundle();
  const entry = bundle ?? join(ROOT, 'src', 'main.ts');
  const words = ['--disable-warning=ExperimentalWarning', ...youngGenerationLimit(), entry, ...process.argv.slice(2)];
  const child = spawn(nodeForSources(), words, {
    stdio: [0, 1, 2, 'ipc'],
    // What is compiled of a bundle is removed with it.
    env: { NODE_COMPILE_CACHE: bundle === null ? COMPILE_CACHE : join(dirname(bundle), 'compiled'), ...variables },
  });
  // The server already responds; /dashboard says that it is being built. A command needs neither.
  const isServer = process.argv.length === 2;
  const building =
    isServer && !isFromSources && isBuildNeeded()
      ? spawn(nodeForSources(), [join(ROOT, 'scripts', 'start-bundle.mjs')], { stdio: ['ignore', 2, 2, 'ipc'] })
      : null;
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // At a terminal, Ctrl-C reaches both processes, so it is passed on only elsewhere.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  whenNpmIsGone('start.mjs', () => child.kill('SIGTERM'));
  return ended(child).finally(() => endBuild(building));
});

/**
 * Where there is much memory, V8 lets short-lived objects fill three times 32 MB before it collects them. NODE_OPTIONS
 * can choose another limit; without this check it would have no effect.
 */
function youngGenerationLimit() {
  return /max[-_]semi[-_]space/.test(process.env.NODE_OPTIONS ?? '') ? [] : [`--max-semi-space-size=${SEMI_SPACE_MB}`];
}

/** Ends the build and its child processes. It does not delay the exit if it does not end. */
async function endBuild(building) {
  if (building === null || building.exitCode !== null || building.signalCode !== null) return;
  building.kill();
  const limit = setTimeout(() => building.kill('SIGKILL'), BUILD_END_MS);
  await ended(building);
  clearTimeout(limit);
}
