/**
 * `npm run check`: checks types, lint and format, and that generated pages are up to date, also on a fresh clone. All
 * checks run even if one fails, so that one run shows everything.
 */
import { join } from 'node:path';
import { ensureInstalled, main, ROOT, runScript } from './install.mjs';

const CHECKS = {
  types: ['node_modules/typescript/bin/tsc'],
  'types of the dashboard': ['node_modules/typescript/bin/tsc', '--project', 'dashboard'],
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  'generated pages': ['scripts/generate.ts', '--check'],
};

await main(async () => {
  await ensureInstalled({ dev: true });
  await ensureInstalled({ dev: true, root: join(ROOT, 'dashboard'), of: 'the dashboard' });
  const failed = [];
  for (const [name, words] of Object.entries(CHECKS)) if ((await runScript(...words)) !== 0) failed.push(name);
  if (failed.length > 0) throw new Error(`Not in order: ${failed.join(', ')}.`);
  console.log('Types, lint, format and generated pages are in order.');
  return 0;
});
