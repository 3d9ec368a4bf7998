/**
 * Tickets for requests that cannot send a header: each works once, for half a minute, and never outlives its requester.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { ask, signUp } from '../helpers/users.ts';

t.test('tickets', async (t) => {
  const testDatabase = await testMongo(t);
  const [{ app, services }, second] = [
    await buildTestApp(t, {}, testDatabase),
    await buildTestApp(t, {}, testDatabase),
  ];
  const user = await signUp(app, 'ada');
  const ticket = async (): Promise<string> => {
    const response = await ask(app, 'POST /auth/ticket', undefined, user);
    t.match(response.json(), { ticket: /^[\w-]{43}$/, expiresIn: 30 });
    return response.json().ticket;
  };

  t.equal((await ask(app, 'POST /auth/ticket')).statusCode, 401);

  await t.test('of 50 requests with one ticket, in two processes, one succeeds', async (t) => {
    const one = await ticket();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 === 0 ? services : second.services).auth.authenticator.redeemTicket(one),
      ),
    );
    const redeemed = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    t.match(redeemed, [{ kind: 'user', id: user.id, session: user.session }]);
    t.equal(redeemed.length, 1);
    const lost = outcomes.find((outcome) => outcome.status === 'rejected');
    t.match(lost?.reason, { code: 'invalid-token' });
  });

  await t.test('an expired ticket is rejected', async (t) => {
    const one = await ticket();
    await services.mongo.log
      .collection('one_time_tokens')
      .updateMany({ purpose: 'ticket' }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    await t.rejects(services.auth.authenticator.redeemTicket(one), { code: 'invalid-token' });
  });

  await t.test('a ticket is no other secret, and no other secret is a ticket', async (t) => {
    for (const text of ['', 'x', user.accessToken, user.refreshToken, 'A'.repeat(43)]) {
      await t.rejects(services.auth.authenticator.redeemTicket(text), { code: 'invalid-token' });
    }
    const one = await ticket();
    t.equal((await ask(app, 'POST /auth/verify', { token: one })).statusCode, 410);
    t.equal(
      (await ask(app, 'GET /auth/me', undefined, { headers: { authorization: `Bearer ${one}` } })).statusCode,
      401,
    );
    t.match(await services.auth.authenticator.redeemTicket(one), { kind: 'user' }, 'and it is still good');
  });

  await t.test('a ticket ends with its session', async (t) => {
    const one = await ticket();
    await ask(app, 'POST /auth/logout', undefined, user);
    await t.rejects(second.services.auth.authenticator.redeemTicket(one), { code: 'invalid-token' });
  });
});
