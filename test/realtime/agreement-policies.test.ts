/**
 * Policies that change while others write: in the end a client holds exactly what a list would show it, and no frame
 * after a change tells what the new policies hide. MILLRACE_LONG=1 makes 1,000 runs, MILLRACE_SEED repeats one.
 */
import t from 'tap';
import { signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { LiveState, stateText } from '../helpers/live-model.ts';
import { withPolicies } from '../helpers/policies.ts';
import { Random, runSeed } from '../helpers/random.ts';
import { openSocket } from '../helpers/socket.ts';
import { until } from '../helpers/until.ts';
import { type Named, randomDocument, randomQuestion, randomWrite } from './random-writes.ts';

const LONG = process.env['MILLRACE_LONG'] === '1';
const RUNS = LONG ? 1_000 : 12;
const QUESTIONS = 4;
const CHANGES = 4;

/** What the user may read, in one of many ways; writers may do everything. */
function randomPolicies(random: Random): object[] {
  const read = { collections: ['*'], actions: ['read'], principals: { authenticated: true } };
  const wheres = [{}, { n: { $lt: random.below(6) } }, { n: { $gte: random.below(4) } }, { s: 'a' }, { tags: 'b' }];
  const fields = random.once(3) ? { fields: { read: ['*', '-v'] } } : {};
  const grants = [{ ...read, where: random.pick(wheres), ...fields }];
  if (random.once(3)) grants.push({ ...read, where: random.pick(wheres) });
  const deny = random.once(3) ? [{ ...read, effect: 'deny', where: { n: random.below(6) } }] : [];
  const others = {
    collections: ['*'],
    actions: ['read', 'create', 'update', 'delete'],
    principals: { anonymous: true },
  };
  return [...grants, ...deny, others];
}

t.setTimeout(LONG ? 3_600_000 : 120_000);
t.test('clients agree with lists under changing policies', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  let compared = 0;
  let reset = 0;

  for (let run = 0; run < RUNS; run++) {
    const random = new Random(seed + run);
    const name = `c${run}`;
    const collection = parts.mongo.data.collection<Named>(name);
    withPolicies(parts, randomPolicies(random));
    const documents = Array.from({ length: 8 }, () => randomDocument(random));
    await app.inject({ method: 'POST', url: `/api/${name}`, payload: documents });
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
    const states = questions.map((_, index) => new LiveState(`s${index}`));
    socket.onFrame = (frame) => {
      for (const state of states) state.take(frame);
    };
    for (const [index, query] of questions.entries()) {
      socket.send({ type: 'subscribe', id: `s${index}`, collection: name, query });
    }
    const writing = (async () => {
      for (let done = 0; done < 12; done++) await randomWrite(random, { app, name, collection });
    })();
    const chance = new Random(seed + run + 1_000_000);
    for (let change = 0; change < CHANGES; change++) {
      await new Promise((resolve) => setTimeout(resolve, chance.below(60)));
      withPolicies(parts, randomPolicies(chance));
    }
    await writing;
    for (const [index, state] of states.entries()) {
      const question = questions[index] ?? {};
      const answer = await app.inject({
        method: 'POST',
        url: `/api/${name}/_query`,
        payload: question,
        headers: ann.headers,
      });
      // A question about a field that became hidden has ended or soon will, and a list refuses it, too.
      const hasEnded = () => state.faults.some((fault) => /field-hidden|policy-revoked/.test(fault));
      if (answer.statusCode === 403)
        await until(hasEnded, 'the end of a refused question', 4_000).catch(() => undefined);
      if (hasEnded()) continue;
      if (answer.statusCode !== 200) {
        t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${JSON.stringify(question)}: ${answer.body}`);
        return;
      }
      const stored = stateText(answer.json());
      const held = () => stateText(state.documents.values());
      await until(() => held() === stored || state.faults.length > 0, 'agreement', 4_000).catch(() => undefined);
      compared += 1;
      reset += state.resets;
      if (held() !== stored || state.faults.length > 0) {
        t.fail(
          `run ${run}, MILLRACE_SEED=${seed + run}: ${JSON.stringify(question)} ends with\n${held()}\nnot\n${stored}\n${state.faults}`,
        );
        return;
      }
    }
    socket.socket.close();
  }
  t.comment(`${compared} answers compared, ${reset} began anew meanwhile`);
  t.ok(compared > RUNS);
});
