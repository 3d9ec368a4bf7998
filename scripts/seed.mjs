/**
 * `npm run seed`: real documents for a running server. Installs missing packages and runs seed.ts under a Node that can
 * run TypeScript, as start.mjs does for the program itself.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ended, ensureInstalled, main, nodeForSources, ROOT } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  const words = [join(ROOT, 'scripts', 'seed.ts'), ...process.argv.slice(2)];
  return ended(spawn(nodeForSources(), words, { stdio: 'inherit' }));
});
