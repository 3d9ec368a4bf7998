/**
 * A subscription that is ahead of the process, by its snapshot or because it read the log by itself, and one that is
 * not, have the same query: both receive the same result, whichever comes first.
 */
import { BSON, type Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { LogRowBatch } from '../../../src/realtime/hub/log-row-batch.ts';
import { SubscriptionGroupIndex } from '../../../src/realtime/hub/subscription-group-index.ts';
import { LiveQuery } from '../../../src/realtime/result/live-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import { SnapshotReader } from '../../../src/realtime/result/snapshot-reader.ts';
import { toWindowMember } from '../../../src/realtime/result/window-member.ts';
import { FlushScheduler, SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const turns = new FlushScheduler();

/** The ids that a client of the frames shows. */
function client(ids: readonly string[]) {
  const shown = new Set(ids);
  const queue = new SendQueue(
    {
      writableLength: 0,
      writable: true,
      cork: () => {},
      uncork: () => {},
      on: () => {},
      write: (chunk) => {
        const { op, documentId } = JSON.parse(/^data: (.*)$/m.exec(String(chunk))?.[1] ?? '');
        if (op === 'leave') shown.delete(documentId);
        else shown.add(documentId);
        return true;
      },
    },
    turns,
    unbounded(),
  );
  return { shown, queue };
}

interface LogCursor {
  readonly after: number;
  readonly until: Timestamp | null;
}

t.test('one batch is new to one of two subscriptions and half known to the other', async (t) => {
  const { services } = await buildTestApp(t);
  const { data } = services.mongo;
  const name = parseCollectionName('todos');
  const write = async (command: object): Promise<Timestamp> => (await data.command(command))['operationTime'];
  const todo = (id: string, n: number) => ({ _id: id, n });
  const [a, b, c, d, e] = [todo('A', 1), todo('B', 2), todo('C', 3), todo('D', 4), todo('E', 5)];
  await write({ insert: name, documents: [a, b, c, d, e] });
  const deleted = await write({ delete: name, deletes: [{ q: { _id: 'A' }, limit: 1 }] });
  const z = todo('Z', 0);
  const inserted = await write({ insert: name, documents: [z] });

  const row = (number: number, time: Timestamp, change: Partial<LogRow> & Pick<LogRow, 'operation'>): LogRow => ({
    ...LOG_ROW_DEFAULTS,
    ...{ epoch: 1, number, token: 'x', time, wall: new Date(0), collection: 'todos' },
    ...change,
  });
  const raw = (document: object) => Buffer.from(BSON.serialize(document));
  const rows = [
    row(1, deleted, { operation: 'delete', key: raw({ _id: 'A' }), before: raw(a) }),
    row(2, inserted, { operation: 'insert', key: raw({ _id: 'Z' }), after: raw(z) }),
  ];
  const store = new SnapshotReader(data, 5_000);
  const begin: LogCursor = { after: 0, until: null };

  for (const [requested, query, first, last] of [
    ['a window', { sort: 'n', limit: 2 }, ['A', 'B'], ['B', 'Z']],
    ['all documents', {}, ['A', 'B', 'C', 'D', 'E'], ['B', 'C', 'D', 'E', 'Z']],
  ] as const) {
    const keyed = 'sort' in query;
    const spec = toLiveQuerySpec(
      name,
      toSubscriptionQuery(parseQueryJson(query), keyed, new Date()),
      unlimitedScope({ kind: 'anonymous' }, 'read'),
    );
    const response = (documents: readonly object[]) => {
      const live = new LiveQuery(spec, store, unbounded());
      const fields = documents.map((document) => toWindowMember(document, spec));
      live.window?.fill(fields, false);
      return live;
    };
    for (const [how, logCursor] of [
      ['by its snapshot', { after: 0, until: deleted }],
      ['by what it read itself', { after: 1, until: null }],
    ] as const) {
      for (const aheadFirst of [false, true]) {
        await t.test(`${requested}, ahead ${how}, ${aheadFirst ? 'first' : 'last'}`, async (t) => {
          const earlier = client(first);
          const ahead = client(keyed ? ['B', 'C'] : ['B', 'C', 'D', 'E']);
          const registry = new SubscriptionGroupIndex();
          const join = (queue: SendQueue, { after, until }: LogCursor, live: LiveQuery) =>
            registry.join(
              { id: null, queue, after, until, absent: null, reset: () => t.fail('no reset'), lag: () => {} },
              live,
              null,
            );
          if (aheadFirst) join(ahead.queue, logCursor, response([b, c, d, e]));
          join(earlier.queue, begin, response([a, b, c, d, e]));
          if (!aheadFirst) join(ahead.queue, logCursor, response([b, c, d, e]));

          const batch = new LogRowBatch(registry, (error) => t.fail(String(error)));
          await batch.judge(rows);
          batch.report();
          turns.flush();
          t.strictSame([...earlier.shown].sort(), last, 'who followed from the beginning');
          t.strictSame([...ahead.shown].sort(), last, 'who was ahead');
        });
      }
    }
  }
});
