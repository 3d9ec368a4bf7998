/** A user or key as a principal without a session: its current state, and null once it is gone. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { signUp } from '../helpers/users.ts';

const NOBODY = { by: null, request: null };

t.test('users and keys are principals without a session, until they are gone', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { authenticator, keys, users, sessions } = services.auth;
  const { id } = await signUp(app, 'ada');
  await sessions.endAll(id, 'logout', NOBODY);
  t.match(await authenticator.principalFor({ kind: 'user', id }), { kind: 'user', id, roles: [], claims: {} });
  await users.change(id, { roles: ['red'], claims: { team: 1 } }, NOBODY);
  t.match(await authenticator.principalFor({ kind: 'user', id }), { roles: ['red'], claims: { team: 1 } });
  await users.change(id, { disabled: true }, NOBODY);
  t.equal(await authenticator.principalFor({ kind: 'user', id }), null, 'a disabled account');
  t.equal(await authenticator.principalFor({ kind: 'admin', id: 'nobody' }), null, 'no account');
  t.strictSame(await authenticator.principalFor({ kind: 'anonymous', id: '' }), { kind: 'anonymous' });

  const limits = { name: 'k', roles: ['red'], resources: ['todos'], actions: null };
  const key = await keys.create({ ...limits, expiresAt: null }, NOBODY);
  const expected = { kind: 'key', id: key.id, roles: ['red'], resources: ['todos'] };
  t.match(await authenticator.principalFor({ kind: 'key', id: key.id }), expected);
  await keys.remove(key.id, NOBODY);
  t.equal(await authenticator.principalFor({ kind: 'key', id: key.id }), null, 'a deleted key');
  const old = await keys.create({ ...limits, expiresAt: new Date(Date.now() - 1) }, NOBODY);
  t.equal(await authenticator.principalFor({ kind: 'key', id: old.id }), null, 'an expired key');
});
