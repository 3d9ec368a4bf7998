/** What weakens a user or the instance requires a recent sign-in; everything else does not. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor, wrongCode } from '../../helpers/mfa/authenticator.ts';
import { type Account, ask, PASSWORD, signInAdmin, signUp } from '../../helpers/users.ts';

const CHALLENGE = 'A'.repeat(43);

t.test('reauthentication', async (t) => {
  const { app, services } = await buildTestApp(t);
  const families = services.mongo.log.collection<{ _id: string; verifiedAt: Date }>('refresh_tokens');
  const age = (account: Account, minutes: number) =>
    families.updateOne({ _id: account.session }, { $set: { verifiedAt: new Date(Date.now() - minutes * 60_000) } });
  const owner = await signInAdmin(app, services);
  const other = await signInAdmin(app, services, ['viewer']);
  const user = await signUp(app, 'ada');
  const key = (await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).json();

  const identity = { redirect: 'https://app.example/', codeChallenge: CHALLENGE };
  /** Each with the status that it has in a recently authenticated session. */
  const ROUTES = [
    [user, 'POST /auth/mfa/totp', undefined, 201],
    [user, 'DELETE /auth/mfa/totp', undefined, 404],
    [user, 'POST /auth/mfa/recovery-codes', undefined, 404],
    [user, 'POST /auth/passkeys/registration-options', undefined, 200],
    [user, 'DELETE /auth/passkeys/none', undefined, 404],
    [user, 'POST /auth/identities/acme', identity, 404],
    [user, 'DELETE /auth/identities/acme', undefined, 404],
    [owner, 'POST /admin/users', { kind: 'admin', email: 'new@example.org', password: PASSWORD }, 201],
    [owner, `PATCH /admin/users/${other.id}`, { roles: ['manager'] }, 200],
    [owner, `DELETE /admin/users/${user.id}/mfa`, undefined, 404],
    [owner, `DELETE /admin/users/${user.id}/passkeys`, undefined, 204],
    [owner, `DELETE /admin/users/${other.id}`, undefined, 204],
    [owner, 'POST /admin/keys', { name: 'made' }, 201],
    [owner, `DELETE /admin/keys/${key.id}`, undefined, 204],
  ] as const;

  await t.test('is required on each route that weakens security, and on no other', async (t) => {
    for (const [account, request, send] of ROUTES) {
      await age(account, 16);
      const refused = await ask(app, request, send, account);
      t.match(
        refused.json(),
        { status: 403, code: 'reauthentication-required', hint: /POST \/auth\/reauthenticate/ },
        request,
      );
    }
    for (const request of ['GET /auth/me', 'GET /auth/mfa', 'GET /auth/sessions'] as const) {
      t.equal((await ask(app, request, undefined, user)).statusCode, 200, request);
    }
    const created = await ask(app, 'POST /admin/users', { username: 'plain', password: PASSWORD }, owner);
    t.equal(created.statusCode, 201, 'accounts of users are made as before');
    await families.updateOne({ _id: user.session }, { $unset: { verifiedAt: '' } });
    t.equal(
      (await ask(app, 'POST /auth/mfa/totp', undefined, user)).statusCode,
      403,
      'a session of an earlier version',
    );
    await ask(app, 'POST /auth/refresh', { refreshToken: owner.refreshToken });
    t.equal((await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).statusCode, 403, 'new tokens prove nothing');
    for (const [account, request, send, status] of ROUTES) {
      await age(account, 14);
      t.equal((await ask(app, request, send, account)).statusCode, status, request);
    }
  });

  await t.test('reauthentication takes the password, or a code, in the same session', async (t) => {
    const begin = async () => (await ask(app, 'POST /auth/mfa/totp', undefined, user)).statusCode;
    const prove = async (send: object) => (await ask(app, 'POST /auth/reauthenticate', send, user)).statusCode;
    await age(user, 16);
    for (const wrong of [{ password: 'a wrong guess' }, { code: '123456' }]) t.equal(await prove(wrong), 401);
    for (const bad of [{}, { password: PASSWORD, code: '123456' }, { password: 1 }]) t.equal(await prove(bad), 400);
    t.equal(await begin(), 403);
    t.equal(await prove({ password: PASSWORD }), 204);
    t.equal(await begin(), 201);
    const { code, secret } = await setUpFactor(app, services, user);
    await age(user, 16);
    t.equal(await prove({ code: wrongCode(secret) }), 401);
    t.equal(await begin(), 403);
    const one = await code();
    t.equal(await prove({ code: one }), 204);
    t.equal(await prove({ code: one }), 401, 'the code works once');
    t.equal(await begin(), 409);
  });

  await t.test('reauthentication is not required without a session', async (t) => {
    t.equal((await ask(app, 'POST /admin/keys', { name: 'open' })).statusCode, 201, 'in development, anybody');
    const { key: text } = (await ask(app, 'POST /admin/keys', { name: 'root' })).json();
    const byKey = { headers: { authorization: `Bearer ${text}` } };
    t.equal(
      (await ask(app, 'POST /admin/keys', { name: 'by a key' }, byKey)).statusCode,
      201,
      'a key, as policies say',
    );
  });
});
