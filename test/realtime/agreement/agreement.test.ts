/**
 * What clients hold agrees with the log: at every position at which they are told where they stand, their state is the
 * answer of a model that replays the log up to there; and in the end it is what the database answers. They lose their
 * connections and go on. MILLRACE_LONG=1 makes 2,000 runs of it, MILLRACE_RUNS as many as it says, MILLRACE_SEED
 * repeats one.
 */
import t from 'tap';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { type LiveQuestion, LogModel } from '../../helpers/live/live-model.ts';
import { Random, runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { Judge } from './judge.ts';
import { type Asked, LiveClient } from './live-client.ts';
import { randomDocument, randomQuestion } from './random-values.ts';
import { randomWrite } from './random-writes.ts';
import { disagreement, playRuns, REFUSED, startServer } from './runs.ts';

const RUNS = runCount(8, 2_000);
const WRITES = 8;
const QUESTIONS = 5;
/** What ends so is asked again by its client: a drop can interrupt the database in the middle of a snapshot. */
const INTERRUPTED = /database-unavailable.*"retryable":true/;

t.setTimeout(120_000 + RUNS * 3_000);
t.test('clients agree with the log', async (t) => {
  const { app, parts, tail, url } = await startServer(t);
  const counts = { compared: 0, drawn: 0, ahead: 0, unknown: 0, resumed: 0, resets: 0, interrupted: 0 };

  await playRuns(t, RUNS, play);
  t.comment(JSON.stringify(counts));
  t.ok(counts.compared >= RUNS * QUESTIONS);
  t.ok(counts.drawn >= RUNS, 'many answers have an order');
  t.ok(counts.ahead <= counts.compared / 10, 'hardly any snapshot is ahead');
  t.ok(counts.unknown <= counts.compared / 4, 'the log nearly always says what happened');
  t.ok(counts.interrupted <= counts.compared / 50, 'hardly ever is the database interrupted');

  async function play(random: Random, name: string): Promise<string | null> {
    const from = tail.position.number;
    // Where a foreign writer makes the collection, its first changes have no images, which is a gap.
    const isOurs = !random.once(5);
    const drops = random.once(10);
    const size = random.once(3) ? 20 + random.below(40) : 1 + random.below(8);
    if (isOurs) {
      const payload = Array.from({ length: size }, () => randomDocument(random));
      await app.inject({ method: 'POST', url: `/api/${name}`, payload });
    }
    const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
    const clients = [0, 1].map(() => new LiveClient(t, { url, collection: name, questions }));
    const write = async (random: Random) => {
      for (let done = 0; done < WRITES; done++) {
        await randomWrite(random, { app, name, data: parts.mongo.data });
        if (drops && done === WRITES / 2) await parts.mongo.data.dropCollection(name);
      }
    };
    const living = clients.map((client) => live(client, new Random(random.next())));
    await Promise.all([write(new Random(random.next())), write(new Random(random.next())), ...living]);
    for (const client of clients) if (random.once(4)) await client.comeBack();
    const last = await markLog(app, tail);
    await until(() => clients.every((client) => client.reached(last)), 'all stand behind the last write');
    for (const client of clients) client.close();

    const judge = new Judge(
      new LogModel((await rowsBehind(tail, from)).filter((row) => row.collection === name)),
      counts,
    );
    for (const asked of clients.flatMap((client) => client.asked)) {
      const { question, state } = asked;
      const expected = new Set([
        ...(isOurs && !drops ? [] : ['gap']),
        ...(drops ? ['dropped'] : []),
        ...(question.limit === undefined ? [] : ['window']),
      ]);
      const odd = state.reasons.find((reason) => !expected.has(reason));
      if (state.ended && REFUSED.test(state.faults.join())) continue;
      if (drops && state.ended && INTERRUPTED.test(state.faults.join())) {
        counts.interrupted += 1;
        continue;
      }
      const fault = state.faults[0] ?? odd ?? judge.fault(question, state.checks) ?? (await ends(asked, name));
      if (fault !== null) return `${JSON.stringify(question)}: ${fault}`;
      counts.resets += state.resets;
    }
    return null;
  }

  /** Asks one question after the other, and loses the connection now and then. */
  async function live(client: LiveClient, random: Random): Promise<void> {
    await client.open();
    for (const asked of client.asked) {
      client.begin(asked);
      if (random.once(2)) await until(() => asked.state.settled, `${asked.state.id} is live`);
      if (!random.once(6)) continue;
      counts.resumed += 1;
      await client.comeBack();
    }
  }

  /** Whether what is held in the end is what the database answers. */
  async function ends({ question, state }: Asked, name: string): Promise<string | null> {
    const answer = await app.inject({ method: 'POST', url: `/api/${name}/_query`, payload: question as LiveQuestion });
    if (REFUSED.test(answer.body)) return null;
    if (answer.statusCode >= 400 && answer.statusCode !== 404) return answer.body;
    return disagreement(state.documents.values(), answer.statusCode === 404 ? [] : answer.json());
  }
});
