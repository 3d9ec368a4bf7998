/** A subscription whose snapshot is ahead of the log joins a window that others follow: both are told the same answer. */
import { BSON, type Timestamp } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../src/database/names.ts';
import { EMPTY_ROW, type LogRow } from '../../src/events/row.ts';
import { unlimited } from '../../src/policies/scope.ts';
import { parseQueryJson } from '../../src/query/parse-query.ts';
import { Batch } from '../../src/realtime/batch.ts';
import { GroupBook } from '../../src/realtime/group-book.ts';
import { LiveQuery, toMember } from '../../src/realtime/live-query.ts';
import { Outlet, Turns } from '../../src/realtime/outlet.ts';
import { toAsked, toQuestion } from '../../src/realtime/question.ts';
import { SnapshotStore } from '../../src/realtime/snapshot-store.ts';
import { buildTestApp } from '../helpers/app.ts';

const turns = new Turns();

/** The ids that a client of the frames shows. */
function client(ids: readonly string[]) {
  const shown = new Set(ids);
  const outlet = new Outlet(
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
  );
  return { shown, outlet };
}

t.test('one batch parts a snapshot from what came behind it', async (t) => {
  const { parts } = await buildTestApp(t);
  const { data } = parts.mongo;
  const name = parseCollectionName('todos');
  const write = async (command: object): Promise<Timestamp> => (await data.command(command))['operationTime'];
  const todo = (id: string, n: number) => ({ _id: id, n });
  const [a, b, c, d, e] = [todo('A', 1), todo('B', 2), todo('C', 3), todo('D', 4), todo('E', 5)];
  await write({ insert: name, documents: [a, b, c, d, e] });
  const deleted = await write({ delete: name, deletes: [{ q: { _id: 'A' }, limit: 1 }] });
  const z = todo('Z', 0);
  const inserted = await write({ insert: name, documents: [z] });

  const asked = toAsked(parseQueryJson({ sort: 'n', limit: 2 }), true, new Date());
  const question = toQuestion(name, asked, unlimited({ kind: 'anonymous' }, 'read'));
  const store = new SnapshotStore(data, 5_000);
  const answer = (documents: readonly object[]) => {
    const live = new LiveQuery(question, store);
    const members = documents.map((document) => toMember(document, question));
    live.window?.fill(members, false);
    return live;
  };
  const earlier = client(['A', 'B']);
  const ahead = client(['B', 'C']);
  const book = new GroupBook();
  const join = (outlet: Outlet, until: Timestamp | null, live: LiveQuery) =>
    book.join({ id: null, outlet, after: 0, until, reset: () => t.fail('no reset') }, live, null);
  join(earlier.outlet, null, answer([a, b, c, d, e]));
  join(ahead.outlet, deleted, answer([b, c, d, e]));

  const row = (number: number, time: Timestamp, change: Partial<LogRow> & Pick<LogRow, 'operation'>): LogRow => ({
    ...EMPTY_ROW,
    ...{ epoch: 1, number, token: 'x', time, wall: new Date(0), collection: 'todos' },
    ...change,
  });
  const raw = (document: object) => Buffer.from(BSON.serialize(document));
  const batch = new Batch(book, (error) => t.fail(String(error)));
  await batch.judge([
    row(1, deleted, { operation: 'delete', key: raw({ _id: 'A' }), before: raw(a) }),
    row(2, inserted, { operation: 'insert', key: raw({ _id: 'Z' }), after: raw(z) }),
  ]);
  batch.tell();
  turns.flush();
  t.strictSame([...earlier.shown].sort(), ['B', 'Z'], 'who followed from the beginning');
  t.strictSame([...ahead.shown].sort(), ['B', 'Z'], 'who came with a snapshot ahead of the log');
});
