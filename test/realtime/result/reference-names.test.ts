/**
 * Documents with fields `$ref` and `$id`, which the driver reads as an object of its own (DBRef): policies, filters and
 * fields use the stored fields all the same, in live queries, events and `_changes`.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { ask, signUp } from '../../helpers/users.ts';

const REFERENCE = { $ref: 'posts', $id: 'x' };
const SECRET = 'what-is-hidden';
const HIDES = { resources: ['posts'], actions: ['read'], fields: { read: ['*', '-secret'] } };
const WRITES = { resources: ['posts'], actions: ['create', 'update', 'delete'] };

t.test('documents with the field names of references obey policies, filters and fields', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const enter = () => openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
  const position = async () => (await ask(app, 'GET /api/posts/_changes', undefined, ann)).json().position;
  const changesSince = async (since: string, filter = '') => {
    const response = await ask(app, `GET /api/posts/_changes?since=${since}${filter}`, undefined, ann);
    t.equal(response.statusCode, 200);
    return response.json().changes;
  };
  /** A socket that follows the documents and the events of posts. */
  const following = async (query: object = {}): Promise<TestSocket> => {
    const socket = await enter();
    socket.send({ type: 'subscribe', id: 'd', collection: 'posts', query });
    socket.send({ type: 'subscribe', id: 'e', events: ['posts.*'] });
    await socket.frame({ type: 'live', id: 'd' });
    await socket.frame({ type: 'live', id: 'e' });
    return socket;
  };
  const create = async (fields: object) => {
    const response = await ask(app, 'POST /api/posts', fields, ann);
    t.equal(response.statusCode, 201, response.body);
  };
  withPolicies(services, [WRITES, HIDES]);
  const witness = await following();
  await create({ id: 'first' });
  await witness.frame({ id: 'e', type: 'event' });

  await t.test('a hidden field is in no snapshot, change, event or feed', async (t) => {
    withPolicies(services, [WRITES, HIDES]);
    const since = await position();
    const socket = await following();
    await create({ id: 'h1', ...REFERENCE, $db: 'd', secret: SECRET, title: 'T' });
    const shown = { id: 'h1', $ref: 'posts', $id: 'x', $db: 'd', title: 'T' };
    t.match(await socket.frame({ id: 'd', op: 'enter' }), { documentId: 'h1', document: shown });
    t.match(await socket.frame({ id: 'e', type: 'event' }), { event: { documentId: 'h1', data: shown } });
    const later = await following();
    t.match(await later.frame({ id: 'd', type: 'snapshot' }), { documents: [{ id: 'first' }, shown] });
    const changes = await changesSince(since);
    t.match(changes, [{ documentId: 'h1', data: shown }]);
    t.notOk(JSON.stringify([socket.frames, later.frames, changes]).includes(SECRET), 'the hidden text is sent nowhere');
  });

  await t.test('a filter cannot reach a hidden field by another name', async (t) => {
    withPolicies(services, [WRITES, HIDES]);
    const since = await position();
    const socket = await following({ filter: { 'fields.secret': SECRET } });
    socket.send({ type: 'subscribe', id: 'o', events: ['posts.*'], filter: { 'data.fields.secret': SECRET } });
    await socket.frame({ type: 'live', id: 'o' });
    await create({ id: 'o1', ...REFERENCE, secret: SECRET });
    await create({ id: 'o2', fields: { secret: SECRET } });
    t.match(await socket.frame({ id: 'd', type: 'change' }), { documentId: 'o2' }, 'the first that is sent');
    const changes = await changesSince(since, `&fields.secret=${SECRET}`);
    t.match(changes, [{ documentId: 'o2' }]);
    t.equal(changes.length, 1);
    const refused = await ask(app, `GET /api/posts/_changes?since=${since}&secret=${SECRET}`, undefined, ann);
    t.equal(refused.statusCode, 403);
  });

  await t.test('what a deny hides is not sent, and an allow applies to its own documents', async (t) => {
    const own = { resources: ['posts'], actions: ['read'], filter: { author: '$user.id' } };
    const deny = { resources: ['posts'], actions: ['read'], effect: 'deny', filter: { state: 'closed' } };
    withPolicies(services, [WRITES, own, deny]);
    const since = await position();
    const socket = await following();
    await create({ id: 'd1', ...REFERENCE, author: ann.id, state: 'closed', secret: SECRET });
    await create({ id: 'd2', ...REFERENCE, author: 'someone', secret: SECRET });
    await create({ id: 'd3', ...REFERENCE, author: ann.id, state: 'open' });
    t.match(
      await socket.frame({ id: 'd', type: 'change' }),
      { op: 'enter', documentId: 'd3' },
      'the first that is sent',
    );
    t.match(await socket.frame({ id: 'e', type: 'event' }), { event: { documentId: 'd3' } });
    const changes = await changesSince(since);
    t.match(changes, [{ documentId: 'd3' }]);
    t.equal(changes.length, 1);
    await ask(app, 'DELETE /api/posts/d3', undefined, ann);
    t.match(await socket.frame({ id: 'd', op: 'leave' }), { documentId: 'd3' });
    t.notOk(JSON.stringify([socket.frames, changes]).includes(SECRET), 'nothing of the others is sent');
  });

  await t.test('references within a document are sent as stored', async (t) => {
    withPolicies(services, [WRITES, HIDES]);
    const since = await position();
    const plain = await following({ fields: 'link' });
    const link = { $id: 'x', more: [{ $ref: 'c.d', $id: 1, collection: 'z' }], $ref: 'a.b' };
    await create({ id: 'r1', link });
    const reported = (await plain.frame({ id: 'd', type: 'change' }))['document'];
    t.equal(JSON.stringify(reported), JSON.stringify({ id: 'r1', link }), 'to the order of their fields');
    const [change] = await changesSince(since);
    t.equal(JSON.stringify(change.data.link), JSON.stringify(link));
  });
});
