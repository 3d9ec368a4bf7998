/**
 * `npm test`: everything, also on a bare machine. Installs what is missing, builds tap once, and hands over to
 * run-tests.ts under a Node that runs the sources. Arguments go to tap: `npm test -- test/kernel/errors.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILE_CACHE, ensureInstalled, main, ROOT, runScript } from './install.mjs';

const BUILT = join(ROOT, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js');

await main(async () => {
  await ensureInstalled({ dev: true });
  // tap comes built with its own TypeScript plugin, which the native compiler does not serve; .taprc leaves it out.
  if (readFileSync(BUILT, 'utf8').includes('@tapjs/typescript')) {
    console.error('Building the test runner, once …');
    const code = await runScript('node_modules/tap/dist/esm/run.mjs', 'build');
    if (code !== 0) throw new Error(`tap build ended with ${code}.`);
  }
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
  // Ctrl-C reaches the whole group; the runner needs its moment to end MongoDB.
  process.on('SIGINT', () => {});
  return runScript('scripts/run-tests.ts', ...process.argv.slice(2));
});
