/**
 * Clients agree with the log: at every position that they receive, their state is the result of a model that replays
 * the log up to there; and in the end it equals the database's result. They lose their connections and continue.
 * MILLRACE_LONG=1 runs 2,000 times, MILLRACE_RUNS sets the number, MILLRACE_SEED repeats one.
 */
import t from 'tap';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { type LiveQuery, LogModel } from '../../helpers/live/live-model.ts';
import { Random, runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { Judge } from './judge.ts';
import { LiveClient, type Requested } from './live-client.ts';
import { randomDocument, randomQuery } from './random-values.ts';
import { randomWrite } from './random-writes.ts';
import { disagreement, playRuns, REFUSED, startServer } from './runs.ts';

const RUNS = runCount(8, 2_000);
const WRITES = 8;
const QUERIES = 5;
/** A client subscribes again after these errors: a drop can interrupt the database during a snapshot. */
const INTERRUPTED = /database-unavailable.*"retryable":true/;

t.setTimeout(120_000 + RUNS * 3_000);
t.test('clients agree with the log', async (t) => {
  const { app, parts: services, tail, url } = await startServer(t);
  const counts = { compared: 0, drawn: 0, ahead: 0, unknown: 0, resumed: 0, resets: 0, interrupted: 0 };

  await playRuns(t, RUNS, play);
  t.comment(JSON.stringify(counts));
  t.ok(counts.compared >= RUNS * QUERIES);
  t.ok(counts.drawn >= RUNS, 'many results have an order');
  t.ok(counts.ahead <= counts.compared / 10, 'hardly any snapshot is ahead');
  t.ok(counts.unknown <= counts.compared / 4, 'the log nearly always has the cause');
  t.ok(counts.interrupted <= counts.compared / 50, 'the database is rarely interrupted');

  async function play(random: Random, name: string): Promise<string | null> {
    const from = tail.position.number;
    // If a foreign writer creates the collection, its first changes have no images, which is a gap.
    const isOurs = !random.once(5);
    const drops = random.once(10);
    const size = random.once(3) ? 20 + random.below(40) : 1 + random.below(8);
    if (isOurs) {
      const payload = Array.from({ length: size }, () => randomDocument(random));
      await app.inject({ method: 'POST', url: `/api/${name}`, payload });
    }
    const queries = Array.from({ length: QUERIES }, () => randomQuery(random));
    const clients = [0, 1].map(() => new LiveClient(t, { url, collection: name, queries }));
    const write = async (random: Random) => {
      for (let done = 0; done < WRITES; done++) {
        await randomWrite(random, { app, name, data: services.mongo.data });
        if (drops && done === WRITES / 2) await services.mongo.data.dropCollection(name);
      }
    };
    const living = clients.map((client) => live(client, new Random(random.next())));
    await Promise.all([write(new Random(random.next())), write(new Random(random.next())), ...living]);
    for (const client of clients) if (random.once(4)) await client.comeBack();
    const last = await markLog(app, tail);
    await until(() => clients.every((client) => client.reached(last)), 'all have received the last write');
    for (const client of clients) client.close();

    const judge = new Judge(
      new LogModel((await rowsBehind(tail, from)).filter((row) => row.collection === name)),
      counts,
    );
    for (const requested of clients.flatMap((client) => client.requested)) {
      const { query, state } = requested;
      const expected = new Set([
        ...(isOurs && !drops ? [] : ['gap']),
        ...(drops ? ['dropped'] : []),
        ...(query.limit === undefined ? [] : ['window']),
      ]);
      const odd = state.reasons.find((reason) => !expected.has(reason));
      if (state.ended && REFUSED.test(state.issues.join())) continue;
      if (drops && state.ended && INTERRUPTED.test(state.issues.join())) {
        counts.interrupted += 1;
        continue;
      }
      const issue = state.issues[0] ?? odd ?? judge.issue(query, state.checks) ?? (await ends(requested, name));
      if (issue !== null) return `${JSON.stringify(query)}: ${issue}`;
      counts.resets += state.resets;
    }
    return null;
  }

  /** Subscribes to one query after the other, and loses the connection now and then. */
  async function live(client: LiveClient, random: Random): Promise<void> {
    await client.open();
    for (const requested of client.requested) {
      client.begin(requested);
      if (random.once(2)) await until(() => requested.state.settled, `${requested.state.id} is live`);
      if (!random.once(6)) continue;
      counts.resumed += 1;
      await client.comeBack();
    }
  }

  /** Whether the final state equals the database's result. */
  async function ends({ query, state }: Requested, name: string): Promise<string | null> {
    const response = await app.inject({ method: 'POST', url: `/api/${name}/_query`, payload: query as LiveQuery });
    if (REFUSED.test(response.body)) return null;
    if (response.statusCode >= 400 && response.statusCode !== 404) return response.body;
    return disagreement(state.documents.values(), response.statusCode === 404 ? [] : response.json());
  }
});
