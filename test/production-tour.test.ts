/** The tour of production mode in docs/tutorial.md, run command by command: its output is what the page shows. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { alike, PAGE, withProductionOutput } from '../scripts/production-tour.ts';
import { buildTestApp } from './helpers/app.ts';

t.test(
  'the tour of production mode in the README prints what the page shows',
  { skip: hasCurl() ? false : 'curl is not installed' },
  async (t) => {
    const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const [, token = ''] = (await services.auth.firstAdmin.link(base)).split('#');
    const page = readFileSync(PAGE, 'utf8');
    const now = await withProductionOutput(page, { base, token });
    t.equal(alike(now), alike(page), 'npm run production-tour brings it up to date');
    t.notMatch(now, /eyJ\w|mrr_\w/, 'it contains no token');
  },
);

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
