/**
 * The history of one document over HTTP: its events only, newest first, in pages, also of a deleted document, and
 * redacted to what a reader may see.
 */
import { ObjectId } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { markLog } from '../helpers/events/log-rows.ts';
import { withPolicies } from '../helpers/policies.ts';
import { ask } from '../helpers/users.ts';

interface Page {
  readonly events: readonly { readonly type: string; readonly [field: string]: unknown }[];
  readonly next: string | null;
}

t.test('the history of a document over HTTP', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { data } = services.mongo;
  const page = async (url: string): Promise<Page> => (await ask(app, `GET /api/${url}`)).json();
  /** All pages, one after the other. */
  const whole = async (url: string) => {
    const events: Page['events'][number][] = [];
    for (let next: string | null = ''; next !== null; ) {
      const more: Page = await page(`${url}${next === '' ? '' : `&cursor=${next}`}`);
      events.push(...more.events);
      next = more.next;
    }
    return events;
  };

  const created = await ask(app, 'POST /api/todos', { id: 'a', title: 'one', secret: 1 });
  await ask(app, 'POST /api/todos', { id: 'b', title: 'other' });
  await ask(app, 'POST /api/lists', { id: 'a' });
  await ask(app, 'PATCH /api/todos/a', { title: 'two' });
  await data.collection<{ _id: string }>('todos').updateOne({ _id: 'a' }, { $set: { n: 1 } });
  await ask(app, 'DELETE /api/todos/a');
  await markLog(app, services.events.tail);

  await t.test('a history has its events, newest first, with both states, the actor and the request', async (t) => {
    const { events, next } = await page('todos/a/_history');
    t.equal(next, null);
    t.match(events, [
      { type: 'todos.deleted', data: null, before: { id: 'a', title: 'two', n: 1 } },
      { type: 'todos.updated', actor: null, request: null, changed: ['n'] },
      { type: 'todos.updated', data: { title: 'two' }, before: { title: 'one' }, changed: ['title'] },
      { type: 'todos.created', data: { title: 'one' }, before: null, request: created.headers['x-request-id'] },
    ]);
    const { events: all } = (await ask(app, 'GET /events?since=1-1')).json();
    const ofIt = all.filter(
      (one: Record<string, unknown>) => one['collection'] === 'todos' && one['documentId'] === 'a',
    );
    t.strictSame(events, ofIt.reverse(), 'as in the feed');
    t.strictSame(await page('todos/nothing/_history'), { events: [], next: null });
  });

  await t.test('a history comes in pages', async (t) => {
    const { events, next } = await page('todos/a/_history?limit=3');
    t.equal(events.length, 3);
    const rest = await page(`todos/a/_history?limit=3&cursor=${next}`);
    t.match(rest, { events: [{ type: 'todos.created' }], next: null });
    t.strictSame(await whole('todos/a/_history?limit=1'), [...events, ...rest.events]);
    for (const [query, code] of [
      ['cursor=x', 'cursor-mismatch'],
      ['limit=0', 'invalid-parameter'],
      ['since=1-1', 'unknown-parameter'],
    ] as const)
      t.equal((await ask(app, `GET /api/todos/a/_history?${query}`)).json().code, code, query);
  });

  await t.test('a history works for ids of every kind, behind many events of others', async (t) => {
    const ids = [new ObjectId(), 7, 'text'] as const;
    await data.collection<{ _id: unknown }>('mixed').insertMany(ids.map((_id) => ({ _id })));
    await data.collection('crowd').insertMany(Array.from({ length: 6_000 }, (_, n) => ({ n })));
    await markLog(app, services.events.tail);
    for (const id of ids)
      t.match(
        await whole(`mixed/${id}/_history?limit=5`),
        [{ type: 'mixed.created', documentId: String(id) }],
        `${id}`,
      );
  });

  await t.test('a history contains what its reader may see', async (t) => {
    const { key } = (await ask(app, 'POST /admin/keys', { name: 'k', roles: ['looker'] })).json();
    const as = { headers: { authorization: `Bearer ${key}` } };
    const policy = { resources: ['todos'], actions: ['read'], principals: { roles: ['looker'] } };
    const read = { fields: { read: ['title'] } };
    withPolicies(services, [{ ...policy, filter: { title: 'one' }, ...read }]);
    const { events } = (await ask(app, 'GET /api/todos/a/_history', undefined, as)).json();
    t.match(events, [
      { type: 'todos.updated', data: null, before: { title: 'one' } },
      { type: 'todos.created', data: { title: 'one' }, before: null },
    ]);
    t.equal(events.length, 2, 'none where neither state may be seen');
    t.notMatch(JSON.stringify(events), /secret/);
    t.equal((await ask(app, 'GET /api/lists/a/_history', undefined, as)).statusCode, 403);
    t.equal((await ask(app, 'GET /api/todos/a/_history')).statusCode, 401);
  });
});

t.test('a view has no history', async (t) => {
  const { app, services } = await buildTestApp(t);
  await ask(app, 'POST /api/todos', { id: 'a' });
  await services.mongo.data.createCollection('seen', { viewOn: 'todos', pipeline: [] });
  t.match((await ask(app, 'GET /api/seen/a/_history')).json(), { code: 'forbidden' });
});
