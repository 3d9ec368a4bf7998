/**
 * Claims and profiles may hold members `$ref` and `$id`, of which the driver would make an object of its own: they mean
 * and show what was written. Documents with such members: test/realtime/answer/reference-names.test.ts.
 */
import t from 'tap';
import { ask, signIn, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';

t.test('members $ref and $id', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const { app, parts } = await buildTestApp(t, settings);
  const owner = await signInOwner(app, parts);
  const written = { $ref: 'shop.users', $id: 5, tenant: 'a', deeper: { $ref: 'x.y', $id: { n: 1 }, teams: ['red'] } };
  const save = async (id: string, policy: object): Promise<void> => {
    const answer = await ask(app, 'POST /admin/policies', { id, name: id, effect: 'allow', ...policy }, owner);
    t.equal(answer.statusCode, 201, answer.body);
  };

  await t.test('in a profile and in claims are shown as they were written', async (t) => {
    const ada = await signUp(app, 'ada', { profile: written });
    const changed = await ask(app, `PATCH /admin/users/${ada.id}`, { claims: written }, owner);
    t.strictSame(changed.json().claims, written);
    const shown = (await ask(app, 'GET /auth/me', undefined, ada)).json();
    t.strictSame([shown.profile, shown.claims], [written, written]);
    const listed = (await ask(app, 'GET /admin/users?kind=user', undefined, owner)).json();
    t.strictSame([listed[0].profile, listed[0].claims], [written, written]);
  });

  await t.test('in claims are read by policies, and none of the driver is', async (t) => {
    const where = { tenant: '$user.claims.tenant', team: '$user.claims.deeper.teams' };
    await save('own', { collections: ['posts'], actions: ['create', 'read'], where });
    // These are members of the object that the driver would make.
    const names = { a: '$user.claims.collection', b: '$user.claims.oid', c: '$user.claims.fields.tenant' };
    for (const [member, claim] of Object.entries(names)) {
      await save(`driver-${member}`, { collections: ['others'], actions: ['create'], where: { [member]: claim } });
    }
    const ada = await signIn(app, 'ada');
    const made = await ask(app, 'POST /api/posts', { tenant: 'a', team: 'red' }, ada);
    t.equal(made.statusCode, 201, made.body);
    t.equal((await ask(app, 'POST /api/posts', { tenant: 'b', team: 'red' }, ada)).statusCode, 403);
    for (const other of [{ a: 'users' }, { b: 5 }, { c: 'a' }]) {
      t.equal((await ask(app, 'POST /api/others', other, ada)).statusCode, 403, JSON.stringify(other));
    }
  });
});
