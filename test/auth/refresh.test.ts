/**
 * Refresh tokens: each works once, for a moment it returns the same response to everyone, and its later reuse ends the
 * family.
 */
import t from 'tap';
import {
  createRefreshToken,
  decodeRefreshToken,
  deriveNextRefreshToken,
  encodeRefreshToken,
  hashRefreshToken,
  isRotatedRefreshToken,
} from '../../src/auth/sessions/refresh-token.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ask, signUp, toUser } from '../helpers/users.ts';

t.test('a refresh token has one spelling, and leads only to its successors', async (t) => {
  const key = Buffer.alloc(32, 1);
  const first = createRefreshToken();
  const text = encodeRefreshToken(first);
  t.strictSame(decodeRefreshToken(text), first);
  for (const other of [`${text}A`, text.slice(0, -1), `${text.slice(0, -1)}=`, text.toUpperCase(), '', 'mrr_']) {
    t.equal(decodeRefreshToken(other), null, other);
  }
  const third = deriveNextRefreshToken(deriveNextRefreshToken(first, key), key);
  const current = { generation: third.generation, hash: hashRefreshToken(third) };
  t.ok(isRotatedRefreshToken(first, current, key));
  t.ok(isRotatedRefreshToken(third, current, key));
  t.notOk(isRotatedRefreshToken({ ...first, secret: Buffer.alloc(32) }, current, key));
  t.notOk(isRotatedRefreshToken(first, current, Buffer.alloc(32, 2)));
  t.notOk(isRotatedRefreshToken(deriveNextRefreshToken(third, key), current, key));
  t.notOk(isRotatedRefreshToken({ ...first, generation: 1 }, current, key));
});

t.test('refresh tokens', async (t) => {
  const testDatabase = await testMongo(t);
  const [{ app, services }, second] = [
    await buildTestApp(t, {}, testDatabase),
    await buildTestApp(t, {}, testDatabase),
  ];
  const families = services.mongo.log.collection<{
    _id: string;
    generation: number;
    used: { at: Date }[];
    expiresAt: Date;
  }>('refresh_tokens');
  const refresh = (refreshToken: string, at = app) => ask(at, 'POST /auth/refresh', { refreshToken });

  await t.test('a refresh returns the user as now stored, as a login does', async (t) => {
    const account = { username: 'joan', password: 'a password that nobody has guessed' };
    const { refreshToken, user } = (await ask(app, 'POST /auth/register', account)).json();
    await services.mongo.data
      .collection<{ _id: string }>('_users')
      .updateOne({ _id: user.id }, { $set: { roles: ['editor'] } });
    const renewed = (await refresh(refreshToken)).json();
    t.strictSame(renewed.user, { ...user, roles: ['editor'] });
  });

  await t.test('50 concurrent refreshes with one token, in two processes, all succeed and advance once', async (t) => {
    const { refreshToken, session } = await signUp(app, 'ada');
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => refresh(refreshToken, index % 2 === 0 ? app : second.app)),
    );
    t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]));
    const next = new Set(responses.map((response) => response.json().refreshToken));
    t.equal(next.size, 1, 'one successor');
    t.notOk(next.has(refreshToken));
    t.match(await families.findOne({ _id: session }), { generation: 1 }, 'one advance');
    for (const response of responses) {
      t.equal((await ask(second.app, 'GET /auth/me', undefined, toUser(response))).statusCode, 200);
    }
  });

  await t.test('reuse after the grace period ends the family', async (t) => {
    const { refreshToken, session, headers } = await signUp(app, 'grace');
    const next = toUser(await refresh(refreshToken));
    t.equal((await refresh(refreshToken)).json().refreshToken, next.refreshToken, 'not yet');
    await families.updateOne({ _id: session }, { $set: { 'used.$[].at': new Date(Date.now() - 10_001) } });
    t.equal((await refresh(refreshToken)).statusCode, 401);
    t.equal((await refresh(next.refreshToken)).statusCode, 401, 'the new one is dead too');
    t.equal((await ask(app, 'GET /auth/me', undefined, { headers })).statusCode, 401, 'and so is the access token');
  });

  await t.test('reuse of an older refresh token ends the family', async (t) => {
    const { refreshToken, session } = await signUp(app, 'edsger');
    let last = refreshToken;
    for (let n = 0; n < 3; n++) last = toUser(await refresh(last)).refreshToken;
    t.equal((await refresh(refreshToken)).statusCode, 200, 'not within the time of grace, for a slow tab');
    await families.updateOne({ _id: session }, { $set: { 'used.$[].at': new Date(Date.now() - 10_001) } });
    t.equal((await refresh(refreshToken)).statusCode, 401);
    t.equal((await refresh(last)).statusCode, 401);
  });

  await t.test('a refresh token has the same successor for ten seconds, however many came after it', async (t) => {
    const { refreshToken, session } = await signUp(app, 'alan');
    const tokens = [refreshToken];
    for (let n = 0; n < 40; n++) tokens.push(toUser(await refresh(tokens.at(-1) ?? '')).refreshToken);
    for (const at of [0, 1, 17, 38, 39]) {
      t.equal((await refresh(tokens[at] ?? '', second.app)).json().refreshToken, tokens[at + 1], `token ${at}`);
    }
    const known = decodeRefreshToken(refreshToken);
    if (known === null) throw new Error('It is no token');
    t.equal(
      (await refresh(encodeRefreshToken({ ...known, secret: Buffer.alloc(32, 7) }))).statusCode,
      401,
      'a made-up one',
    );
    t.equal((await refresh(tokens[40] ?? '')).statusCode, 200, 'ends nothing');
    const { used = [] } = (await families.findOne({ _id: session })) ?? {};
    t.ok(used.length <= 102, `${used.length} times are kept, at most ten a second`);
    const old = new Date(Date.now() - 10_001);
    await families.updateOne(
      { _id: session },
      { $set: { 'used.$[early].at': old } },
      { arrayFilters: [{ 'early.from': { $lte: 1 } }] },
    );
    const last = (await families.findOne({ _id: session }))?.used.at(-1);
    t.ok(last !== undefined);
    t.equal((await refresh(tokens[0] ?? '')).statusCode, 401, 'used too long ago, though later ones are remembered');
    t.equal((await refresh(tokens[40] ?? '')).statusCode, 401, 'so the session has ended');
  });

  await t.test('an invented refresh token ends nothing', async (t) => {
    const { refreshToken } = await signUp(app, 'donald');
    const known = decodeRefreshToken(refreshToken);
    if (known === null) throw new Error('It is no token');
    const createdUp = [
      { ...known, secret: Buffer.alloc(32, 7) },
      { ...known, generation: 3 },
    ];
    for (const token of createdUp) t.equal((await refresh(encodeRefreshToken(token))).statusCode, 401);
    t.equal((await refresh(refreshToken)).statusCode, 200);
  });

  await t.test('an impossible position in the token family is rejected like every other invalid token', async (t) => {
    const { refreshToken } = await signUp(app, 'barbara');
    const known = decodeRefreshToken(refreshToken);
    if (known === null) throw new Error('It is no token');
    for (const generation of [1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1]) {
      const response = await refresh(encodeRefreshToken({ ...known, generation }));
      t.match(response.json(), { status: 401, code: 'invalid-token' }, String(generation));
    }
    t.equal((await refresh(refreshToken)).statusCode, 200);
  });

  await t.test('an expired refresh token is invalid', async (t) => {
    const { refreshToken, session } = await signUp(app, 'tony');
    await families.updateOne({ _id: session }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    t.equal((await refresh(refreshToken)).statusCode, 401);
    await services.auth.sessions.endExpired({ by: null, request: null });
    t.equal(await families.countDocuments({ _id: session }), 0, 'and is swept');
  });
});
