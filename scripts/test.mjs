/**
 * `npm test`: runs all tests, also on a fresh clone. Installs missing packages, builds tap once, and runs run-tests.ts
 * under a Node that can run TypeScript. Arguments go to tap: `npm test -- test/kernel/errors.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILE_CACHE, ensureInstalled, main, ROOT, runScript } from './install.mjs';

const BUILT = join(ROOT, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js');

await main(async () => {
  await ensureInstalled({ dev: true });
  // tap comes with a TypeScript plugin that does not work with the native compiler. .taprc leaves it out, so tap is
  // built again without it.
  if (readFileSync(BUILT, 'utf8').includes('@tapjs/typescript')) {
    console.error('Building the test runner, once …');
    const code = await runScript('node_modules/tap/dist/esm/run.mjs', 'build');
    if (code !== 0) throw new Error(`tap build ended with ${code}.`);
  }
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
  // Ctrl-C reaches all processes of the group. This one goes on, because the runner needs a moment to end MongoDB.
  process.on('SIGINT', () => {});
  return runScript('scripts/run-tests.ts', ...process.argv.slice(2));
});
