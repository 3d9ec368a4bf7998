/** Changes without states, as before images of a foreign collection were enabled: who receives them, and how. */
import t from 'tap';
import { type Frame, openSocket } from '../helpers/live/socket.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, POSTS, postsFixture } from '../helpers/posts.ts';

t.test('a change without its states is sent only to readers of every document', async (t) => {
  const { app, parts: services, ann, bob, boss, request, fresh } = await postsFixture(t);
  let since = String((await request(boss, 'GET', '/api/posts')).headers['millrace-position']);
  await fresh();
  for (let created = 0; created < POSTS.length; ) {
    const { changes, position } = (await request(boss, 'GET', `/api/posts/_changes?since=${since}&wait=10`)).json;
    created += changes.length;
    since = position;
  }
  withPolicies(services, [{ ...MINE, actions: ['read'] }]);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const follow = async (headers: Record<string, string>) => {
    const socket = await openSocket(t, url, { headers, hello: null });
    socket.send({ type: 'subscribe', id: 'e', events: ['posts.*'] });
    await socket.frame({ type: 'live' });
    return socket;
  };
  const sockets = { boss: await follow(boss), ann: await follow(ann) };

  const { data } = services.mongo;
  const posts = data.collection<{ _id: string }>('posts');
  await data.command({ collMod: 'posts', changeStreamPreAndPostImages: { enabled: false } });
  // In a transaction, which the program has to wait for before it enables the images again.
  await services.mongo.client.withSession((session) =>
    session.withTransaction(async () => {
      await posts.updateOne({ _id: 'b' }, { $set: { title: 'B2' } }, { session });
      await posts.deleteOne({ _id: 'c' }, { session });
    }),
  );
  await data.command({ collMod: 'posts', changeStreamPreAndPostImages: { enabled: true } });
  await posts.updateOne({ _id: 'a' }, { $set: { title: 'A2' } });

  for (const socket of Object.values(sockets)) await socket.frame(({ event }) => isOf(event, 'a'));
  const reported = (socket: typeof sockets.boss) => socket.frames.flatMap((frame) => eventsOf(frame));
  t.match(reported(sockets.boss), [
    { type: 'posts.updated', documentId: 'b', changed: ['title'], data: null, before: null },
    { type: 'posts.deleted', documentId: 'c', changed: null, data: null, before: null },
    { type: 'posts.updated', documentId: 'a', data: { title: 'A2' }, before: { title: 'A' } },
  ]);
  t.match(reported(sockets.ann), [{ documentId: 'a' }]);
  t.equal(reported(sockets.ann).length, 1, 'it may have been of what is not hers');

  const changes = async (who: Record<string, string>, query = '') =>
    (await request(who, 'GET', `/api/posts/_changes?since=${since}${query}`)).json.changes;
  t.strictSame(await changes(boss), reported(sockets.boss), 'the feed has the same');
  t.strictSame(await changes(boss, '&title=A2'), reported(sockets.boss), 'and a filter cannot be tested on them');
  t.strictSame(await changes(ann), reported(sockets.ann));
  t.strictSame(await changes(bob), []);
});

/** The events of a frame: a single one, or those of a transaction. */
function eventsOf({ type, event, changes }: Frame): readonly unknown[] {
  if (type === 'transaction' && Array.isArray(changes)) return changes.map(({ event }: Frame) => event);
  return type === 'event' ? [event] : [];
}

function isOf(event: unknown, documentId: string): boolean {
  return typeof event === 'object' && event !== null && 'documentId' in event && event.documentId === documentId;
}
