/** Tickets: for where no header can be sent; each works once, for half a minute, and not longer than who asked for it. */
import t from 'tap';
import { ask, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';

t.test('tickets', async (t) => {
  const place = await testMongo(t);
  const [{ app, parts }, second] = [await buildTestApp(t, {}, place), await buildTestApp(t, {}, place)];
  const account = await signUp(app, 'ada');
  const ticket = async (): Promise<string> => {
    const answer = await ask(app, 'POST /auth/ticket', undefined, account);
    t.match(answer.json(), { ticket: /^[\w-]{43}$/, expiresIn: 30 });
    return answer.json().ticket;
  };

  t.equal((await ask(app, 'POST /auth/ticket')).statusCode, 401);

  await t.test('of 50 that redeem one at once, in two processes, one does', async (t) => {
    const one = await ticket();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? parts : second.parts).auth.authenticator.redeemTicket(one)),
    );
    const redeemed = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    t.match(redeemed, [{ kind: 'user', id: account.id, session: account.session }]);
    t.equal(redeemed.length, 1);
    const lost = outcomes.find((outcome) => outcome.status === 'rejected');
    t.match(lost?.reason, { code: 'invalid-credential' });
  });

  await t.test('an old one is none', async (t) => {
    const one = await ticket();
    await parts.mongo.log
      .collection('single_use')
      .updateMany({ purpose: 'ticket' }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    await t.rejects(parts.auth.authenticator.redeemTicket(one), { code: 'invalid-credential' });
  });

  await t.test('it is no other secret, and no other secret is it', async (t) => {
    for (const text of ['', 'x', account.accessToken, account.refreshToken, 'A'.repeat(43)]) {
      await t.rejects(parts.auth.authenticator.redeemTicket(text), { code: 'invalid-credential' });
    }
    const one = await ticket();
    t.equal((await ask(app, 'POST /auth/verify', { token: one })).statusCode, 410);
    t.equal(
      (await ask(app, 'GET /auth/me', undefined, { headers: { authorization: `Bearer ${one}` } })).statusCode,
      401,
    );
    t.match(await parts.auth.authenticator.redeemTicket(one), { kind: 'user' }, 'and it is still good');
  });

  await t.test('it ends with its session', async (t) => {
    const one = await ticket();
    await ask(app, 'POST /auth/logout', undefined, account);
    await t.rejects(second.parts.auth.authenticator.redeemTicket(one), { code: 'invalid-credential' });
  });
});
