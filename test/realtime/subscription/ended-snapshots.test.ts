/** A subscription that ends, or restarts, while the rest of its snapshot is on its way from the database. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

/** More than one reply of the database, and less than one frame. */
const DOCUMENTS = 1_500;

t.test('a subscription that ends during its snapshot', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await services.mongo.data.createCollection('todos', { changeStreamPreAndPostImages: { enabled: true } });
  const todos = services.mongo.data.collection<{ _id: string; done: boolean }>('todos');
  await todos.insertMany(Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `t${n}`, done: false })));
  const { store } = services.realtime.deps;
  const open = store.open.bind(store);
  let go: (() => void) | null = null;
  let ended = false;
  /** The next snapshot waits for `go` before its second reply. */
  const hold = () => {
    go = null;
    ended = false;
    store.open = async (...requested) => {
      store.open = open;
      const read = await open(...requested);
      async function* rest() {
        await new Promise<void>((resolve) => (go = resolve));
        yield* read.rest();
      }
      const close = async () => {
        await read.close();
        ended = true;
      };
      return { ...read, rest, close };
    };
  };
  const begin = async (): Promise<TestSocket> => {
    hold();
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', collection: 'todos', query: {} });
    await until(() => go !== null, 'the snapshot waits');
    return socket;
  };
  /** Everything on its way by then has been sent. */
  const settled = async (socket: TestSocket): Promise<void> => {
    go?.();
    await until(() => ended, 'its read has ended');
    socket.send({ type: 'subscribe', id: 'other', collection: 'none' });
    await socket.frame({ type: 'live', id: 'other' });
  };

  await t.test('an ended subscription sends nothing more', async (t) => {
    const socket = await begin();
    socket.send({ type: 'unsubscribe', id: 's' });
    await socket.frame({ type: 'unsubscribed' });
    await settled(socket);
    t.strictSame(
      socket.of('s').map(({ type }) => type),
      ['unsubscribed'],
    );
  });

  await t.test('another subscription with the same id receives only its own documents', async (t) => {
    const socket = await begin();
    socket.send({ type: 'unsubscribe', id: 's' });
    socket.send({ type: 'subscribe', id: 's', collection: 'todos', query: { filter: { id: 't7' } } });
    await socket.frame({ type: 'live', id: 's' });
    await settled(socket);
    const documents = socket.of('s').flatMap((frame) => frame['documents'] ?? []);
    t.match(documents, [{ id: 't7' }]);
    t.equal(documents.length, 1);
  });

  await t.test('a subscription whose rights were revoked sends nothing more', async (t) => {
    const socket = await begin();
    withPolicies(services, [{ resources: ['none'], actions: ['read'] }]);
    await socket.frame({ type: 'unsubscribed' });
    await settled(socket);
    t.match(socket.of('s'), [{ type: 'unsubscribed', problem: { code: 'policy-revoked' } }]);
    t.equal(socket.of('s').length, 1);
  });
});
