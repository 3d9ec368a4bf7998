/** Owners and second factors: where each must have one, and who removes the factor of somebody who lost it. */
import t from 'tap';
import { ask, PASSWORD, signIn, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor } from '../../helpers/factors/authenticator.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

t.test('owners', async (t) => {
  const place = await testMongo(t);
  const settings = { MILLRACE_MODE: 'production', MILLRACE_REGISTRATION: 'open' };
  const { app, parts } = await buildTestApp(t, { ...settings, MILLRACE_OWNER_MFA: 'required' }, place);
  const second = await buildTestApp(t, settings, place);

  await t.test('without a factor can only set one up, where each must have one', async (t) => {
    const owner = await signInOwner(app, parts);
    for (const request of ['GET /admin/users', 'GET /api/posts', 'POST /admin/keys', 'POST /auth/ticket'] as const) {
      const refused = await ask(app, request, undefined, owner);
      t.match(refused.json(), { status: 403, code: 'factor-required', hint: /POST \/auth\/mfa\/totp/ }, request);
    }
    const present = await parts.auth.authenticator.authenticate(owner.headers.authorization);
    t.match(present, { kind: 'owner', roles: [], lacksFactor: true }, 'nothing else lets it in either');
    t.equal((await ask(app, 'GET /auth/me', undefined, owner)).statusCode, 200);
    t.equal((await ask(second.app, 'GET /admin/users', undefined, owner)).statusCode, 200, 'elsewhere it may');
    await setUpFactor(app, parts, owner);
    t.equal((await ask(app, 'GET /admin/users', undefined, owner)).statusCode, 200, 'at once');
  });

  await t.test('a user needs none', async (t) => {
    const ada = await signUp(app, 'ada');
    t.equal((await ask(app, 'GET /auth/sessions', undefined, ada)).statusCode, 200);
  });

  await t.test('remove the factor of a user who lost it', async (t) => {
    const user = await signUp(app, 'grace');
    const owner = await signInOwner(second.app, second.parts, ['admin', 'owner']);
    const { code } = await setUpFactor(second.app, second.parts, owner);
    const admin = await signInOwner(second.app, second.parts, ['admin']);
    const factor = await setUpFactor(app, parts, user);
    const remove = (id: string, as = admin) => ask(second.app, `DELETE /admin/users/${id}/mfa`, undefined, as);
    t.equal((await remove(user.id, user)).statusCode, 403, 'no user does');
    t.match((await remove(owner.id)).json(), { status: 403, code: 'forbidden' }, 'no admin does it to an owner');
    t.equal((await remove(user.id)).statusCode, 204);
    t.equal((await remove(user.id)).statusCode, 404);
    t.ok((await signIn(app, 'grace')).accessToken);
    const { recoveryCodes } = factor;
    await setUpFactor(app, parts, user);
    const old = { username: 'grace', password: PASSWORD, code: recoveryCodes[0] };
    t.equal((await ask(app, 'POST /auth/login', old)).statusCode, 401, 'its recovery codes went with it');
    const audit = async () =>
      (await ask(second.app, 'GET /admin/audit?type=system.factor.removed', undefined, owner)).json();
    await until(async () => (await audit()).length > 0, 'the audit');
    t.match(await audit(), [{ actor: { kind: 'owner', id: admin.id }, data: { details: { user: user.id } } }]);

    const known = await parts.auth.authenticator.authenticate(owner.headers.authorization);
    t.match(known, { roles: ['owner', 'admin'] });
    const other = { username: 'admin-owner@example.org', password: PASSWORD, code: await code() };
    t.equal((await ask(app, 'POST /auth/login', other)).statusCode, 200);
    t.equal((await remove(owner.id, owner)).statusCode, 204, 'an owner does');
    const refused = async () =>
      (await ask(app, 'GET /admin/users', undefined, owner)).json().code === 'factor-required';
    await until(refused, 'the other process hears of it');
  });
});
