/**
 * Live clients of several processes that are killed while they write: judged on raw frames, the ids of a subscription
 * rise on each connection, and all connections together were told every event. MILLRACE_LONG=1 kills thirty times.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { WebSocket } from 'ws';
import { decodeRow } from '../../src/events/row.ts';
import { LiveState, numberOf, stateText } from '../helpers/live-model.ts';
import { type Program, startMillrace } from '../helpers/millrace.ts';
import { testMongo } from '../helpers/mongo.ts';
import { Random, runSeed } from '../helpers/random.ts';
import type { Frame } from '../helpers/socket.ts';
import { until } from '../helpers/until.ts';

const LONG = process.env['MILLRACE_LONG'] === '1';
const KILLS = LONG ? 30 : 2;
const SUBSCRIBERS = LONG ? 50 : 8;
const PROCESSES = LONG ? 3 : 2;
const PAUSE_MS = LONG ? 3_000 : 1_500;

t.setTimeout(LONG ? 1_800_000 : 150_000);
t.test('nothing is missed under kills', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const random = new Random(seed);
  const { url, database } = await testMongo(t);
  const folder = await mkdtemp(join(tmpdir(), 'kills-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const mongo = await new MongoClient(url).connect();
  t.teardown(() => mongo.close());
  const start = (index: number) =>
    startMillrace(t, { folder: join(folder, String(index)), env: { MONGODB_URL: url, MILLRACE_DB: database } });
  const programs: Program[] = await Promise.all(Array.from({ length: PROCESSES }, (_, index) => start(index)));
  const todos = mongo.db(database).collection<{ _id: string; n: number }>('todos');
  await fetch(`${programs[0]?.url}/api/todos`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":"first","n":0}',
  });

  const subscribers = Array.from({ length: SUBSCRIBERS }, () => new Subscriber(() => random.pick(programs).url));
  t.teardown(() => {
    for (const subscriber of subscribers) subscriber.stop();
  });
  await until(() => subscribers.every(({ state }) => state.live), 'all are live', 30_000);
  let going = true;
  let count = 0;
  const writing = (async () => {
    while (going) {
      count += 1;
      await todos.updateOne({ _id: `d${count % 40}` }, { $set: { n: count } }, { upsert: true });
      if (count % 9 === 0) await todos.deleteOne({ _id: `d${(count * 7) % 40}` });
    }
  })();
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(PAUSE_MS);
    const index = kill % programs.length;
    await programs[index]?.end('SIGKILL');
    programs[index] = await start(index);
  }
  await pause(PAUSE_MS);
  going = false;
  await writing;
  await todos.insertOne({ _id: 'last', n: -1 });

  await until(() => subscribers.every(({ state }) => state.documents.has('last')), 'all are told the last', 60_000);
  const answer = await (await fetch(`${programs[0]?.url}/api/todos`)).json();
  const stored = stateText(Array.isArray(answer) ? answer : []);
  const rows = await mongo
    .db(`${database}_log`)
    .collection('log')
    .find({ c: 'todos' }, { raw: true, sort: { _id: 1 } })
    .toArray();
  const events = rows
    .map((raw) => decodeRow(raw as unknown as Uint8Array))
    .filter(({ operation, key }) => key !== null && operation !== 'create')
    .map(({ number }) => number);
  t.comment(
    `${count} writes, ${events.length} events, ${subscribers.reduce((sum, one) => sum + one.lines, 0)} connections`,
  );
  for (const [index, { state, seen, faults, from }] of subscribers.entries()) {
    t.equal(stateText(state.documents.values()), stored, `${index} holds what is stored`);
    t.strictSame(faults, [], `${index}: ids rise on each connection`);
    if (state.resets > 0) t.comment(`${index} was reset ${state.resets} times`);
    else
      t.strictSame(
        events.filter((event) => event > from && !seen.has(event)).slice(0, 5),
        [],
        `${index} missed nothing`,
      );
  }
  t.ok(subscribers.filter(({ state }) => state.resets === 0).length > SUBSCRIBERS / 2, 'hardly anybody begins anew');
});

/** A client that comes back by itself, to whichever process there is, and judges the frames as they come. */
class Subscriber {
  readonly state = new LiveState('s');
  readonly seen = new Set<number>();
  readonly faults: string[] = [];
  lines = 0;
  /** The first position at which it was live. */
  from = Number.POSITIVE_INFINITY;
  #last = 0;
  #socket: WebSocket | null = null;
  #stopped = false;
  readonly #where: () => string;

  constructor(where: () => string) {
    this.#where = where;
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#socket?.terminate();
  }

  #connect(): void {
    if (this.#stopped) return;
    this.#last = 0;
    const socket = new WebSocket(`${this.#where().replace('http', 'ws')}/realtime`);
    this.#socket = socket;
    socket.on('open', () => {
      this.lines += 1;
      socket.send('{"type":"hello"}');
      const since = this.state.position === null ? {} : { since: this.state.position };
      socket.send(JSON.stringify({ type: 'subscribe', id: 's', collection: 'todos', ...since }));
    });
    socket.on('message', (bytes) => this.#take(JSON.parse(String(bytes)), socket));
    socket.on('error', () => {});
    socket.on('close', () => setTimeout(() => this.#connect(), 100));
  }

  #take(frame: Frame, socket: WebSocket): void {
    if (frame.type === 'ping') socket.send('{"type":"pong"}');
    if (frame.type === 'change') {
      const number = numberOf(String(frame['event']));
      if (number <= this.#last) this.faults.push(`${number} after ${this.#last}`);
      this.#last = number;
      this.seen.add(number);
    }
    this.state.take(frame);
    if (frame.type === 'live') this.from = Math.min(this.from, numberOf(String(frame['position'])));
    // A database that is away for a moment ends a subscription, which may be asked for again.
    if (frame.type === 'unsubscribed' && frame['retryable'] === true) socket.close();
  }
}
