/**
 * `npm run build`: compiles src/ to plain JavaScript in dist/. The published package runs that, because Node strips no
 * types inside node_modules. dist/ has one file for each file of src/, and dist/browser/ has what browsers load: the client,
 * the examples, and the dashboard, which alone is bundled.
 */
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDashboard } from './dashboard.mjs';
import { ensureInstalled, main, ROOT, runScript } from './install.mjs';

await main(async () => {
  await ensureInstalled({ dev: true });
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
  for (const project of ['tsconfig.build.json', 'tsconfig.browser.json']) {
    const code = await runScript('node_modules/typescript/bin/tsc', '--project', project);
    if (code !== 0) return code;
  }
  cpSync(join(ROOT, 'examples'), join(ROOT, 'dist', 'browser', 'examples'), {
    recursive: true,
    filter: (source) => !source.endsWith('.ts'),
  });
  await ensureDashboard();
  cpSync(join(ROOT, 'dashboard', 'dist'), join(ROOT, 'dist', 'browser', 'dashboard'), { recursive: true });
  chmodSync(join(ROOT, 'dist', 'main.js'), 0o755);
  return 0;
});
