/**
 * The verification samples of docs/webhooks.md, in every language that is installed here: each verifies the same
 * deliveries, signed by the public library `standardwebhooks`.
 */
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { judge, SAMPLE_PROGRAMS } from './sample-programs.ts';
import { asLines, type Vector, vectors } from './vectors.ts';

t.test('the public library verifies these deliveries as we do', async (t) => {
  for (const vector of vectors()) t.equal(byLibrary(vector), vector.genuine, vector.name);
});

for (const { language, why, build } of SAMPLE_PROGRAMS) {
  t.test(language, { skip: why() ?? false }, async (t) => {
    const program = build(t.testdir());
    const deliveries = vectors();
    const said = await judge(program, asLines(deliveries));
    t.equal(said.length, deliveries.length, 'it says something of each');
    for (const [i, { name, genuine }] of deliveries.entries()) t.equal(said[i], String(genuine), name);
  });
}

function byLibrary({ secrets, id, timestamp, signatures, body }: Vector): boolean {
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures };
  return secrets.some((secret) => {
    try {
      new Webhook(secret).verify(body, headers, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  });
}
