/**
 * The short torture test of functions, for every run of the tests; the long one is `node test/torture/functions-run.ts
 * --profile=long`.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { runSeed } from '../helpers/random.ts';
import { EDITS } from './functions/edits.ts';
import { SHORT, tortureFunctions } from './functions-run.ts';

t.setTimeout(300_000);
t.test('every event has its effect once and in order, whatever is killed', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { issues, deeds, ...figures } = await tortureFunctions({ ...SHORT, seed });
  t.comment(JSON.stringify({ ...figures, deeds }));
  t.strictSame(issues, []);
  t.strictSame([deeds.kills, deeds.runnerKills, deeds.restarts], [SHORT.kills, SHORT.runnerKills, SHORT.restarts]);
  t.ok(figures.acknowledged >= SHORT.writes);
  for (const name of ['chains', 'jobs', 'ticks'] as const) t.ok(figures[name] > 3, `${name}: ${figures[name]}`);
});

t.test('the mutations of functions still apply to the source', async (t) => {
  for (const { file, from } of EDITS) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    t.equal(text.split(from).length, 2, `${file} says once '${from}'`);
  }
});
