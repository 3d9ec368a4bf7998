/**
 * The short torture test of realtime, for every run of the tests, and the judge's reaction to forged frames; the long
 * one is `node test/torture/live-run.ts --profile=long`.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { runSeed } from '../helpers/random.ts';
import { FORGERIES, forged } from './live/forgeries.ts';
import { judge } from './live/judge.ts';
import { MUTATIONS } from './live/mutations.ts';
import { SHORT, tortureLive } from './live-run.ts';

t.setTimeout(240_000);
t.test('every realtime frame is correct, whatever is killed', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { evidence, figures, issues } = await tortureLive({ ...SHORT, seed });
  const verdict = judge(evidence);
  t.comment(JSON.stringify({ ...verdict, ...figures }));
  t.strictSame([...issues, ...verdict.issues], []);
  const { kills, restarts } = figures.deeds;
  t.strictSame([kills, restarts], [SHORT.kills, SHORT.restarts]);
  t.ok(figures.writes >= SHORT.writes);
  t.ok(verdict.resumed >= SHORT.sockets + SHORT.streams, 'they reconnected, most of them more than once');
  t.ok(verdict.unbroken > (verdict.subscriptions - verdict.windows) / 2, 'few subscriptions had to restart');

  for (const [name, forgery] of Object.entries(FORGERIES)) {
    const lie = forged(evidence, forgery);
    if (lie === null) t.comment(`no connection where ${name}`);
    else t.not(judge(lie).issues.length, 0, `the judge detects that ${name}`);
  }
});

t.test('the mutations of realtime still apply to the source', async (t) => {
  for (const [name, { file, from }] of Object.entries(MUTATIONS)) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    t.equal(text.split(from).length, 2, `${name}: ${file} says once '${from}'`);
  }
});
