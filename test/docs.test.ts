/** Runs the examples of the documentation against the program: their output is what the pages show. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { comparable, PAGES, withRealOutput } from '../scripts/examples.ts';
import { createPluginTemplate } from '../src/commands/functions/templates.ts';
import { buildTestApp } from './helpers/app.ts';
import { runSeed } from './helpers/programs/seed.ts';

for (const page of PAGES) {
  t.test(page, { skip: hasCurl() ? false : 'curl is not installed' }, async (t) => {
    const plugins = mkdtempSync(join(tmpdir(), 'millrace-pages-'));
    t.teardown(() => rmSync(plugins, { recursive: true, force: true }));
    const { app } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: plugins });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    // The tour queries real data; the other pages create their own.
    if (page === 'docs/tutorial.md') t.match(await runSeed(['movies', 'countries', '--url', url]), { code: 0 });
    const text = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
    t.equal(
      comparable(await withRealOutput(text, url, plugins)),
      comparable(text),
      'npm run examples brings a page up to date',
    );
  });
}

t.test('the pages show the functions that examples create', async (t) => {
  const read = (page: string) => readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
  const shows = (page: string, kind: 'http' | 'trigger' | 'cron', name: string) => {
    for (const script of Object.values(createPluginTemplate(kind, name).scripts)) {
      t.ok(read(page).includes(`\`\`\`ts\n${script}\`\`\``), `${page}: ${name}`);
    }
  };
  shows('docs/tutorial.md', 'http', 'hello');
  shows('docs/plugins.md', 'http', 'hello');
  shows('docs/plugins.md', 'trigger', 'remember');
  shows('docs/plugins.md', 'cron', 'tick');
});

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
