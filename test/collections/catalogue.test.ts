/** The list of collections: listed, renamed, dropped; by this server and by other programs, in every process. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';

t.test('collections', async (t) => {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, {}, testDatabase);
  const other = await buildTestApp(t, {}, testDatabase);
  const request = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const response = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    return { status: response.statusCode, json: response.body === '' ? null : response.json() };
  };

  t.strictSame((await request('GET', '/admin/collections')).json, [], 'internal collections are not listed');
  await request('POST', '/api/todos', [{ id: 'a' }, { id: 'b' }]);
  await request('POST', '/api/lists', { id: 'x' });
  t.match((await request('GET', '/admin/collections')).json, [
    { name: 'lists', documents: 1 },
    { name: 'todos', documents: 2, bytes: Number },
  ]);

  await t.test('each collection is listed with its kind and its number of indexes', async (t) => {
    const { data } = services.mongo;
    await request('PUT', '/admin/collections/lists/indexes', [{ fields: ['title'] }, { fields: ['due'] }]);
    await data.createCollection('measured', { timeseries: { timeField: 't' } });
    await data.createCollection('round', { capped: true, size: 4096 });
    await data.createCollection('ordered', { clusteredIndex: { key: { _id: 1 }, unique: true } });
    t.match((await request('GET', '/admin/collections')).json, [
      { name: 'lists', indexes: 2, kind: 'collection' },
      { name: 'measured', kind: 'timeseries' },
      { name: 'ordered', indexes: 0, kind: 'collection' },
      { name: 'round', indexes: 0, kind: 'capped' },
      { name: 'todos', indexes: 0, kind: 'collection' },
    ]);
    for (const name of ['measured', 'ordered', 'round']) await data.collection(name).drop();
  });

  await t.test('a view of another program is listed as a view, without numbers', async (t) => {
    await services.mongo.data.createCollection('seen', { viewOn: 'todos', pipeline: [] });
    t.match((await request('GET', '/admin/collections')).json, [
      { name: 'lists' },
      { name: 'seen', kind: 'view', documents: 0, bytes: 0, indexes: 0 },
      { name: 'todos' },
    ]);
    t.equal((await request('GET', '/api/seen')).json.length, 2, 'and read like any other');
    t.strictSame((await request('GET', '/admin/collections/seen/indexes')).json, []);
    t.equal((await request('DELETE', '/admin/collections/seen')).status, 204);
  });

  await t.test('a collection can be renamed', async (t) => {
    t.match(await request('PATCH', '/admin/collections/todos', { name: 'tasks' }), {
      status: 200,
      json: { name: 'tasks', documents: 2 },
    });
    t.equal((await request('GET', '/api/todos')).json.code, 'resource-not-available');
    t.equal((await request('GET', '/api/tasks')).json.length, 2);
    t.match(await request('PATCH', '/admin/collections/tasks', { name: 'lists' }), {
      status: 409,
      json: { code: 'collection-exists' },
    });
    t.match(await request('PATCH', '/admin/collections/nothing', { name: 'more' }), {
      status: 404,
      json: { code: 'resource-not-available' },
    });
    t.match(await request('PATCH', '/admin/collections/tasks', { name: '_users' }), {
      status: 400,
      json: { code: 'invalid-collection-name' },
    });
    t.match(await request('PATCH', '/admin/collections/tasks', {}), { status: 400, json: { code: 'invalid-body' } });
    t.match(await request('PATCH', '/admin/collections/tasks', { name: 'tasks' }), { status: 200 });
  });

  await t.test('collections of other programs with names that no route accepts can be renamed', async (t) => {
    const { data } = services.mongo;
    const names = ['2024_orders', 'Bestände', 'shop.users', 'system'];
    for (const name of names) await data.collection(name).insertOne({ n: 1 });
    const others = async () =>
      (await request('GET', '/admin/collections?reachable=false')).json.map(({ name }: { name: string }) => name);
    t.strictSame(await others(), names, 'and no internal ones');
    t.notMatch(JSON.stringify((await request('GET', '/admin/collections')).json), /shop/);
    t.match((await request('GET', '/api/shop.users')).json, { code: 'invalid-collection-name', hint: /renamed/ });
    for (const [index, name] of names.entries()) {
      const url = `/admin/collections/${encodeURIComponent(name)}`;
      t.match(await request('PATCH', url, { name: `usable${index}` }), { status: 200, json: { documents: 1 } });
      t.equal((await request('GET', `/api/usable${index}`)).json.length, 1);
      t.equal((await request('PATCH', url, { name: 'again' })).status, 404);
      await data.collection(`usable${index}`).drop();
    }
    t.strictSame(await others(), []);
    for (const name of ['_users', 'system.views', 'system.profile'])
      t.equal(
        (await request('PATCH', `/admin/collections/${name}`, { name: 'mine' })).json.code,
        'invalid-collection-name',
        name,
      );
    t.equal((await request('GET', '/admin/collections?reachable=x')).json.code, 'invalid-parameter');
  });

  await t.test('a collection can be dropped', async (t) => {
    t.equal((await other.app.inject({ method: 'POST', url: '/api/tasks', payload: { id: 'c' } })).statusCode, 201);
    const { position } = (await request('GET', '/events')).json;
    t.equal((await request('DELETE', '/admin/collections/tasks')).status, 204);
    t.equal((await request('DELETE', '/admin/collections/tasks')).status, 404);
    t.equal((await request('GET', '/api/tasks')).json.code, 'resource-not-available');
    const { events } = (await request('GET', `/events?since=${position}&types=tasks.dropped&wait=10`)).json;
    t.match(events, [{ type: 'tasks.dropped', collection: 'tasks' }]);
    t.equal((await request('DELETE', '/admin/collections/_users')).json.code, 'invalid-collection-name');
  });

  await t.test('another process creates a dropped collection again, with images', async (t) => {
    const known = async () => {
      const create = await other.app.inject({ method: 'POST', url: '/api/tasks', payload: {} });
      const [found] = await services.mongo.data.listCollections({ name: 'tasks' }).toArray();
      return (
        create.statusCode === 201 && JSON.stringify(found).includes('"changeStreamPreAndPostImages":{"enabled":true}')
      );
    };
    await until(known, 'the collection keeps images');
    t.pass('it does');
  });
});
