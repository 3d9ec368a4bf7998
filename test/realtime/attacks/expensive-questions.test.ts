/**
 * Ten sockets with the most expensive queries that a connection may have (all 24 of them with MILLRACE_LONG=1), polls with filters, and writes of 200 KB:
 * another client is served in between, and every query gets its results. Figures are printed; the limits hold on a busy
 * machine, too.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { type Frame, openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { isLong } from '../../helpers/long-profile.ts';
import { testMongo } from '../../helpers/mongo.ts';
import type { Hold } from '../../helpers/programs/loop-holds.ts';
import { startProgram } from '../../helpers/programs/program.ts';
import { until } from '../../helpers/until.ts';

const SOCKETS = 10;
const QUERIES = isLong ? 24 : 12;
const WRITES = isLong ? 6 : 3;
/** Longest time that the program may block its event loop, in milliseconds of CPU: the maximum wait of others. */
const MOST_MS = 200;

/** A filter with a cost just below the limit. Only documents with the name match. */
const expensive = (name: string) => ({
  $or: [
    { text: { $contains: name } },
    ...Array.from({ length: 150 }, (_, n) => ({ text: { $icontains: `${name}${n}` } })),
    { text: { $like: `*q*${name}*` } },
  ],
});

const cheap = (name: string) => ({
  $or: [{ text: { $contains: name } }, { text: { $icontains: `${name}7` } }, { text: { $regex: `${name[0]}{2}` } }],
});

/**
 * Whether a frame contains a document: a change, or a snapshot for a subscription that restarted because it was slow.
 */
const reports = ({ documentId, documents }: Frame, requested: string) =>
  documentId === requested ||
  (Array.isArray(documents) && documents.some(({ id }: { id: string }) => id === requested));

const figures = (times: readonly number[]) => {
  const sorted = [...times].sort((a, b) => a - b).map(Math.round);
  return { count: sorted.length, median: sorted[sorted.length >> 1], worst: sorted.at(-1) ?? 0 };
};

t.setTimeout(300_000);
t.test('other clients are served beside expensive queries, which also get results', { timeout: 240_000 }, async (t) => {
  const { url: mongo, database } = await testMongo(t);
  const holdsFile = join(t.testdir(), 'holds');
  const { url } = await startProgram(t, {
    MONGODB_URL: mongo,
    MILLRACE_DB: database,
    MILLRACE_MODE: 'development',
    LOOP_HOLDS: holdsFile,
    NODE_OPTIONS: `--import ${new URL('../../helpers/programs/loop-holds.ts', import.meta.url).href}`,
  });
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', prefer: 'return=minimal' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(await response.text());
    await response.arrayBuffer();
  };
  await post('/api/large', { id: 'first' });
  await post('/api/calm', { id: 'first' });

  const neighbour = await openSocket(t, url);
  neighbour.send({ type: 'subscribe', id: 'calm', collection: 'calm' });
  await neighbour.frame({ type: 'live' });
  const attackers: TestSocket[] = [];
  for (let socket = 0; socket < SOCKETS; socket++) {
    const attacker = await openSocket(t, url);
    attackers.push(attacker);
    for (let n = 0; n < QUERIES; n++) {
      const name = `w${socket}x${n}y`;
      const filter = n === 3 ? expensive(name) : cheap(name);
      const wish =
        n % 8 === 0
          ? { events: ['large.*'], filter: { 'after.text': { $icontains: name } } }
          : { collection: 'large', query: { filter, ...(n % 8 === 1 ? { limit: 5 } : {}) } };
      attacker.send({ type: 'subscribe', id: `s${n}`, ...wish });
      await pause(25);
    }
    const isLive = () => attacker.frames.filter(({ type }) => type === 'live').length === QUERIES;
    await until(isLive, `the questions of socket ${socket}`);
  }

  const attackedAt = Date.now();
  const waits = { get: [] as number[], frame: [] as number[] };
  let going = true;
  const gets = (async () => {
    while (going) {
      const began = performance.now();
      await (await fetch(`${url}/api/calm/first`)).arrayBuffer();
      waits.get.push(performance.now() - began);
      await pause(20);
    }
  })();
  const frames = (async () => {
    for (let n = 0; going; n++) {
      const began = performance.now();
      await post('/api/calm', { id: `c${n}` });
      await until(() => neighbour.frames.some((frame) => frame['documentId'] === `c${n}`), 'a frame', 60_000);
      waits.frame.push(performance.now() - began);
    }
  })();
  const filter = encodeURIComponent(JSON.stringify({ text: { $icontains: 'nowhere' } }));
  const start = (await (await fetch(`${url}/api/large/_changes`)).json()) as { position: string };
  const polls = Array.from({ length: SOCKETS }, async () => {
    while (going) await (await fetch(`${url}/api/large/_changes?since=${start.position}&filter=${filter}`)).json();
  });
  const words = 'the quick brown fox jumps over the lazy dog '.repeat(4_700);
  for (let n = 0; n < WRITES; n++) {
    await post('/api/large', { id: `d${n}`, text: `${words} w${n % SOCKETS}x3y and W${n % SOCKETS}X5Y7` });
    await pause(250);
  }
  going = false;
  await Promise.all([gets, frames, ...polls]);

  for (let n = 0; n < WRITES; n++) {
    const attacker = attackers[n % SOCKETS];
    const isReported = (id: string) => attacker?.frames.some((one) => one['id'] === id && reports(one, `d${n}`));
    await until(
      () => isReported('s3') === true && isReported('s5') === true,
      `d${n} is sent to its subscribers`,
      60_000,
    );
  }
  const holds = readFileSync(holdsFile, 'utf8')
    .trim()
    .split('\n')
    .map((line): Hold => JSON.parse(line));
  const held = figures(holds.filter(({ at }) => at >= attackedAt).map(({ cpuMs }) => cpuMs));
  t.comment(`GET ${JSON.stringify(figures(waits.get))} ms, write to frame ${JSON.stringify(figures(waits.frame))} ms`);
  t.comment(`the event loop was held, in ms of CPU: ${JSON.stringify(held)}`);
  t.ok(held.worst < MOST_MS, `the event loop was held for ${held.worst} ms of CPU at worst`);
  t.ok(waits.frame.length > 0 && waits.get.length > 0, 'the neighbor was served in between');
  t.ok(attackers.every(({ closed }) => closed === null));
});
