/** An account or key as a principal without a session: as it is now, and none once it is gone. */
import t from 'tap';
import { signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';

const NOBODY = { by: null, request: null };

t.test('accounts and keys stand without a session, until they are gone', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { authenticator, keys, users, sessions } = parts.auth;
  const { id } = await signUp(app, 'ada');
  await sessions.endAll(id, 'logout', NOBODY);
  t.match(await authenticator.standing({ kind: 'user', id }), { kind: 'user', id, roles: [], claims: {} });
  await users.change(id, { roles: ['red'], claims: { team: 1 } }, NOBODY);
  t.match(await authenticator.standing({ kind: 'user', id }), { roles: ['red'], claims: { team: 1 } });
  await users.change(id, { disabled: true }, NOBODY);
  t.equal(await authenticator.standing({ kind: 'user', id }), null, 'a disabled account');
  t.equal(await authenticator.standing({ kind: 'owner', id: 'nobody' }), null, 'no account');
  t.strictSame(await authenticator.standing({ kind: 'anonymous', id: '' }), { kind: 'anonymous' });

  const limits = { name: 'k', roles: ['red'], collections: ['todos'], actions: null };
  const key = await keys.create({ ...limits, expiresAt: null }, NOBODY);
  const expected = { kind: 'key', id: key.id, roles: ['red'], collections: ['todos'] };
  t.match(await authenticator.standing({ kind: 'key', id: key.id }), expected);
  await keys.remove(key.id, NOBODY);
  t.equal(await authenticator.standing({ kind: 'key', id: key.id }), null, 'a deleted key');
  const old = await keys.create({ ...limits, expiresAt: new Date(Date.now() - 1) }, NOBODY);
  t.equal(await authenticator.standing({ kind: 'key', id: old.id }), null, 'an expired key');
});
