/**
 * Equal subscriptions share one read of the database and one set of encoded messages, which are counted once. What each
 * client receives is as exact as if it had read by itself.
 */
import { BSON } from 'mongodb';
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

const KEY = 'shared snapshots';
const DOCUMENTS = 1_500;

interface Doc {
  readonly _id: string;
  readonly n: number;
  readonly text: string;
}

async function start(t: Test, { count = DOCUMENTS, bytes = 1_000 } = {}) {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { store, hub, budget } = services.realtime.deps;
  await services.mongo.data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  const todos = services.mongo.data.collection<Doc>('todos');
  const text = 'x'.repeat(bytes);
  await todos.insertMany(Array.from({ length: count }, (_, n) => ({ _id: `t${n}`, n, text })));
  await markLog(app, services.events.tail);
  const reads = { count: 0 };
  const open = store.open.bind(store);
  store.open = (...requested) => {
    reads.count += 1;
    return open(...requested);
  };
  // As on a database that is written to all the time: the log has arrived at the present.
  store.operationTime = async () => hub.newest.time;
  const subscribe = async (query: object = {}): Promise<TestSocket> => {
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection: 'todos', query });
    return socket;
  };
  const live = async (query?: object): Promise<TestSocket> => {
    const socket = await subscribe(query);
    await socket.frame({ type: 'live' });
    return socket;
  };
  const mark = () => markLog(app, services.events.tail);
  return { todos, store, hub, budget, reads, subscribe, live, mark };
}

/** The documents that a client shows, by id. */
function shownBy(socket: TestSocket): Record<string, unknown> {
  const shown = new Map<string, unknown>();
  for (const frame of socket.of('s')) {
    if (frame.type === 'reset') shown.clear();
    for (const one of (frame['documents'] ?? []) as { id: string; n: number }[]) shown.set(one.id, one.n);
    const id = String(frame['documentId']);
    if (frame['op'] === 'leave') shown.delete(id);
    else if (frame.type === 'change') shown.set(id, (frame['document'] as { n: number }).n);
  }
  return Object.fromEntries(shown);
}

t.test('clients that subscribe at once share one read, and each receives all of it', async (t) => {
  const { todos, reads, live } = await start(t);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => live()));
  t.equal(reads.count, 1);
  for (const socket of sockets) t.equal(Object.keys(shownBy(socket)).length, DOCUMENTS);
  await todos.updateOne({ _id: 't7' }, { $set: { n: -1 } });
  for (const socket of sockets) t.match(await socket.frame({ type: 'change' }), { op: 'update', documentId: 't7' });
});

for (const [name, query] of Object.entries({ list: {}, window: { sort: 'n', limit: 100 } })) {
  t.test(`a later client gets the kept snapshot of a ${name}, and the rows since`, async (t) => {
    const { todos, reads, live, mark } = await start(t);
    const first = await live(query);
    await todos.updateOne({ _id: 't1' }, { $set: { n: 1.5 } });
    await todos.deleteOne({ _id: 't2' });
    await todos.insertOne({ _id: 'new', n: -1, text: '' });
    await mark();
    const later = await live(query);
    t.equal(reads.count, 1);
    t.equal(later.of('s').filter(({ type }) => type === 'change').length >= 3, true, 'the rows since');
    t.strictSame(shownBy(later), shownBy(first));
    t.match(shownBy(later), { t1: 1.5, new: -1 });
    t.notOk('t2' in shownBy(later));
  });
}

t.test('a snapshot is read again while the log may lack what a client has written', async (t) => {
  const { todos, store, hub, reads, live } = await start(t, { count: 3 });
  const first = await live();
  const { time } = hub.newest;
  await todos.updateOne({ _id: 't1' }, { $set: { n: 7 } });
  await first.frame({ type: 'change' });
  store.operationTime = async () => BSON.Timestamp.fromBits(0, (time?.getHighBits() ?? 0) + 60);
  const later = await live();
  t.equal(reads.count, 2);
  t.match(later.of('s').find(({ type }) => type === 'snapshot')?.['documents'], [{}, { id: 't1', n: 7 }, {}]);
});

t.test('a result that has become invalid starts with a new snapshot, not with the kept one', async (t) => {
  const { todos, reads, live } = await start(t, { count: 3 });
  const sockets = [await live(), await live()];
  t.equal(reads.count, 1);
  await todos.drop();
  for (const socket of sockets) {
    const from = socket.frames.indexOf(await socket.frame({ type: 'reset' }));
    await socket.frame({ type: 'live' }, from);
    t.strictSame(shownBy(socket), {});
    t.equal(socket.of('s').filter(({ type }) => type === 'reset').length, 1);
  }
});

t.test('what slow clients have not read is counted once, until the last of them has gone', async (t) => {
  const { budget, subscribe, reads } = await start(t, { bytes: 2_000 });
  const paused = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const socket = await subscribe();
      socket.socket.pause();
      return socket;
    }),
  );
  const isEncoded = () => budget.of(KEY) > DOCUMENTS * 2_000 && budget.of(KEY) < DOCUMENTS * 2_200;
  await until(isEncoded, 'it is encoded, and as stored it is released');
  t.equal(reads.count, 1);
  const bytes = budget.of(KEY);
  t.ok(budget.total - bytes < 1_000_000, `${budget.total - bytes} bytes besides`);
  for (const { socket } of paused) socket.terminate();
  await until(() => budget.total === 0, 'nothing is held any more');
});

t.test('a result of more than 4 MiB is read by each client at its own pace', async (t) => {
  const { budget, live, reads } = await start(t, { count: 100, bytes: 100_000 });
  const sockets = await Promise.all([live(), live()]);
  t.ok(reads.count >= 3, `${reads.count} reads`);
  for (const socket of sockets) t.equal(Object.keys(shownBy(socket)).length, 100);
  t.equal(budget.of(KEY), 0);
});

t.test('a read ends when nobody waits for it any more', async (t) => {
  const { store, budget, subscribe } = await start(t);
  const open = store.open.bind(store);
  let go: (() => void) | null = null;
  let batches = 0;
  store.open = async (...requested) => {
    const read = await open(...requested);
    async function* rest() {
      await new Promise<void>((resolve) => (go = resolve));
      for await (const batch of read.rest()) {
        batches += 1;
        yield batch;
      }
    }
    return { ...read, rest };
  };
  const socket = await subscribe();
  await until(() => go !== null, 'the read waits');
  socket.send({ type: 'unsubscribe', id: 's' });
  await socket.frame({ type: 'unsubscribed' });
  (go as unknown as () => void)();
  await until(() => budget.of(KEY) === 0, 'its memory is released');
  t.ok(batches <= 1);
});
