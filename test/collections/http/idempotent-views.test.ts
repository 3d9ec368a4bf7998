/**
 * What the response to a repeated write reveals: no more than the client may read at that time, and nothing of another
 * client of the same network.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { ask, signIn } from '../../helpers/users.ts';

const NOBODY = { by: null, request: null };
const WRITES = { resources: ['notes'], actions: ['create', 'read', 'update'] };

t.test('responses to repeated writes', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(services);
  await services.auth.users.create({ kind: 'user', username: 'ann', password: 'four wooden ships sail' }, NOBODY);
  const ann = await signIn(app, 'ann');
  const send = (key: string, body: object, headers: Record<string, string> = ann.headers, url = '/api/notes') =>
    app.inject({ method: 'POST', url, payload: body, headers: { ...headers, 'idempotency-key': key } });

  await t.test('fields that were hidden since are not shown again', async (t) => {
    withPolicies(services, [WRITES]);
    const note = { title: 'a', secret: 'planted' };
    const first = await send('one', note);
    t.equal(first.statusCode, 201);
    t.equal((await send('one', note)).body, first.body, 'the same response while the same may be read');
    withPolicies(services, [{ ...WRITES, fields: { read: ['*', '-secret'] } }]);
    const again = await send('one', note);
    t.equal(again.statusCode, 201);
    t.equal(again.headers['idempotency-replayed'], 'true');
    t.equal(again.headers.location, first.headers.location, 'where it is');
    t.equal(again.body, '', 'and nothing of its content');
    t.equal(again.headers.etag, undefined);
  });

  await t.test('hidden fields of no collection of a batch are shown again', async (t) => {
    withPolicies(services, [WRITES, { ...WRITES, resources: ['others'] }]);
    const batch = {
      operations: ['others', 'notes'].map((name) => ({ method: 'POST', path: `/api/${name}`, body: { secret: 1 } })),
    };
    const first = await send('two', batch, ann.headers, '/batch');
    t.match(first.json(), { results: [{ status: 201 }, { status: 201 }] });
    withPolicies(services, [
      { ...WRITES, fields: { read: ['*', '-secret'] } },
      { ...WRITES, resources: ['others'] },
    ]);
    const again = await send('two', batch, ann.headers, '/batch');
    t.equal(again.statusCode, 204);
    t.equal(again.body, '');
    t.equal((await ask(app, 'GET /api/others', undefined, ann)).json().length, 1, 'it was executed once');
  });

  await t.test('two anonymous clients of one network share no response', async (t) => {
    const mine = { filter: { by: { $exists: true } } };
    withPolicies(services, [
      { ...WRITES, actions: ['create'] },
      { ...WRITES, actions: ['read'], ...mine },
    ]);
    const first = await send('three', { title: 'mine', by: 'x' }, {});
    t.equal(first.statusCode, 201);
    const other = await send('three', { title: 'mine', by: 'x' }, {});
    t.equal(other.statusCode, 201);
    t.equal(other.headers['idempotency-replayed'], 'true');
    t.equal(other.body, '');
    t.equal(other.headers.location, undefined, 'not even where it is');
    withPolicies(services, [{ ...WRITES, fields: { read: ['*', '-title'] } }]);
    t.equal((await send('five', { title: 'hidden' }, {})).statusCode, 201);
    t.equal((await send('five', { title: 'hidden' }, {})).body, '', 'nor where a field is hidden');
    withPolicies(services, [{ ...WRITES }]);
    const open = await send('four', { title: 'open' }, {});
    t.equal(
      (await send('four', { title: 'open' }, {})).body,
      open.body,
      'where everything may be read anyway, it is returned',
    );
  });
});
