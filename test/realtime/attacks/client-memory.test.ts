/**
 * Anonymous attackers with ten sockets who make the server hold as much as possible: long sort keys, unread snapshots,
 * changes under many ids, large queries. The process stays small, and an honest client continues exactly.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { WebSocket } from 'ws';
import { onlyLong } from '../../helpers/long-profile.ts';
import { type Attacked, type Figures, startAttacked } from '../../helpers/programs/neighbour.ts';

const MEMORY = 300 * 1024 * 1024;
/** Longest time that the program may block its event loop, in milliseconds of CPU: the maximum wait of others. */
const MOST_MS = 100;
const SOCKETS = 10;

function judge(t: Test, { memory, worstWaitMs, worstHoldMs, probes, issues }: Figures): void {
  const [mib, wait, hold] = [memory / 1024 / 1024, worstWaitMs, worstHoldMs].map(Math.round);
  t.comment(`${mib} MiB above rest, worst wait ${wait} ms of ${probes}, event loop held for ${hold} ms of CPU`);
  t.ok(memory < MEMORY, 'the process stays small');
  t.ok(worstHoldMs < MOST_MS, `the event loop was blocked for ${hold} ms of CPU at worst`);
  t.strictSame(issues, [], 'and its result is exact');
}

t.setTimeout(300_000);

const sockets = ({ open }: Attacked) => Promise.all(Array.from({ length: SOCKETS }, () => open()));

/** Sends messages on all sockets at the rate that the protocol allows. */
async function flood(lines: readonly WebSocket[], count: number, message: (line: number, n: number) => object) {
  for (let n = 0; n < count; n++) {
    for (const [index, line] of lines.entries())
      if (line.readyState === 1) line.send(JSON.stringify(message(index, n)));
    await pause(25);
  }
}

const text = (bytes: number) => randomBytes(bytes / 2).toString('hex');

t.test('windows with long sort keys do not exhaust memory', { timeout: 120_000 }, async (t) => {
  const attacked = await startAttacked(t);
  const many = Array.from({ length: 1_100 }, (_, n) => ({ n, key: text(20_000) }));
  await attacked.data.collection<object>('long').insertMany(many);
  const figures = await attacked.during(async () => {
    const lines = await sockets(attacked);
    await flood(lines, 60, (line, n) => ({
      type: 'subscribe',
      id: `s${n}`,
      collection: 'long',
      query: { filter: { n: { $gte: -1 - line * 1_000 - n } }, sort: 'key', limit: 1_000, fields: ['n'] },
    }));
    await pause(2_000);
  });
  judge(t, figures);
});

t.test('unread snapshots do not exhaust memory', { timeout: 120_000 }, async (t) => {
  const attacked = await startAttacked(t);
  const many = Array.from({ length: 120 }, (_, n) => ({ n, text: text(300_000) }));
  await attacked.data.collection<object>('large').insertMany(many);
  const figures = await attacked.during(async () => {
    const lines = await sockets(attacked);
    for (const line of lines) line.pause();
    await flood(lines, 60, (line, n) => ({
      type: 'subscribe',
      id: `s${n}`,
      collection: 'large',
      query: { filter: { n: { $gte: -1 - line * 1_000 - n } } },
    }));
    await pause(2_000);
  });
  judge(t, figures);
});

// Their bytes are counted in client-memory-bytes.test.ts.
t.test(
  'changes of large documents under many ids do not exhaust memory',
  { timeout: 120_000, ...onlyLong },
  async (t) => {
    const attacked = await startAttacked(t);
    const figures = await attacked.during(async () => {
      const lines = await sockets(attacked);
      await flood(lines, 100, (line, n) => ({ type: 'subscribe', id: `s${line}-${n}`, collection: 'wide' }));
      for (const line of lines) line.pause();
      for (let n = 0; n < 10; n++) await attacked.request('POST', '/api/wide', { n, text: text(800_000) });
      await pause(2_000);
    });
    judge(t, figures);
  },
);

t.test('large queries', { timeout: 120_000, ...onlyLong }, async (t) => {
  const attacked = await startAttacked(t);
  const figures = await attacked.during(async () => {
    const lines = await sockets(attacked);
    await flood(lines, 180, (line, n) => ({
      type: 'subscribe',
      id: `s${n}`,
      collection: 'asked',
      query: { filter: { n: { $in: Array.from({ length: 9_000 }, (_, value) => value + line + n) } } },
    }));
    await pause(1_000);
  });
  judge(t, figures);
});
