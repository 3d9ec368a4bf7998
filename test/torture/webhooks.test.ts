/**
 * The short torture test of webhooks, for every run of the tests; the long one is `node test/torture/webhooks-run.ts
 * --profile=long`.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { onlyLong } from '../helpers/long-profile.ts';
import { runSeed } from '../helpers/random.ts';
import { EDITS } from './webhooks/edits.ts';
import { SHORT, SHORT_SVIX, tortureWebhooks } from './webhooks-run.ts';

t.setTimeout(600_000);
t.test('every event arrives, redacted correctly, whatever is killed', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { issues, deeds, ...figures } = await tortureWebhooks({ ...SHORT, seed });
  t.comment(JSON.stringify({ ...figures, deeds }));
  t.strictSame(issues, []);
  t.strictSame([deeds.kills, deeds.restarts], [SHORT.kills, SHORT.restarts]);
  t.ok(figures.acknowledged >= SHORT.writes);
  t.ok(figures.failed > 10, 'receivers failed');
});

// A Svix that fails, loses and repeats: test/webhooks/sending/svix-sender.test.ts.
t.test('every event arrives through a Svix that dies at random', onlyLong, async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { issues, deeds, ...figures } = await tortureWebhooks({ ...SHORT_SVIX, seed });
  t.comment(JSON.stringify({ ...figures, deeds }));
  t.strictSame(issues, []);
  t.ok(figures.acknowledged >= SHORT_SVIX.writes);
  t.ok(figures.deaths > 0, 'Svix died');
});

t.test('the mutations of webhooks still apply to the source', async (t) => {
  for (const { file, from } of EDITS) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    t.equal(text.split(from).length, 2, `${file} says once '${from}'`);
  }
});
