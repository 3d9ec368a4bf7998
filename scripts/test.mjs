/**
 * `npm test`: runs all tests, also on a fresh clone. Installs missing packages and runs run-tests.ts under a Node that can
 * run TypeScript. Arguments are files or folders: `npm test -- test/collections/crud.test.ts`.
 */
import { ensureDashboard } from './dashboard.mjs';
import { COMPILE_CACHE, ensureInstalled, main, runScript } from './install.mjs';
import { ensurePackagesOfTests } from './packages.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  const asked = process.argv.slice(2);
  await Promise.all([ensureDashboard(), ensurePackagesOfTests(asked)]);
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
  // Ctrl-C reaches all processes of the group. This one continues, because the runner needs a moment to end MongoDB.
  process.on('SIGINT', () => {});
  return runScript('scripts/run-tests.ts', ...asked);
});
