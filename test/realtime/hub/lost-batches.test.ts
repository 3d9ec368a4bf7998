/** A result that ends in a batch that is not sent, because the log breaks off during it: its client restarts. */
import { Timestamp } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import type { LogTailListener } from '../../../src/events/log/log-tail.ts';
import { Hub } from '../../../src/realtime/hub/hub.ts';
import type { LiveResult, RowEffect } from '../../../src/realtime/result/live-result-interface.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const rows = [1, 2].map(
  (number): LogRow => ({
    ...LOG_ROW_DEFAULTS,
    operation: 'drop',
    collection: 'todos',
    number,
    epoch: 1,
    token: '',
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(0),
  }),
);

const liveOf = (key: string, judge: (number: number) => RowEffect): LiveResult => ({
  key,
  collection: null,
  isStateful: false,
  needsRefill: false,
  rendersAlone: false,
  isHeavy: () => false,
  prepare: async () => {},
  applyRow: ({ number }) => judge(number),
  refill: async () => [],
  memoryAccount: unbounded(),
  chargeTo: () => {},
  end: () => {},
});

const ways: Record<string, (listener: LogTailListener | null) => void> = {
  'rows are missing': (listener) => listener?.lost?.(),
  'another result fails': () => {
    throw new Error('It cannot be judged');
  },
};

for (const [way, breakOff] of Object.entries(ways)) {
  t.test(way, async (t) => {
    let listener: LogTailListener | null = null;
    const tail = {
      position: { epoch: 1, number: 0 },
      attach: (attached: LogTailListener) => {
        listener = attached;
        return () => {};
      },
      hasInMemory: () => true,
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
      const follow = (live: LiveResult, onReset: (reason: string) => void) => {
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
