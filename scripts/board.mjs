/**
 * `npm run board`: a day of departures for a running server. Installs what is missing and runs board.ts under a Node that
 * understands it, as start.mjs does for the program itself.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ended, ensureInstalled, main, nodeForSources, ROOT } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  const words = [join(ROOT, 'scripts', 'board.ts'), ...process.argv.slice(2)];
  return ended(spawn(nodeForSources(), words, { stdio: 'inherit' }));
});
