/** Changes that came without their states, as before a collection of others kept images: who is told of them, and how. */
import t from 'tap';
import { type Frame, openSocket } from '../helpers/live/socket.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, POSTS, postsWorld } from '../helpers/posts.ts';

t.test('a change without its states is told to whom any document may be shown', async (t) => {
  const { app, parts, ann, bob, boss, ask, fresh } = await postsWorld(t);
  let since = String((await ask(boss, 'GET', '/api/posts')).headers['millrace-position']);
  await fresh();
  for (let made = 0; made < POSTS.length; ) {
    const { changes, position } = (await ask(boss, 'GET', `/api/posts/_changes?since=${since}&wait=10`)).json;
    made += changes.length;
    since = position;
  }
  withPolicies(parts, [{ ...MINE, actions: ['read'] }]);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const follow = async (headers: Record<string, string>) => {
    const socket = await openSocket(t, url, { headers, hello: null });
    socket.send({ type: 'subscribe', id: 'e', events: ['posts.*'] });
    await socket.frame({ type: 'live' });
    return socket;
  };
  const sockets = { boss: await follow(boss), ann: await follow(ann) };

  const { data } = parts.mongo;
  const posts = data.collection<{ _id: string }>('posts');
  await data.command({ collMod: 'posts', changeStreamPreAndPostImages: { enabled: false } });
  // In a transaction, which the program has to wait for before it switches the images on again.
  await parts.mongo.client.withSession((session) =>
    session.withTransaction(async () => {
      await posts.updateOne({ _id: 'b' }, { $set: { title: 'B2' } }, { session });
      await posts.deleteOne({ _id: 'c' }, { session });
    }),
  );
  await data.command({ collMod: 'posts', changeStreamPreAndPostImages: { enabled: true } });
  await posts.updateOne({ _id: 'a' }, { $set: { title: 'A2' } });

  for (const socket of Object.values(sockets)) await socket.frame(({ event }) => isOf(event, 'a'));
  const told = (socket: typeof sockets.boss) => socket.frames.flatMap((frame) => eventsOf(frame));
  t.match(told(sockets.boss), [
    { type: 'posts.updated', documentId: 'b', changed: ['title'], data: null, before: null },
    { type: 'posts.deleted', documentId: 'c', changed: null, data: null, before: null },
    { type: 'posts.updated', documentId: 'a', data: { title: 'A2' }, before: { title: 'A' } },
  ]);
  t.match(told(sockets.ann), [{ documentId: 'a' }]);
  t.equal(told(sockets.ann).length, 1, 'it may have been of what is not hers');

  const changes = async (who: Record<string, string>, query = '') =>
    (await ask(who, 'GET', `/api/posts/_changes?since=${since}${query}`)).json.changes;
  t.strictSame(await changes(boss), told(sockets.boss), 'the feed tells the same');
  t.strictSame(await changes(boss, '&title=A2'), told(sockets.boss), 'and nobody knows what a filter says to them');
  t.strictSame(await changes(ann), told(sockets.ann));
  t.strictSame(await changes(bob), []);
});

/** The events of a frame: of one by itself, or of those of a transaction. */
function eventsOf({ type, event, changes }: Frame): readonly unknown[] {
  if (type === 'transaction' && Array.isArray(changes)) return changes.map(({ event }: Frame) => event);
  return type === 'event' ? [event] : [];
}

function isOf(event: unknown, documentId: string): boolean {
  return typeof event === 'object' && event !== null && 'documentId' in event && event.documentId === documentId;
}
