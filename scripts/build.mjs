/**
 * `npm run build`: compiles src/ to plain JavaScript in dist/, which is what the published package runs, since Node
 * strips no types inside node_modules. Nothing is bundled: dist/ mirrors src/ file by file.
 */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, main, ROOT, runScript } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
  const code = await runScript('node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json');
  if (code === 0) chmodSync(join(ROOT, 'dist', 'main.js'), 0o755);
  return code;
});
