/** The short torture, small enough for every run of the tests; the long one is `node test/torture/run.ts`. */
import t from 'tap';
import { SHORT, torture } from './run.ts';

t.test('what is acknowledged is told once and in order, whatever is killed and frozen', async (t) => {
  const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 1_000_000);
  t.comment(`MILLRACE_SEED=${seed}`);
  const verdict = await torture({ ...SHORT, seed });
  const { faults, deeds, ...figures } = verdict;
  t.comment(JSON.stringify({ ...figures, deeds }));
  t.same(faults, []);
  t.ok(figures.acknowledged > 500);
  t.ok(figures.told > figures.rows, 'several processes were told');
  t.same([deeds.kills, deeds.freezes, deeds.restarts], [SHORT.kills, SHORT.freezes, SHORT.restarts]);
});
