/**
 * User names that could be mistaken for one another: rejected on creation and on change; existing users keep working.
 */
import t from 'tap';
import { rejectMisleadingUsername, usernameSkeleton } from '../../src/auth/users/look-alikes.ts';
import { buildTestApp } from '../helpers/app.ts';
import { codeOf } from '../helpers/code-of.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ask, PASSWORD, signIn, signUp } from '../helpers/users.ts';

t.test('user names of one script, and of scripts that are written together', async (t) => {
  for (const name of [
    'ada',
    'Ada.Lovelace_1815-x',
    '\u00c5sa',
    'e\u0301a',
    '\u041a\u0430\u0442\u044f',
    '\u039c\u03b1\u03c1\u03af\u03b1.1',
    '\u674e\u5c0f\u9f99',
    '\u3086\u308a\u5b50\u30a2Yuri',
    '\uae40\u6c38Kim',
    '\u0645\u062d\u0645\u062f',
    '\u0905\u0928\u0941',
    '\uff41\uff44\uff41',
    '13A0\u13a0'.slice(4),
  ]) {
    t.equal(
      codeOf(() => rejectMisleadingUsername(name)),
      'none',
      name,
    );
  }
  for (const name of [
    '\u0430da',
    'ad\u0430',
    'b\u03bfb',
    '\u041aate',
    'a\u0660',
    '\u041a\u03b1',
    'ada\u3164',
    'a\u115fda',
    '\ud800\udf30',
    'ab\u05d0',
  ]) {
    t.equal(
      codeOf(() => rejectMisleadingUsername(name)),
      'invalid-body',
      name,
    );
  }
});

t.test('user names that look alike have one skeleton', async (t) => {
  for (const [one, other] of [
    ['scope', '\u0455\u0441\u043e\u0440\u0435'],
    ['paypal', 'paypaI'],
    ['paypal', 'paypa1'],
    ['modern', 'rnodern'],
    ['bob', 'b0b'],
    ['KATE', '\u039a\u0391\u03a4\u0395'],
    ['oo', '\u03bf\u03bf'],
    ['AA', '\u13aa\u13aa'],
    ['Ida', 'lda'],
  ] as const) {
    t.equal(usernameSkeleton(one), usernameSkeleton(other), `${one} ${other}`);
  }
  for (const [one, other] of [
    ['ada', 'bob'],
    ['ana', 'a\u00f1a'],
    ['user1', 'user2'],
    ['ada.l', 'ada-l'],
    ['\u041a\u0430\u0442\u044f', '\u041a\u0430\u0442\u0438'],
  ] as const) {
    t.not(usernameSkeleton(one), usernameSkeleton(other), `${one} ${other}`);
  }
});

t.test('look-alike user names', async (t) => {
  const testDatabase = await testMongo(t);
  const { app, services } = await buildTestApp(t, {}, testDatabase);
  const register = (username: string) => ask(app, 'POST /auth/register', { username, password: PASSWORD });
  await signUp(app, 'scope');

  await t.test('a look-alike of an existing name is rejected when a user is created', async (t) => {
    for (const username of ['\u0455\u0441\u043e\u0440\u0435', 'sc0pe', 'Sc\u043epe', 'scope']) {
      const refused = await register(username);
      t.ok(refused.statusCode === 409 || refused.statusCode === 400, `${username}: ${refused.statusCode}`);
    }
    const taken = { status: 409, code: 'username-taken', detail: /looks like/, hint: /look-alike/ };
    t.match((await register('\u0455\u0441\u043e\u0440\u0435')).json(), taken);
    const mixed = { status: 400, code: 'invalid-body', detail: /scripts/, errors: [{ pointer: '/username' }] };
    t.match((await register('sc\u043epe')).json(), mixed);
    const owner = { by: null, request: null };
    await t.rejects(
      services.auth.users.create({ username: 'sc0pe' }, owner),
      { code: 'username-taken' },
      'by administrators too',
    );
    t.notMatch((await ask(app, 'GET /auth/me', undefined, await signIn(app, 'scope'))).body, /skeleton/);
  });

  await t.test('a look-alike is rejected when a name is changed', async (t) => {
    const one = await signUp(app, 'lovelace');
    const rename = (username: string) => ask(app, 'PATCH /auth/me', { username }, one);
    t.match((await rename('sc0pe')).json(), { status: 409, code: 'username-taken', detail: /looks like/ });
    t.match((await rename('lovel\u0430ce')).json(), { status: 400, code: 'invalid-body' });
    t.equal((await rename('L0velace')).statusCode, 200, 'its own look-alike is its own');
    t.equal((await rename('ada')).statusCode, 200);
    t.equal((await register('lovelace')).statusCode, 201, 'what was left is free');
  });

  await t.test('of two concurrent look-alike names one is created', async (t) => {
    const responses = await Promise.all(['roll', 'ro1l', 'rol1', 'roIl'].map(register));
    t.strictSame(responses.map(({ statusCode }) => statusCode).sort(), [201, 409, 409, 409]);
  });

  await t.test('users of earlier versions keep working, and their names are kept', async (t) => {
    const users = services.mongo.data.collection<{ _id: string; username: string }>('_users');
    const old = [];
    for (const username of ['grace', 'donald', 'barbara']) old.push(await signUp(app, username));
    // As an earlier version left them: two that look alike, and one that mixes scripts.
    const named = async (id: string | undefined, username: string) => {
      const names = [username.toLowerCase()];
      await users.updateOne({ _id: String(id) }, { $set: { username, names }, $unset: { skeleton: '' } });
    };
    const [hopper, twin, mixed] = ['hopper', 'h0pper', 'mix\u0435d'];
    await named(old[0]?.id, hopper);
    await named(old[1]?.id, twin);
    await named(old[2]?.id, mixed);
    const second = await buildTestApp(t, {}, testDatabase);
    for (const name of [hopper, twin, mixed]) {
      const user = await signIn(second.app, name);
      const change = { username: name, profile: { seen: true } };
      t.equal((await ask(second.app, 'PATCH /auth/me', change, user)).statusCode, 200, `${name} changes what it likes`);
    }
    const again = await ask(second.app, 'POST /auth/register', { username: 'hopp\u0435r', password: PASSWORD });
    t.equal(again.statusCode, 400);
    const third = await ask(second.app, 'POST /auth/register', { username: 'HOPPER', password: PASSWORD });
    t.equal(third.statusCode, 409);
    const fourth = await ask(second.app, 'POST /auth/register', { username: 'ho\u1d29per', password: PASSWORD });
    t.ok(fourth.statusCode === 409 || fourth.statusCode === 400);
    await signUp(second.app, 'unlike');
    const known = await users.findOne({ _id: String(old[0]?.id) });
    t.match(known, { skeleton: String }, 'the older of the two has the look of both');
  });
});
