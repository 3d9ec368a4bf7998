/** Owners find accounts by how a name begins, and see the identities of each. */
import t from 'tap';
import { ask, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';

t.test('find accounts by how a name or an address begins, and by id', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  const admin = await signInOwner(app, parts, ['admin']);
  const ada = await signUp(app, 'ada');
  const grace = await signUp(app, 'grace', { email: 'hopper@example.org' });
  const found = async (query: string) => {
    const answer = await ask(app, `GET /admin/users?${query}`, undefined, admin);
    return answer.json().map((user: { username: string; email: string }) => user.username ?? user.email);
  };
  t.strictSame(await found('search=AD'), ['admin@example.org', 'ada'], 'letter case does not matter');
  t.strictSame(await found('search=ad&kind=user'), ['ada']);
  t.strictSame(await found('search=hopper'), ['grace']);
  t.strictSame(await found(`search=${grace.id}`), ['grace']);
  t.strictSame(await found('search=da'), []);
  t.strictSame(await found('search=.*%00'), [], 'only as text');
  const first = await ask(app, 'GET /admin/users?search=ad&limit=1', undefined, admin);
  t.strictSame(await found(`search=ad&limit=1&after=${first.headers['millrace-next']}`), ['ada']);
  t.strictSame((await ask(app, `GET /admin/users/${ada.id}/identities`, undefined, admin)).json(), []);
  t.equal((await ask(app, 'GET /admin/users/none/identities', undefined, admin)).statusCode, 404);
});
