/**
 * Claims and profiles may have fields `$ref` and `$id`, which the driver would turn into its own object: they are
 * stored and returned as written. Documents with such fields: test/realtime/result/reference-names.test.ts.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, signIn, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('fields $ref and $id of users', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const { app, services } = await buildTestApp(t, settings);
  const owner = await signInAdmin(app, services);
  const written = { $ref: 'shop.users', $id: 5, tenant: 'a', deeper: { $ref: 'x.y', $id: { n: 1 }, teams: ['red'] } };
  const save = async (id: string, policy: object): Promise<void> => {
    const response = await ask(app, 'POST /admin/policies', { id, name: id, effect: 'allow', ...policy }, owner);
    t.equal(response.statusCode, 201, response.body);
  };

  await t.test('fields $ref and $id in a profile and in claims are returned as written', async (t) => {
    const ada = await signUp(app, 'ada', { profile: written });
    const changed = await ask(app, `PATCH /admin/users/${ada.id}`, { claims: written }, owner);
    t.strictSame(changed.json().claims, written);
    const shown = (await ask(app, 'GET /auth/me', undefined, ada)).json();
    t.strictSame([shown.profile, shown.claims], [written, written]);
    const listed = (await ask(app, 'GET /admin/users?kind=user', undefined, owner)).json();
    t.strictSame([listed[0].profile, listed[0].claims], [written, written]);
  });

  await t.test('reference names in claims are read by policies, and none of the driver is', async (t) => {
    const where = { tenant: '$user.claims.tenant', team: '$user.claims.deeper.teams' };
    await save('own', { resources: ['posts'], actions: ['create', 'read'], filter: where });
    // These are fields of the object that the driver would create.
    const names = { a: '$user.claims.collection', b: '$user.claims.oid', c: '$user.claims.fields.tenant' };
    for (const [field, claim] of Object.entries(names)) {
      await save(`driver-${field}`, { resources: ['others'], actions: ['create'], filter: { [field]: claim } });
    }
    const ada = await signIn(app, 'ada');
    const created = await ask(app, 'POST /api/posts', { tenant: 'a', team: 'red' }, ada);
    t.equal(created.statusCode, 201, created.body);
    t.equal((await ask(app, 'POST /api/posts', { tenant: 'b', team: 'red' }, ada)).statusCode, 403);
    for (const other of [{ a: 'users' }, { b: 5 }, { c: 'a' }]) {
      t.equal((await ask(app, 'POST /api/others', other, ada)).statusCode, 403, JSON.stringify(other));
    }
  });
});
