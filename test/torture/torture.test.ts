/** The short torture test of the log, for every run of the tests; the long one is `node test/torture/run.ts`. */
import t from 'tap';
import { SHORT, torture } from './run.ts';

t.test('acknowledged writes are recorded once and in order, whatever is killed and frozen', async (t) => {
  const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 1_000_000);
  t.comment(`MILLRACE_SEED=${seed}`);
  const verdict = await torture({ ...SHORT, seed });
  const { issues, deeds, ...figures } = verdict;
  t.comment(JSON.stringify({ ...figures, deeds }));
  t.same(issues, []);
  t.ok(figures.acknowledged > 500);
  t.ok(figures.reported > figures.rows, 'several processes received the log');
  t.same([deeds.kills, deeds.freezes, deeds.restarts], [SHORT.kills, SHORT.freezes, SHORT.restarts]);
});
