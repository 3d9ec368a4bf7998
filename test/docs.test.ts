/** The examples of the documentation, run against the program: their output is what the pages show. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { comparable, PAGES, withRealOutput } from '../scripts/examples.ts';
import { buildTestApp } from './helpers/app.ts';
import { runSeed } from './helpers/programs/seed.ts';

for (const page of PAGES) {
  t.test(page, { skip: hasCurl() ? false : 'curl is not installed' }, async (t) => {
    const { app } = await buildTestApp(t);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    // The tour asks questions of real data; the other page brings its own.
    if (page === 'README.md') t.match(await runSeed(['movies', 'countries', '--url', url]), { code: 0 });
    const text = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
    t.equal(comparable(await withRealOutput(text, url)), comparable(text), 'npm run examples brings a page up to date');
  });
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
