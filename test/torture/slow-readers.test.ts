/**
 * Ten clients that request as much as they can and read almost nothing of it: another client gets its responses at
 * once, and the program's memory stays limited. The program runs by itself; MILLRACE_LONG=1 runs more
 * attacks, for a minute each.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { streamUpload } from '../helpers/files/stream-upload.ts';
import { isLong, onlyLong } from '../helpers/long-profile.ts';
import { testMongo } from '../helpers/mongo.ts';
import { startProgram } from '../helpers/programs/program.ts';

const HOLD_MS = isLong ? 60_000 : 2_000;
const SOCKETS = 10;
const MB = 1_000_000;
/** Maximum extra wait of the other client, compared with the same machine without an attack. */
const MOST_WAIT_MS = 200;
const MOST_GROWTH = 300 * MB;

t.setTimeout(240_000);

t.test('slow readers do not delay other clients or exhaust memory', async (t) => {
  const { url: mongo, database } = await testMongo(t);
  const program = await startProgram(t, { MONGODB_URL: mongo, MILLRACE_DB: database });
  const client = await new MongoClient(mongo).connect();
  t.teardown(() => client.close());
  const db = client.db(database);
  await db.collection('small').insertMany(Array.from({ length: 20 }, (_, n) => ({ n })));
  const filling = 'x'.repeat(160_000);
  for (let n = 0; n < 8; n++) {
    await db.collection('large').insertMany(Array.from({ length: 100 }, () => ({ filling })));
  }
  const named = Array.from({ length: 100 }, (_, n) => ({ _id: `d${n}`, filling }));
  await db.collection<{ _id: string }>('named').insertMany(named);
  await db.collection('names').insertMany(Array.from({ length: 500 }, () => ({ a: named.map(({ _id }) => _id) })));
  const file = JSON.parse((await streamUpload(program.url, { seed: 1, size: 40 * MB }))?.body ?? '{}').url;

  /** Sends another client's query repeatedly; returns the longest wait. */
  async function neighbour(signal: AbortSignal): Promise<number> {
    let worst = 0;
    while (!signal.aborted) {
      const start = performance.now();
      const response = await fetch(`${program.url}/api/small?limit=20`);
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`The other client got status ${response.status}`);
      worst = Math.max(worst, performance.now() - start);
      await pause(20);
    }
    return worst;
  }

  /** Reads a little now and then, and requests again when it is cut off or rejected. */
  function slowly(path: string, end: AbortSignal): void {
    const { hostname, port } = new URL(program.url);
    const socket: Socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
    socket.pause();
    const sip = setInterval(() => void socket.read(1), 200);
    const give = () => socket.destroy();
    end.addEventListener('abort', give);
    socket.once('close', () => {
      clearInterval(sip);
      end.removeEventListener('abort', give);
    });
  }

  // A machine that is busy with other work delays everything, and not always for the same time.
  const calm = 3 * (await neighbour(AbortSignal.timeout(HOLD_MS)));
  t.comment(`without an attack the worst wait is ${(calm / 3).toFixed(0)} ms`);
  const attacks = {
    'lists of all documents': () => '/api/large',
    // Equal pages would share what they read.
    'pages of 16 MB': (n: number) => `/api/large?limit=100&skip=${n}`,
    'expanded documents': () => '/api/names?expand=a:named&limit=3',
    'more than expand allows': () => '/api/names?expand=a:named',
    downloads: () => new URL(file).pathname,
  };
  for (const [name, path] of Object.entries(attacks)) {
    // Attacks on the way of another one, which goes through the same queue of a connection.
    const options = /pages|more than/.test(name) ? onlyLong : {};
    await t.test(name, options, async (t) => {
      const rest = program.rss();
      const end = new AbortController();
      const requesting = neighbour(end.signal);
      let peak = 0;
      for (let n = 0; n < SOCKETS; n++) slowly(path(n), end.signal);
      for (const until = performance.now() + HOLD_MS; performance.now() < until; await pause(10)) {
        peak = Math.max(peak, program.rss());
      }
      end.abort();
      const worst = await requesting;
      t.comment(`${name}: worst wait ${worst.toFixed(0)} ms, ${((peak - rest) / MB).toFixed(0)} MB above rest`);
      // A reply of 16 MB takes the program some 40 ms, and ten may come at one moment.
      const most = (name === 'pages of 16 MB' ? 3 : 1) * MOST_WAIT_MS + calm;
      t.ok(worst < most, `the other client waited ${worst.toFixed(0)} ms at most`);
      t.ok(peak - rest < MOST_GROWTH, `${((peak - rest) / MB).toFixed(0)} MB`);
    });
  }
});
