/**
 * Many subscriptions that catch up at once leave room for others: one piece of that work in a turn of the event loop,
 * however quickly the rows are available. Rows that do not match are not encoded.
 */
import { BSON } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { FairScheduler } from '../../../src/query/evaluate/fair-scheduler.ts';
import type { BacklogChunk, BacklogQuery } from '../../../src/realtime/subscription/missed-rows-reader.ts';
import { checkResume } from '../../../src/realtime/subscription/resume-check.ts';
import { toChangeMessage } from '../../../src/realtime/wire/shared-message.ts';

const CLIENTS = 20;
const STRETCHES = 5;

function rowOf(number: number): LogRow {
  const time = new BSON.Timestamp({ t: 1, i: number });
  const changed = {
    operation: 'insert',
    collection: 'todos',
    key: Buffer.from(BSON.serialize({ _id: number })),
  } as const;
  return { ...LOG_ROW_DEFAULTS, ...changed, number, epoch: 1, token: '', time, wall: new Date(0) };
}

t.test('subscriptions that resume at once take turns', async (t) => {
  const mark = { epoch: 1, number: STRETCHES, time: null };
  let turn = 0;
  let going = true;
  const tick = () => {
    turn += 1;
    if (going) setImmediate(tick);
  };
  setImmediate(tick);
  const judged: number[] = [];
  const parts = {
    feed: { usable: async () => ({ epoch: 1, number: 0 }) },
    hub: { newest: mark, turn: 0 },
    fairYield: new FairScheduler(),
    backlog: {
      // All of it is available: nothing here waits for a turn of the event loop.
      read: async ({ after }: BacklogQuery, use: (stretch: BacklogChunk) => unknown) => {
        const number = after + 1;
        return await use({ segments: [{ rows: [rowOf(number)], joined: false }], through: number });
      },
    },
  };
  const judge = () => {
    judged.push(turn);
    return [toChangeMessage('1-1', () => t.fail('nobody is notified') as never)];
  };
  const live = { isHeavy: () => false, prepare: async () => {} };
  const requested = { collections: ['todos'], principal: { kind: 'anonymous' }, whose: 'a', judge, live } as const;
  const missed = () => checkResume(parts as unknown as Parameters<typeof checkResume>[0], '1-0', requested);
  const verdicts = await Promise.all(Array.from({ length: CLIENTS }, missed));
  going = false;
  t.strictSame(verdicts, Array(CLIENTS).fill({ position: { epoch: 1, number: 0 }, through: mark }));
  t.equal(judged.length, CLIENTS * STRETCHES);
  t.equal(new Set(judged).size, CLIENTS * STRETCHES, 'no two pieces in one turn');
});

t.test('a message is encoded once, when the first client receives it', async (t) => {
  let requested = 0;
  const message = toChangeMessage('1-2', () => {
    requested += 1;
    return { op: 'leave', documentId: 'a', reason: 'deleted', at: '2026-01-02T03:04:05.678Z' };
  });
  t.equal(requested, 0);
  t.match(message.frame('s').toString(), '"op":"leave"');
  t.match(message.chunk().toString(), '"event":"1-2"');
  t.match(message.part('s').toString(), '"reason":"deleted"');
  t.equal(requested, 1);
});

t.test('clients take turns, whatever work each has', async (t) => {
  const fairYield = new FairScheduler();
  const passed: string[] = [];
  const pass = (client: string) => fairYield.waitTurn(client).then(() => passed.push(client));
  await Promise.all([...Array.from({ length: 50 }, () => pass('many')), pass('one'), pass('other')]);
  t.same(passed.slice(0, 4), ['many', 'one', 'other', 'many']);
  t.equal(passed.length, 52);
});
