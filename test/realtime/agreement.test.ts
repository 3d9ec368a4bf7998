/**
 * What clients hold agrees with the log: at every position at which they are told where they stand, their state is the
 * answer of a model that replays the log up to there; and in the end it is what the database answers.
 * MILLRACE_LONG=1 makes 2,000 runs of it, MILLRACE_SEED repeats one.
 */
import t from 'tap';
import { formatPosition } from '../../src/events/position.ts';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/event-world.ts';
import {
  answerTo,
  type Check,
  type LiveQuestion,
  LiveState,
  LogModel,
  numberOf,
  stateText,
} from '../helpers/live-model.ts';
import { Random, runSeed } from '../helpers/random.ts';
import { openSocket, type TestSocket } from '../helpers/socket.ts';
import { type Named, randomDocument, randomQuestion, randomWrite } from './random-writes.ts';

const LONG = process.env['MILLRACE_LONG'] === '1';
const RUNS = LONG ? 2_000 : 15;
const WRITES = 12;
const QUESTIONS = 5;

const isSettled = (state: LiveState | undefined) => state?.live === true || (state?.faults.length ?? 1) > 0;

t.setTimeout(LONG ? 3_600_000 : 120_000);
t.test('clients agree with the log', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { app, parts } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '250' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  let checks = 0;
  let ahead = 0;

  for (let run = 0; run < RUNS; run++) {
    const random = new Random(seed + run);
    const name = `c${run}`;
    const collection = parts.mongo.data.collection<Named>(name);
    const from = parts.events.tail.position.number;
    const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
    const fault = await play(random, name, questions);
    if (fault !== null) {
      t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${fault}`);
      break;
    }

    async function play(random: Random, name: string, questions: readonly LiveQuestion[]): Promise<string | null> {
      // Where a foreign writer makes the collection, its first changes have no images, which is a gap.
      const isOurs = !random.once(5);
      if (isOurs) {
        const documents = Array.from({ length: 1 + random.below(8) }, () => randomDocument(random));
        await app.inject({ method: 'POST', url: `/api/${name}`, payload: documents });
      }
      const socket = await openSocket(t, url);
      const states = questions.map((_, index) => new LiveState(`s${index}`));
      socket.onFrame = (frame) => {
        for (const state of states) state.take(frame);
      };
      const places = { app, name, collection };
      const write = async () => {
        for (let done = 0; done < WRITES; done++) await randomWrite(random, places);
      };
      const writing = write();
      for (const [index, query] of questions.entries()) {
        socket.send({ type: 'subscribe', id: `s${index}`, collection: name, query });
        if (random.once(2)) await until(() => isSettled(states[index]), `s${index} is live`);
      }
      await writing;
      await settle(socket, states);
      socket.socket.close();
      const rows = (await allRows(from)).filter((row) => row.collection === name);
      const model = new LogModel(rows);
      for (const [index, state] of states.entries()) {
        const question = questions[index] ?? {};
        const told =
          state.faults[0] ?? (isOurs && state.resets > 0 ? 'was reset' : judge(model, question, state.checks));
        if (told !== null) return `${JSON.stringify(question)}: ${told}`;
        const answer = await app.inject({ method: 'POST', url: `/api/${name}/_query`, payload: question });
        const stored = answer.statusCode === 404 ? '' : stateText(answer.json());
        const held = stateText(state.documents.values());
        if (held !== stored) return `${JSON.stringify(question)} ends with\n${held}\nand not with\n${stored}`;
      }
      return null;
    }
  }

  /** All states that were said to be live; a snapshot may be ahead of its position until the next event. */
  function judge(model: LogModel, question: LiveQuestion, stands: readonly Check[]): string | null {
    for (const { position, state, fresh } of stands) {
      checks += 1;
      const number = numberOf(position);
      const expected = stateText(answerTo(question, model.documentsAt(number)));
      if (expected === state) continue;
      const later = model.rows.filter((row) => row.number > number).slice(0, 20);
      const isAhead = later.some((row) => stateText(answerTo(question, model.documentsAt(row.number))) === state);
      if (!fresh || !isAhead) return `at ${position} holds\n${state}\nand not\n${expected}`;
      ahead += 1;
    }
    return null;
  }

  /** Everything has been told, and clients have been told so. */
  async function settle(socket: TestSocket, states: readonly LiveState[]): Promise<void> {
    // A write of ours behind all others: its row is behind theirs.
    const last = await new Promise<number>((resolve) => {
      const detach = parts.events.tail.attach({
        rows: (rows) => {
          const mark = rows.find((row) => row.collection === 'marks' && row.operation === 'insert');
          if (mark === undefined) return;
          detach();
          resolve(mark.number);
        },
      });
      void app.inject({ method: 'POST', url: '/api/marks', payload: {} });
    });
    await until(() => states.every(isSettled), 'all are live');
    const reached = (position: unknown) => numberOf(String(position)) >= last;
    const told = () => socket.frames.some((frame) => frame.type === 'ping' && reached(frame['position']));
    await until(told, `a ping at ${formatPosition({ epoch: 1, number: last })}`);
  }

  async function allRows(from: number) {
    const rows = [];
    for (let at = from; ; ) {
      const more = await parts.events.tail.read(at, 1_000);
      const last = more.at(-1);
      if (last === undefined) return rows;
      rows.push(...more);
      at = last.number;
    }
  }

  t.comment(`${checks} states compared, ${ahead} of them ahead of their position`);
  t.ok(checks >= RUNS * QUESTIONS);
  t.ok(ahead <= checks / 20, 'hardly any snapshot is ahead');
});
