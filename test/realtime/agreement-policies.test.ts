/**
 * Policies that change while others write: whenever a client is told where it stands, it holds what the log says, as
 * far as policies in force a moment ago show it, never older ones again; and in the end exactly what a list would show it.
 * MILLRACE_LONG=1 makes 2,000 runs, MILLRACE_RUNS as many as it says, MILLRACE_SEED repeats one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { LogModel } from '../helpers/live-model.ts';
import { stateText } from '../helpers/live-state.ts';
import { markLog, rowsBehind } from '../helpers/log-rows.ts';
import { withPolicies } from '../helpers/policies.ts';
import { Random, runCount, runSeed } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { Judge, type View } from './judge.ts';
import { type Asked, LiveClient } from './live-client.ts';
import { randomDocument, randomQuestion } from './random-values.ts';
import { randomView } from './random-views.ts';
import { randomWrite } from './random-writes.ts';

const RUNS = runCount(12, 2_000);
const WRITES = 12;
const QUESTIONS = 4;
const CHANGES = 4;
/** Changed policies hold within a second, which is measured elsewhere; a machine under load may need longer. */
const GRACE_MS = 5_000;
/** What a question ends with that may not be asked any more. */
const HIDDEN = /field-hidden|policy-revoked|forbidden/;
const REFUSED = /sort-impossible/;

t.setTimeout(120_000 + RUNS * 3_000);
t.test('clients agree with the log and with lists under changing policies', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { app, parts } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '500' });
  const { tail } = parts.events;
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const counts = { compared: 0, drawn: 0, ahead: 0, unknown: 0, ended: 0, resets: 0, again: 0 };

  for (let run = 0; run < RUNS; run++) {
    const fault = await play(new Random(seed + run), `c${run}`).catch((error: unknown) => String(error));
    if (fault === null) continue;
    t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${fault}`);
    break;
  }
  t.comment(JSON.stringify(counts));
  t.ok(counts.compared > RUNS * QUESTIONS);
  t.ok(counts.ahead <= counts.compared / 4, 'few snapshots are ahead');

  async function play(random: Random, name: string): Promise<string | null> {
    const from = tail.position.number;
    const views: View[] = [];
    const change = () => {
      const { policies, shows } = randomView(random);
      const now = performance.now();
      const last = views.pop();
      if (last !== undefined) views.push({ ...last, to: now + GRACE_MS });
      withPolicies(parts, policies);
      views.push({ shows, from: now, to: Number.POSITIVE_INFINITY });
    };
    change();
    const payload = Array.from({ length: 1 + random.below(30) }, () => randomDocument(random));
    await app.inject({ method: 'POST', url: `/api/${name}`, payload });
    const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
    const client = new LiveClient(t, { url, collection: name, questions, token: ann.accessToken, forgets: true });
    await client.open();
    for (const asked of client.asked) client.begin(asked);
    const written = new Random(random.next());
    const writing = (async () => {
      for (let done = 0; done < WRITES; done++) await randomWrite(written, { app, name, data: parts.mongo.data });
    })();
    for (let made = 0; made < CHANGES; made++) {
      // What is live is told the difference; what is not begins anew.
      if (random.once(2)) await until(() => client.reached(0), 'all know where they stand');
      await pause(random.below(80));
      change();
      for (const asked of client.asked) if (asked.state.ended) askAgain(client, asked);
    }
    await writing;
    const last = await markLog(app, tail);
    await until(() => client.reached(last), 'all stand behind the last write');
    // The newest policies hold within a second, without more news.
    const faults: (string | null)[] = [];
    for (const asked of client.asked) faults.push(await ends(client, asked, name));
    client.close();

    const judge = new Judge(new LogModel((await rowsBehind(tail, from)).filter((row) => row.collection === name)));
    for (const [index, { question, state }] of client.asked.entries()) {
      const odd = state.faults.find((fault) => !HIDDEN.test(fault) && !REFUSED.test(fault));
      const fault = odd ?? judge.fault(question, state.checks, views) ?? faults[index] ?? null;
      if (fault !== null) return `${JSON.stringify(question)}: ${fault}`;
      counts.resets += state.resets;
      counts.ended += Number(state.ended);
    }
    for (const [what, count] of Object.entries(judge.counts)) counts[what as keyof typeof judge.counts] += count;
    return null;
  }

  function askAgain(client: LiveClient, asked: Asked): void {
    counts.again += 1;
    asked.state.again();
    client.begin(asked);
  }

  /** Whether what is held in the end is what a list shows; a question that a list refuses has ended. */
  async function ends(client: LiveClient, asked: Asked, name: string): Promise<string | null> {
    const { question, state } = asked;
    const url = `/api/${name}/_query`;
    const answer = await app.inject({ method: 'POST', url, payload: question, headers: ann.headers });
    if (REFUSED.test(answer.body)) return null;
    if (answer.statusCode === 403) {
      await until(() => state.ended, 'the end', GRACE_MS).catch(() => undefined);
      return state.ended ? null : 'goes on where a list is refused';
    }
    if (answer.statusCode !== 200) return answer.body;
    // Refused by policies that were in force when it was asked, and are no more.
    if (state.ended) askAgain(client, asked);
    const stored = stateText(answer.json());
    const held = () => stateText(state.documents.values());
    const is = () => state.live && held() === stored;
    await until(is, 'agreement', GRACE_MS).catch(() => undefined);
    return is() ? null : `ends with\n${held()}\nand not with\n${stored}\n${state.faults}`;
  }
});
