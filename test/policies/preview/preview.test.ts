/** Policy preview: the predicted changes for principals, events and open subscriptions are those after saving. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../../helpers/users.ts';

const NOBODY = { by: null, request: null };
const AUTHORS = {
  name: 'Authors',
  resources: ['posts'],
  actions: ['read', 'create', 'update'],
  effect: 'allow',
  principals: { roles: ['author'] },
  filter: { team: 'a' },
  fields: { read: ['*', '-secret'], write: ['*'] },
};

interface Changes {
  readonly count: number;
  readonly examples: readonly { readonly event: string; readonly principal: string; readonly fields?: string[] }[];
}

interface Effect {
  readonly visible: Changes;
  readonly hidden: Changes;
  readonly changed: Changes;
  readonly [field: string]: unknown;
}

t.test('a policy preview', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_FUNCTIONS: 'off' });
  const boss = await signInAdmin(app, services);
  await services.auth.users.create({ kind: 'user', username: 'ann', password: PASSWORD, roles: ['author'] }, NOBODY);
  const ann = await signIn(app, 'ann');
  const draft = (id: string, policy: object | null) => ask(app, 'POST /admin/policies/preview', { id, policy }, boss);
  const effectOf = async (id: string, policy: object | null): Promise<Effect> => (await draft(id, policy)).json();

  t.equal((await ask(app, 'POST /admin/policies', { id: 'authors', ...AUTHORS }, boss)).statusCode, 201);
  const posts = [
    { id: 'a1', team: 'a', secret: 1 },
    { id: 'b1', team: 'b', secret: 2 },
    { id: 'b2', team: 'b', secret: 3 },
  ];
  const { position: since } = (await ask(app, 'GET /events', undefined, boss)).json();
  await ask(app, 'POST /api/posts', posts, boss);
  await ask(app, 'POST /api/posts', { id: 'a2', team: 'a', secret: 4 }, ann);
  await ask(app, 'PATCH /api/posts/a1', { team: 'b' }, boss);
  await ask(app, 'POST /api/notes', { id: 'last' }, boss);
  const isReported = async () =>
    (await ask(app, 'GET /api/notes/last/_history', undefined, boss)).json().events.length === 1;
  await until(isReported, 'all is in the log');

  /** The events that ann gets, as text by id. */
  const feed = async () => {
    const response = await ask(app, `GET /api/posts/_changes?since=${since}`, undefined, ann);
    const changes: { id: string }[] = response.statusCode === 200 ? response.json().changes : [];
    return new Map(changes.map((one) => [one.id, JSON.stringify(one)]));
  };
  const ofAnn = ({ examples }: Changes) =>
    examples.filter(({ principal }) => principal === `user:${ann.id}`).map(({ event }) => event);

  await t.test('a policy preview predicts exactly what saving changes', async (t) => {
    const drafts = {
      'another condition': { ...AUTHORS, filter: { team: 'b' } },
      'more members': { ...AUTHORS, filter: { team: 'b' }, fields: { read: ['*'], write: ['*'] } },
      'no right to read': { ...AUTHORS, principals: { roles: ['editor'] } },
      everything: { ...AUTHORS, filter: {} },
    };
    for (const [what, policy] of Object.entries(drafts)) {
      const before = await feed();
      const effect = await effectOf('authors', policy);
      t.equal((await ask(app, 'PUT /admin/policies/authors', policy, boss)).statusCode, 200);
      const after = await feed();
      const both = [...before.keys()].filter((id) => after.has(id));
      t.strictSame(
        ofAnn(effect.visible),
        [...after.keys()].filter((id) => !before.has(id)).reverse(),
        `${what}: visible`,
      );
      t.strictSame(
        ofAnn(effect.hidden),
        [...before.keys()].filter((id) => !after.has(id)).reverse(),
        `${what}: hidden`,
      );
      t.strictSame(
        ofAnn(effect.changed),
        both.filter((id) => before.get(id) !== after.get(id)).reverse(),
        `${what}: changed`,
      );
      t.ok(effect.visible.count + effect.hidden.count + effect.changed.count > 0, what);
      t.match(effect, {
        events: { complete: true },
        principals: { complete: true, examined: Array },
      });
    }
    t.equal((await ask(app, 'PUT /admin/policies/authors', AUTHORS, boss)).statusCode, 200);
  });

  await t.test('a policy preview names the fields that would be shown', async (t) => {
    const { changed } = await effectOf('authors', { ...AUTHORS, fields: { read: ['*'], write: ['*'] } });
    const ofOne = changed.examples.find(({ principal }) => principal === 'role:author');
    t.match(ofOne, { type: /^posts\./, collection: 'posts', documentId: /^a/, fields: ['secret'] });
  });

  await t.test('a policy preview covers every principal that a new policy names', async (t) => {
    const open = { name: 'Open notes', resources: ['notes'], actions: ['read'], effect: 'allow' };
    const { visible, hidden } = await effectOf('open-notes', open);
    t.match(
      visible.examples.map(({ principal }) => principal).sort(),
      ['anonymous', 'role:author', `user:${ann.id}`].sort(),
    );
    t.equal(hidden.count, 0);
    const writing = await effectOf('writers', { ...open, name: 'Writers', actions: ['delete'] });
    t.match(writing, { visible: { count: 0 }, hidden: { count: 0 }, changed: { count: 0 } });
  });

  await t.test('a policy preview reports the open subscriptions whose rights would differ', async (t) => {
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
    socket.send({ type: 'subscribe', id: 's', collection: 'posts', query: {} });
    await socket.frame({ type: 'live' });
    const removed = await effectOf('authors', null);
    t.match(removed, {
      subscriptions: { open: 1, affected: 1, by: [{ principal: `user:${ann.id}`, collection: 'posts', count: 1 }] },
      visible: { count: 0 },
    });
    t.ok(removed.hidden.count > 0);
    t.match(await effectOf('authors', { ...AUTHORS, name: 'Renamed' }), {
      subscriptions: { open: 1, affected: 0, by: [] },
    });
  });

  await t.test('a policy preview has the errors and warnings of saving, and stores nothing', async (t) => {
    const before = (await ask(app, 'GET /admin/policies', undefined, boss)).json();
    const broken = { ...AUTHORS, actions: ['fly'] };
    const [drafted, saved] = [
      await draft('authors', broken),
      await ask(app, 'PUT /admin/policies/authors', broken, boss),
    ];
    t.equal(drafted.statusCode, 400);
    t.strictSame(drafted.json().errors, saved.json().errors);
    t.match((await draft('unknown', null)).json(), { code: 'policy-not-found' });
    t.match((await draft('Not An Id', AUTHORS)).json(), { code: 'invalid-policy' });
    t.match((await ask(app, 'POST /admin/policies/preview', { id: 'x' }, boss)).json(), { code: 'invalid-body' });
    t.match(await effectOf('authors', { ...AUTHORS, filter: { team: { eq: 'a' } } }), { warnings: [/starts with/] });
    t.strictSame((await ask(app, 'GET /admin/policies', undefined, boss)).json(), before);
  });
});
