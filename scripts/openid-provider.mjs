/**
 * `npm run openid-provider`: an OpenID provider for this machine, until Ctrl-C. Installs missing packages and runs
 * openid-provider.ts under a Node that can run TypeScript, as start.mjs does for the program itself.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ended, ensureInstalled, main, nodeForSources, ROOT, whenNpmIsGone } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  const words = [join(ROOT, 'scripts', 'openid-provider.ts'), ...process.argv.slice(2)];
  const child = spawn(nodeForSources(), words, { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  whenNpmIsGone('openid-provider.mjs', () => child.kill('SIGTERM'));
  return ended(child);
});
