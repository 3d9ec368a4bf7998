/**
 * Writes with idempotency keys while the program is killed repeatedly: a client that repeats a write with its key until
 * it gets a response has executed it exactly once. Three kills; with MILLRACE_LONG=1 thirty. MILLRACE_SEED repeats the
 * random choices.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { testMongo } from '../../helpers/mongo.ts';
import { type Program, startProgram } from '../../helpers/programs/program.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const KILLS = process.env['MILLRACE_LONG'] === '1' ? 30 : 3;
const WRITERS = 6;
/** A server that is down has not received the request. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && JSON.stringify(error.cause ?? '').includes('ECONNREFUSED');
}

/** Locks of a killed transaction are released after its lease, some seconds later. */
const RESPONSE_MS = 60_000;

t.test('every write repeated until its response has one effect', { timeout: 900_000 }, async (t) => {
  const random = new Random(runSeed());
  t.comment(`MILLRACE_SEED=${random.seed}`);
  const { url, database } = await testMongo(t);
  const start = () => startProgram(t, { MONGODB_URL: url, MILLRACE_DB: database });
  let program: Program = await start();
  let ending = false;
  let response = 0;
  let unknown = 0;
  let replayed = 0;

  /** Sends one write until it gets a final response. */
  async function sendUntilResponse(key: string, path: string, method: string, type: string, body: unknown) {
    const deadline = performance.now() + RESPONSE_MS;
    while (performance.now() < deadline) {
      try {
        const result = await fetch(`${program.url}${path}`, {
          method,
          headers: { 'content-type': type, 'idempotency-key': key },
          body: JSON.stringify(body),
        });
        const text = await result.text();
        if (result.ok) {
          response++;
          if (result.headers.get('idempotency-replayed') === 'true') replayed++;
          return;
        }
        const { code } = JSON.parse(text);
        if (result.status < 500 && code !== 'idempotency-key-in-use' && code !== 'write-conflict') {
          throw new TypeError(`${method} ${path}: ${text}`);
        }
      } catch (error) {
        if (error instanceof TypeError && !error.message.startsWith('fetch') && !/terminated/.test(error.message))
          throw error;
        if (!isRefusal(error)) unknown++;
      }
      await pause(100);
    }
    throw new Error(`${method} ${path} got no response`);
  }

  async function write(writer: number): Promise<number> {
    const own = `/api/sums/w${writer}`;
    await sendUntilResponse(`c${writer}`, '/api/sums', 'POST', 'application/json', { id: `w${writer}`, n: 0 });
    for (let n = 1; ; n++) {
      if (ending) return n - 1;
      const mark = `${writer}-${n}`;
      await sendUntilResponse(`a${mark}`, '/api/marks', 'POST', 'application/json', { mark });
      await sendUntilResponse(`i${mark}`, own, 'PATCH', 'application/vnd.millrace.update+json', { $inc: { n: 1 } });
      const operations = [
        { method: 'POST', path: '/api/pairs', body: { mark }, ref: 'p' },
        { method: 'POST', path: '/api/pairs', body: { mark, of: '$p.id' } },
      ];
      await sendUntilResponse(`b${mark}`, '/batch', 'POST', 'application/json', { operations });
    }
  }

  const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
  // A writer that fails early is reported at the end, not as an unhandled rejection.
  const all = Promise.allSettled(writers).finally(() => {
    ending = true;
  });
  for (let kill = 0; kill < KILLS; kill++) {
    const enough = response + 5 + random.below(40);
    while (response < enough && !ending) await pause(5);
    await program.kill();
    program = await start();
  }
  ending = true;
  const counts = (await all).map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });

  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const data = client.db(database);
  const written = counts.reduce((sum, count) => sum + count, 0);
  t.comment(`${written} rounds, ${unknown} unknown outcomes, ${replayed} replays`);
  t.ok(written > 0);
  t.ok(unknown > 0, 'some outcomes were unknown');
  for (const [writer, count] of counts.entries()) {
    const sum = await data.collection<{ _id: string; n: number }>('sums').findOne({ _id: `w${writer}` });
    t.equal(sum?.n, count, `writer ${writer} counted to ${count}`);
  }
  for (const [name, times] of [
    ['marks', 1],
    ['pairs', 2],
  ] as const) {
    const groups = await data
      .collection(name)
      .aggregate([{ $group: { _id: '$mark', count: { $sum: 1 } } }])
      .toArray();
    t.equal(groups.length, written, name);
    t.strictSame(
      groups.filter((group) => group['count'] !== times),
      [],
      `${name}: each ${times}`,
    );
  }
});
