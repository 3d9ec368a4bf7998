/** A result that ends in a batch that is not sent, because the log breaks off during it: its client restarts. */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { EMPTY_ROW, type LogRow } from '../../../src/events/log/row.ts';
import type { TailListener } from '../../../src/events/log/tail.ts';
import { Hub } from '../../../src/realtime/hub/hub.ts';
import type { LiveResponse, Verification } from '../../../src/realtime/result/live-result.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const rows = [1, 2].map(
  (number): LogRow => ({
    ...EMPTY_ROW,
    operation: 'drop',
    collection: 'todos',
    number,
    epoch: 1,
    token: '',
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(0),
  }),
);

const liveOf = (key: string, judge: (number: number) => Verification): LiveResponse => ({
  key,
  collection: null,
  remembers: false,
  wanting: false,
  rendersAlone: false,
  isHeavy: () => false,
  prepare: async () => {},
  judge: ({ number }) => judge(number),
  refill: async () => [],
  payer: unbounded(),
  payBy: () => {},
  end: () => {},
});

const ways: Record<string, (listener: TailListener | null) => void> = {
  'rows are missing': (listener) => listener?.lost?.(),
  'another result fails': () => {
    throw new Error('It cannot be judged');
  },
};

for (const [way, breakOff] of Object.entries(ways)) {
  t.test(way, async (t) => {
    let listener: TailListener | null = null;
    const tail = {
      position: { epoch: 1, number: 0 },
      attach: (attached: TailListener) => {
        listener = attached;
        return () => {};
      },
      read: async (after: number) => rows.filter(({ number }) => number > after),
    };
    const hub = new Hub({ tail, completed: async (row) => row, onError: () => {} });
    t.teardown(() => hub.close());
    const line = {
      writableLength: 0,
      writable: true,
      cork: () => {},
      uncork: () => {},
      on: () => {},
      write: () => true,
    };
    const queue = new SendQueue(line, new FlushScheduler(), unbounded());
    const resets: string[] = [];
    const other = await new Promise<string>((resolve) => {
      const follow = (live: LiveResponse, onReset: (reason: string) => void) => {
        hub.join(
          { id: live.key, queue, after: 0, until: null, absent: null, reset: onReset, lag: () => {} },
          live,
          null,
        );
      };
      follow(
        liveOf('ended', (number) => (number === 1 ? 'dropped' : [])),
        (reason) => resets.push(reason),
      );
      const judge = (number: number) => {
        if (number === 2) breakOff(listener);
        return [];
      };
      follow(liveOf('other', judge), resolve);
      Object(listener).rows(rows);
    });
    t.equal(other, 'gap');
    t.strictSame(resets, ['gap']);
  });
}
