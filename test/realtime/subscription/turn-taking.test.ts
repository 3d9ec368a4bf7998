/**
 * Many who look for what they missed at one time leave the others room: one piece of that work in a turn of the event
 * loop, however quickly the rows are at hand. And what is only looked through is not put into words.
 */
import { BSON } from 'mongodb';
import t from 'tap';
import { EMPTY_ROW, type LogRow } from '../../../src/events/log/row.ts';
import { Turnstile } from '../../../src/query/evaluate/turnstile.ts';
import type { Missed, Stretch } from '../../../src/realtime/subscription/backlog.ts';
import { checkResume } from '../../../src/realtime/subscription/resume-check.ts';
import { toMessage } from '../../../src/realtime/wire/shared-message.ts';

const CLIENTS = 20;
const STRETCHES = 5;

function rowOf(number: number): LogRow {
  const time = new BSON.Timestamp({ t: 1, i: number });
  const changed = {
    operation: 'insert',
    collection: 'todos',
    key: Buffer.from(BSON.serialize({ _id: number })),
  } as const;
  return { ...EMPTY_ROW, ...changed, number, epoch: 1, token: '', time, wall: new Date(0) };
}

t.test('those who come back at once take turns', async (t) => {
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
    turnstile: new Turnstile(),
    backlog: {
      // All of it at hand: nothing here waits for a turn of the event loop.
      read: async ({ after }: Missed, use: (stretch: Stretch) => unknown) => {
        const number = after + 1;
        return await use({ segments: [{ rows: [rowOf(number)], joined: false }], through: number });
      },
    },
  };
  const judge = () => {
    judged.push(turn);
    return [toMessage('1-1', () => t.fail('nobody is told') as never)];
  };
  const live = { isHeavy: () => false, prepare: async () => {} };
  const asked = { collections: ['todos'], principal: { kind: 'anonymous' }, whose: 'a', judge, live } as const;
  const missed = () => checkResume(parts as unknown as Parameters<typeof checkResume>[0], '1-0', asked);
  const verdicts = await Promise.all(Array.from({ length: CLIENTS }, missed));
  going = false;
  t.strictSame(verdicts, Array(CLIENTS).fill({ place: { epoch: 1, number: 0 }, through: mark }));
  t.equal(judged.length, CLIENTS * STRETCHES);
  t.equal(new Set(judged).size, CLIENTS * STRETCHES, 'no two pieces in one turn');
});

t.test('a message is put into words once, when the first client is told', async (t) => {
  let asked = 0;
  const message = toMessage('1-2', () => {
    asked += 1;
    return { op: 'leave', documentId: 'a', reason: 'deleted', at: '2026-01-02T03:04:05.678Z' };
  });
  t.equal(asked, 0);
  t.match(message.frame('s').toString(), '"op":"leave"');
  t.match(message.chunk().toString(), '"event":"1-2"');
  t.match(message.part('s').toString(), '"reason":"deleted"');
  t.equal(asked, 1);
});

t.test('clients take turns, however much one of them has to do', async (t) => {
  const turnstile = new Turnstile();
  const passed: string[] = [];
  const pass = (client: string) => turnstile.pass(client).then(() => passed.push(client));
  await Promise.all([...Array.from({ length: 50 }, () => pass('many')), pass('one'), pass('other')]);
  t.same(passed.slice(0, 4), ['many', 'one', 'other', 'many']);
  t.equal(passed.length, 52);
});
