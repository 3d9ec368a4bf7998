/**
 * `npm run board`: a day of departures for a running server. Installs missing packages and runs board.ts under a Node
 * that can run TypeScript, as start.mjs does for the program itself.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ended, ensureInstalled, main, nodeForSources, ROOT, whenNpmIsGone } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  const words = [join(ROOT, 'scripts', 'board.ts'), ...process.argv.slice(2)];
  const child = spawn(nodeForSources(), words, { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  whenNpmIsGone('board.mjs', () => child.kill('SIGTERM'));
  return ended(child);
});
