/** Administrators and second factors: where each must have one, and removing a lost factor. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor } from '../../helpers/mfa/authenticator.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('second factors and administrators', async (t) => {
  const testDatabase = await testMongo(t);
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const { app, services } = await buildTestApp(t, { ...settings, MILLRACE_ADMIN_MFA: 'required' }, testDatabase);
  const second = await buildTestApp(t, settings, testDatabase);

  await t.test('an administrator without a required second factor can only enroll', async (t) => {
    const owner = await signInAdmin(app, services);
    for (const request of ['GET /admin/users', 'GET /api/posts', 'POST /admin/keys', 'POST /auth/ticket'] as const) {
      const refused = await ask(app, request, undefined, owner);
      t.match(
        refused.json(),
        { status: 403, code: 'mfa-enrollment-required', hint: /POST \/auth\/mfa\/totp/ },
        request,
      );
    }
    const present = await services.auth.authenticator.authenticate(owner.headers.authorization);
    t.match(present, { kind: 'admin', roles: [], needsMfaEnrollment: true }, 'nothing else lets it in either');
    t.equal((await ask(app, 'GET /auth/me', undefined, owner)).statusCode, 200);
    t.equal((await ask(second.app, 'GET /admin/users', undefined, owner)).statusCode, 200, 'elsewhere it may');
    await setUpFactor(app, services, owner);
    t.equal((await ask(app, 'GET /admin/users', undefined, owner)).statusCode, 200, 'at once');
  });

  await t.test('a user needs no second factor', async (t) => {
    const ada = await signUp(app, 'ada');
    t.equal((await ask(app, 'GET /auth/sessions', undefined, ada)).statusCode, 200);
  });

  await t.test('administrators remove the lost factor of a user', async (t) => {
    const user = await signUp(app, 'grace');
    const owner = await signInAdmin(second.app, second.services, ['manager', 'owner']);
    const { code } = await setUpFactor(second.app, second.services, owner);
    const admin = await signInAdmin(second.app, second.services, ['manager']);
    const factor = await setUpFactor(app, services, user);
    const remove = (id: string, as = admin) => ask(second.app, `DELETE /admin/users/${id}/mfa`, undefined, as);
    t.equal((await remove(user.id, user)).statusCode, 403, 'no user does');
    t.match(
      (await remove(owner.id)).json(),
      { status: 403, code: 'forbidden' },
      'no admin does it to an administrator',
    );
    t.equal((await remove(user.id)).statusCode, 204);
    t.equal((await remove(user.id)).statusCode, 404);
    t.ok((await signIn(app, 'grace')).accessToken);
    const { recoveryCodes } = factor;
    await setUpFactor(app, services, user);
    const old = { username: 'grace', password: PASSWORD, code: recoveryCodes[0] };
    t.equal((await ask(app, 'POST /auth/login', old)).statusCode, 401, 'its recovery codes went with it');
    const audit = async () =>
      (await ask(second.app, 'GET /admin/audit?eventType=system.mfa.removed', undefined, owner)).json();
    await until(async () => (await audit()).length > 0, 'the audit');
    t.match(await audit(), [{ actor: { kind: 'admin', id: admin.id }, data: { details: { user: user.id } } }]);

    const known = await services.auth.authenticator.authenticate(owner.headers.authorization);
    t.match(known, { roles: ['owner', 'manager'] });
    const other = { username: 'manager-owner@example.org', password: PASSWORD, code: await code() };
    t.equal((await ask(app, 'POST /auth/login', other)).statusCode, 200);
    t.equal((await remove(owner.id, owner)).statusCode, 204, 'an administrator does');
    const refused = async () =>
      (await ask(app, 'GET /admin/users', undefined, owner)).json().code === 'mfa-enrollment-required';
    await until(refused, 'the other process hears of it');
  });
});
