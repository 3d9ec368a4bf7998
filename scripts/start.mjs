/**
 * `npm start`: from a fresh clone to a running server. Installs what is missing, then runs src/main.ts under a Node
 * that understands it, with the same arguments, terminal and signals. What the program does is main.ts's matter.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { COMPILE_CACHE, ended, ensureInstalled, main, nodeForSources, ROOT, whenNpmIsGone } from './install.mjs';

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
  whenNpmIsGone('start.mjs', () => child.kill('SIGTERM'));
  return ended(child);
});
