/**
 * Renamed collections: a reader of one of the two names gets the event, and never the name that it must not read:
 * neither in events, nor by probing for it.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { openSocket } from '../helpers/live/socket.ts';
import { withPolicies } from '../helpers/policies.ts';
import { key, owner, speakingAs, user } from '../helpers/principals.ts';
import { until } from '../helpers/until.ts';

t.test('renames of collections under policies', async (t) => {
  const { app, services } = await buildTestApp(t);
  const as = speakingAs(services);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const reads = (name: string, role: string) => ({
    resources: [name],
    actions: ['read'],
    principals: { roles: [role] },
  });
  withPolicies(services, [reads('draft', 'drafts'), reads('board', 'boards'), reads('marker', 'all')]);
  const data = services.mongo.data;
  await data.collection('draft').insertOne({ n: 1 });
  await data.collection('board').insertOne({ n: 2 });

  const boss = as(owner());
  const get = async (address: string, headers: Record<string, string>) =>
    (await app.inject({ url: address, headers })).json();
  const { position: since } = await get('/events', boss);
  const readers = new Map(
    [['drafts'], ['boards'], ['drafts', 'boards']].map((roles) => [roles.join(), [...roles, 'all']]),
  );
  const socketOf = async (name: string, events: readonly string[]) => {
    const socket = await openSocket(t, url, {
      headers: as(user(`u-${name}`, readers.get(name))),
      hello: null,
    });
    socket.send({ type: 'subscribe', id: 'e', events, since });
    await socket.frame({ type: 'live', id: 'e' });
    return socket;
  };
  const sockets = new Map(
    await Promise.all([...readers.keys()].map(async (name) => [name, await socketOf(name, ['*'])] as const)),
  );
  // A hidden name cannot be found out by requesting types with it either.
  const guessing = await socketOf('drafts', ['boa*', 'marker.*']);
  const guessingBack = await socketOf('boards', ['dra*', 'marker.*']);

  await data.renameCollection('draft', 'board', { dropTarget: true });
  await data.collection<{ _id: string }>('marker').insertOne({ _id: 'end' });
  const end = async (address: string, headers: Record<string, string>) => {
    const reported = async () => (await get(address, headers)).events;
    await until(async () => (await reported()).some((event: Event) => event.collection === 'marker'), 'the end');
    return (await reported()).filter((event: Event) => event.type.endsWith('.renamed'));
  };
  interface Event {
    readonly type: string;
    readonly collection: string;
    readonly data: { readonly to?: string | null } | null;
  }
  const short = ({ type, collection, data }: Event) => [type, collection, data?.to];
  const expected = {
    drafts: ['draft.renamed', 'draft', null],
    boards: ['board.renamed', 'board', 'board'],
    'drafts,boards': ['draft.renamed', 'draft', 'board'],
  };
  for (const [name, reported] of Object.entries(expected)) {
    const roles = readers.get(name) ?? [];
    const socket = sockets.get(name);
    await socket?.frame(({ type, event }) => type === 'event' && (event as Event).collection === 'marker');
    const renames = socket?.of('e').flatMap(({ type, event }) => (type === 'event' ? [event as Event] : []));
    t.strictSame(renames?.filter(({ type }) => type.endsWith('.renamed')).map(short), [reported], `${name}: live`);
    const feed = await end(`/events?since=${since}`, as(key(`k-${name}`, { roles })));
    t.strictSame(feed.map(short), [reported], `${name}: GET /events`);
    for (const collection of name.split(',').map((role) => role.slice(0, -1))) {
      const { changes } = await get(`/api/${collection}/_changes?since=${since}`, as(user('u', roles)));
      const renames = changes.filter(({ type }: Event) => type.endsWith('.renamed'));
      t.strictSame(renames.map(short), [reported], `${name}: _changes of ${collection}`);
    }
  }
  for (const socket of [guessing, guessingBack]) {
    await socket.frame(({ type, event }) => type === 'event' && (event as Event).collection === 'marker');
    t.equal(JSON.stringify(socket.frames).includes('renamed'), false, 'a pattern does not say whether it fits');
  }
  const requested = await get(`/events?since=${since}&types=boa*`, as(key('k', { roles: ['drafts'] })));
  t.equal(requested.code, 'forbidden', 'there is nothing that it may read of such a name');
  t.strictSame((await get(`/events?since=${since}&types=*.renamed`, boss)).events.map(short), [
    expected['drafts,boards'],
  ]);
});
