/** Rows whose documents were too large for the log are completed a few at a time, however many there are. */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { FairSemaphore } from '../../../src/lib/concurrency/fair-semaphore.ts';
import { Hub } from '../../../src/realtime/hub/hub.ts';
import { Backlog } from '../../../src/realtime/subscription/missed-rows-reader.ts';

const ROWS = 100;
const MOST = 8;

t.test('rows without documents are completed a few at a time', async (t) => {
  const rows = Array.from({ length: ROWS }, (_, index): LogRow => {
    const time = new Timestamp({ t: 1, i: index });
    const common = {
      epoch: 1,
      token: '82',
      time,
      wall: new Date(0),
      operation: 'update',
      collection: 'large',
    } as const;
    return { ...LOG_ROW_DEFAULTS, ...common, number: index + 1, big: true };
  });
  let waiting = 0;
  let most = 0;
  const completed = async (row: LogRow): Promise<LogRow> => {
    waiting += 1;
    most = Math.max(most, waiting);
    return row;
  };
  const tail = {
    position: { epoch: 1, number: ROWS },
    attach: () => () => {},
    hasInMemory: () => true,
    read: async (after: number, limit: number) => rows.slice(after, after + limit),
  };
  const hub = new Hub({ tail, completed, onError: (error) => t.fail(String(error)) });
  const readers = new FairSemaphore(1, 1);
  const backlog = new Backlog({ hub, log: { about: async () => null }, completed, readers });
  const reported: number[] = [];
  for (let after = 0; after < ROWS; ) {
    after = await backlog.read({ after, through: ROWS, collections: null, whose: 'a' }, ({ segments, through }) => {
      reported.push(...segments.flatMap((segment) => segment.rows.map(({ number }) => number)));
      waiting = 0;
      return through;
    });
  }
  t.strictSame(
    reported,
    rows.map(({ number }) => number),
  );
  t.ok(most <= MOST, `${most} documents of up to 16 MB at once`);
  await hub.close();
});
