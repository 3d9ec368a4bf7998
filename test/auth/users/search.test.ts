/** Administrators find users by the prefix of a name, and see the identities of each. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('find users by the prefix of a name or an e-mail address, and by id', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' });
  const admin = await signInAdmin(app, services, ['manager']);
  await signUp(app, 'adam');
  const ada = await signUp(app, 'ada');
  const grace = await signUp(app, 'grace', { email: 'hopper@example.org' });
  const found = async (query: string) => {
    const response = await ask(app, `GET /admin/users?${query}`, undefined, admin);
    return response.json().map((user: { username: string; email: string }) => user.username ?? user.email);
  };
  t.strictSame(await found('search=AD'), ['adam', 'ada'], 'letter case does not matter');
  t.strictSame(await found('search=ad&kind=user'), ['adam', 'ada']);
  t.strictSame(await found('search=hopper'), ['grace']);
  t.strictSame(await found(`search=${grace.id}`), ['grace']);
  t.strictSame(await found('search=da'), []);
  t.strictSame(await found('search=.*%00'), [], 'only as text');
  const first = await ask(app, 'GET /admin/users?search=ad&limit=1', undefined, admin);
  t.strictSame(await found(`search=ad&limit=1&cursor=${first.headers['millrace-next']}`), ['ada']);
  t.strictSame((await ask(app, `GET /admin/users/${ada.id}/identities`, undefined, admin)).json(), []);
  t.equal((await ask(app, 'GET /admin/users/none/identities', undefined, admin)).statusCode, 404);
});
