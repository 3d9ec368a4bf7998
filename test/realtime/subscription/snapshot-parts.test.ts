/**
 * Large snapshots are read and sent in pieces: replies of the database of about 1 MB, and messages of about 256 KB,
 * whether the documents or their sort keys are large.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

const DOCUMENTS = 300;
const KEY = 20_000;
const MOST_READ = 2 * 1024 * 1024;
const MOST_SENT = 300 * 1024;

t.test('a large snapshot is sent in pieces', { timeout: 120_000 }, async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const many = Array.from({ length: DOCUMENTS }, (_, n) => ({
    n,
    key: `${String(n).padStart(5, '0')}${'k'.repeat(KEY)}`,
  }));
  await services.mongo.data.collection<object>('long').insertMany(many);
  const { store } = services.realtime.deps;
  const open = store.open.bind(store);
  const sizes: number[] = [];
  const note = (batch: readonly Buffer[]) => sizes.push(batch.reduce((sum, { length }) => sum + length, 0));
  store.open = async (...requested) => {
    const read = await open(...requested);
    note(read.first);
    async function* rest() {
      for await (const batch of read.rest()) {
        note(batch);
        yield batch;
      }
    }
    return { ...read, rest };
  };

  for (const [what, query] of [
    ['large documents', {}],
    ['large sort keys', { sort: 'key', limit: DOCUMENTS, fields: ['n'] }],
  ] as const) {
    await t.test(what, async (t) => {
      sizes.length = 0;
      const socket = await openSocket(t, url);
      const sent: number[] = [];
      socket.socket.on('message', (message) => sent.push(String(message).length));
      socket.send({ type: 'subscribe', id: 's', collection: 'long', query });
      await socket.frame({ type: 'live' });
      const shown = socket.of('s').flatMap((frame) => (Array.isArray(frame['documents']) ? frame['documents'] : []));
      t.strictSame(
        shown.map(({ n }) => n),
        many.map(({ n }) => n),
      );
      t.ok(sizes.length > 2 && Math.max(...sizes) < MOST_READ, `read: ${sizes.join(' ')}`);
      t.ok(Math.max(...sent) < MOST_SENT, `sent: ${sent.join(' ')}`);
    });
  }
});
