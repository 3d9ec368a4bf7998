/**
 * `npm test`: everything, also on a bare machine. Installs what is missing, builds tap once, and hands over to
 * run-tests.ts under a Node that runs the sources. Arguments go to tap: `npm test -- test/kernel/errors.test.ts`.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ended, ensureInstalled, main, nodeForSources, ROOT } from './install.mjs';

const TAP = join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');
const BUILT = join(ROOT, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js');

await main(async () => {
  await ensureInstalled({ dev: true });
  const node = nodeForSources();
  const stdio = ['ignore', 'inherit', 'inherit'];
  // tap comes built with its own TypeScript plugin, which the native compiler does not serve; .taprc leaves it out.
  if (readFileSync(BUILT, 'utf8').includes('@tapjs/typescript')) {
    console.error('Building the test runner once (about 15 s) …');
    const code = await ended(spawn(node, [TAP, 'build'], { cwd: ROOT, stdio }));
    if (code !== 0) throw new Error(`tap build ended with ${code}.`);
  }
  const child = spawn(node, [join(ROOT, 'scripts', 'run-tests.ts'), ...process.argv.slice(2)], { cwd: ROOT, stdio });
  // Ctrl-C reaches both; the runner needs its moment to end MongoDB.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return ended(child);
});
