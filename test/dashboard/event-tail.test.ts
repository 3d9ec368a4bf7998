/** What the list of the page Events keeps, however much comes: a thousand rows, and no gap between them. */
import t from 'tap';
import type { LoggedEvent } from '../../client/client.ts';
import {
  changedTail,
  EMPTY_TAIL,
  MAX_ROWS,
  type Tail,
  type TailChange,
} from '../../dashboard/src/pages/events/tail.ts';

/** Events with these numbers. */
const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index): LoggedEvent => {
    return {
      id: `2-${from + index}`,
      type: 'todos.created',
      timestamp: '2026-01-01T00:00:00.000Z',
      collection: 'todos',
      documentId: null,
      revision: null,
      changed: null,
      actor: null,
      request: null,
      transaction: null,
      data: null,
      before: null,
    };
  });
const after = (...changes: readonly TailChange[]): Tail => changes.reduce(changedTail, EMPTY_TAIL);
const came = (from: number, to: number): TailChange => ({ kind: 'came', events: events(from, to), missed: null });
const begun: TailChange = { kind: 'newer', since: '2-5000', page: { events: [], position: '2-5000' }, isEnd: true };
/** The numbers of the newest and the oldest row, and how many there are. */
const span = ({ rows }: Pick<Tail, 'rows'>) => [rows[0]?.id, rows.at(-1)?.id, rows.length];

t.test('the newest are kept', async (t) => {
  const tail = after(begun, came(5001, 5600), came(5601, 6500));
  t.strictSame(span(tail), ['2-6500', '2-5501', MAX_ROWS]);
  t.equal(tail.before, '2-5501', 'older ones can be loaded again');
  t.equal(tail.followsFrom, '2-5000');
});

t.test('what comes again is shown once', async (t) => {
  t.strictSame(span(after(begun, came(5001, 5010), came(5005, 5012))), ['2-5012', '2-5001', 12]);
});

t.test('a list that is held gathers no more than it can show', async (t) => {
  const held = after(begun, came(5001, 5001), { kind: 'pause' }, came(5002, 7500));
  t.strictSame([held.rows.length, held.waiting.length], [1, MAX_ROWS]);
  const resumed = changedTail(held, { kind: 'resume' });
  t.strictSame(span(resumed), ['2-7500', '2-6501', MAX_ROWS]);
});

t.test('who goes far back no longer follows, and can read on without a gap', async (t) => {
  const older = (from: number, to: number): TailChange => {
    return { kind: 'older', older: { events: events(from, to), before: `2-${from}`, isAll: false } };
  };
  const back = after(begun, came(5001, 5100), older(4500, 5000), older(4000, 4499));
  t.strictSame(span(back), ['2-4999', '2-4000', MAX_ROWS]);
  t.strictSame([back.followsFrom, back.newest], [null, '2-4999'], 'it goes on from its newest row');
  const page = { events: events(5000, 5200), position: '2-5200' };
  const now = changedTail(back, { kind: 'newer', since: '2-4999', page, isEnd: true });
  t.strictSame(span(now), ['2-5200', '2-4201', MAX_ROWS]);
  t.equal(now.followsFrom, '2-5200');
});
