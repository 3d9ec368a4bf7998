/** What weakens an account or the installation wants a sign-in that is not old; everything else goes on. */
import t from 'tap';
import { type Account, ask, PASSWORD, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor, wrongCode } from '../../helpers/factors/authenticator.ts';

const CHALLENGE = 'A'.repeat(43);

t.test('a fresh sign-in', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const families = parts.mongo.log.collection<{ _id: string; provedAt: Date }>('refresh');
  const age = (account: Account, minutes: number) =>
    families.updateOne({ _id: account.session }, { $set: { provedAt: new Date(Date.now() - minutes * 60_000) } });
  const owner = await signInOwner(app, parts);
  const other = await signInOwner(app, parts, ['viewer']);
  const user = await signUp(app, 'ada');
  const key = (await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).json();

  const identity = { redirect: 'https://app.example/', codeChallenge: CHALLENGE };
  /** Each with the status that it has in a fresh session. */
  const ROUTES = [
    [user, 'POST /auth/mfa/totp', undefined, 201],
    [user, 'DELETE /auth/mfa/totp', undefined, 404],
    [user, 'POST /auth/mfa/recovery-codes', undefined, 404],
    [user, 'POST /auth/passkeys/begin', undefined, 200],
    [user, 'DELETE /auth/passkeys/none', undefined, 404],
    [user, 'POST /auth/identities/acme', identity, 404],
    [user, 'DELETE /auth/identities/acme', undefined, 404],
    [owner, 'POST /admin/users', { kind: 'owner', email: 'new@example.org', password: PASSWORD }, 201],
    [owner, `PATCH /admin/users/${other.id}`, { roles: ['admin'] }, 200],
    [owner, `DELETE /admin/users/${user.id}/mfa`, undefined, 404],
    [owner, `DELETE /admin/users/${user.id}/passkeys`, undefined, 204],
    [owner, `DELETE /admin/users/${other.id}`, undefined, 204],
    [owner, 'POST /admin/keys', { name: 'made' }, 201],
    [owner, `DELETE /admin/keys/${key.id}`, undefined, 204],
  ] as const;

  await t.test('is asked for on each route that weakens, and on no other', async (t) => {
    for (const [account, request, send] of ROUTES) {
      await age(account, 16);
      const refused = await ask(app, request, send, account);
      t.match(refused.json(), { status: 403, code: 'fresh-sign-in-required', hint: /POST \/auth\/fresh/ }, request);
    }
    for (const request of ['GET /auth/me', 'GET /auth/mfa', 'GET /auth/sessions'] as const) {
      t.equal((await ask(app, request, undefined, user)).statusCode, 200, request);
    }
    const made = await ask(app, 'POST /admin/users', { username: 'plain', password: PASSWORD }, owner);
    t.equal(made.statusCode, 201, 'accounts of users are made as before');
    await families.updateOne({ _id: user.session }, { $unset: { provedAt: '' } });
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

  await t.test('comes by the password, or by a code, in the same session', async (t) => {
    const begin = async () => (await ask(app, 'POST /auth/mfa/totp', undefined, user)).statusCode;
    const prove = async (send: object) => (await ask(app, 'POST /auth/fresh', send, user)).statusCode;
    await age(user, 16);
    for (const wrong of [{ password: 'a wrong guess' }, { code: '123456' }]) t.equal(await prove(wrong), 401);
    for (const bad of [{}, { password: PASSWORD, code: '123456' }, { password: 1 }]) t.equal(await prove(bad), 400);
    t.equal(await begin(), 403);
    t.equal(await prove({ password: PASSWORD }), 204);
    t.equal(await begin(), 201);
    const { code, secret } = await setUpFactor(app, parts, user);
    await age(user, 16);
    t.equal(await prove({ code: wrongCode(secret) }), 401);
    t.equal(await begin(), 403);
    const one = await code();
    t.equal(await prove({ code: one }), 204);
    t.equal(await prove({ code: one }), 401, 'the code works once');
    t.equal(await begin(), 409);
  });

  await t.test('is not asked of whom has no session', async (t) => {
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
