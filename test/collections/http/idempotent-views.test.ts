/**
 * What a repeated write tells under its idempotency key: no more than may be read at that moment, and nothing of another
 * client of the same network.
 */
import t from 'tap';
import { ask, signIn } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';

const NOBODY = { by: null, request: null };
const WRITES = { collections: ['notes'], actions: ['create', 'read', 'update'] };

t.test('what a repeated write tells', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(parts);
  await parts.auth.users.create({ kind: 'user', username: 'ann', password: 'four wooden ships sail' }, NOBODY);
  const ann = await signIn(app, 'ann');
  const send = (key: string, body: object, headers: Record<string, string> = ann.headers, url = '/api/notes') =>
    app.inject({ method: 'POST', url, payload: body, headers: { ...headers, 'idempotency-key': key } });

  await t.test('members that were hidden since are not shown again', async (t) => {
    withPolicies(parts, [WRITES]);
    const note = { title: 'a', secret: 'planted' };
    const first = await send('one', note);
    t.equal(first.statusCode, 201);
    t.equal((await send('one', note)).body, first.body, 'the same answer while the same may be read');
    withPolicies(parts, [{ ...WRITES, fields: { read: ['*', '-secret'] } }]);
    const again = await send('one', note);
    t.equal(again.statusCode, 201);
    t.equal(again.headers['idempotency-replayed'], 'true');
    t.equal(again.headers.location, first.headers.location, 'where it is');
    t.equal(again.body, '', 'and nothing of what it holds');
    t.equal(again.headers.etag, undefined);
  });

  await t.test('nor those of any collection of a batch', async (t) => {
    withPolicies(parts, [WRITES, { ...WRITES, collections: ['others'] }]);
    const batch = {
      operations: ['others', 'notes'].map((name) => ({ method: 'POST', path: `/api/${name}`, body: { secret: 1 } })),
    };
    const first = await send('two', batch, ann.headers, '/batch');
    t.match(first.json(), { results: [{ status: 201 }, { status: 201 }] });
    withPolicies(parts, [
      { ...WRITES, fields: { read: ['*', '-secret'] } },
      { ...WRITES, collections: ['others'] },
    ]);
    const again = await send('two', batch, ann.headers, '/batch');
    t.equal(again.statusCode, 204);
    t.equal(again.body, '');
    t.equal((await ask(app, 'GET /api/others', undefined, ann)).json().length, 1, 'it was made once');
  });

  await t.test('two anonymous clients of one network share no answer', async (t) => {
    const mine = { where: { by: { $exists: true } } };
    withPolicies(parts, [
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
    withPolicies(parts, [{ ...WRITES, fields: { read: ['*', '-title'] } }]);
    t.equal((await send('five', { title: 'hidden' }, {})).statusCode, 201);
    t.equal((await send('five', { title: 'hidden' }, {})).body, '', 'nor where a member is hidden');
    withPolicies(parts, [{ ...WRITES }]);
    const open = await send('four', { title: 'open' }, {});
    t.equal(
      (await send('four', { title: 'open' }, {})).body,
      open.body,
      'where everything may be read anyway, it is told',
    );
  });
});
