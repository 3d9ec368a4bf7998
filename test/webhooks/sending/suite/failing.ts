/** Failures: attempts by the schedule, final states, and resending. Part of the suite of all senders. */
import t from 'tap';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { SenderTraits } from '../../../helpers/webhooks/sender-fixture.ts';
import { HOUR, type MakeScene, MINUTE, SECOND } from './scene.ts';

export function failing(scene: MakeScene, { hasSchedules, longestPauseMs }: SenderTraits): void {
  t.test('a failed delivery is retried by the schedule, with the same id', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.response = () => (receiver.received.length < 4 ? 500 : 200);
    const id = `${endpoint.id}:1-1`;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    for (const [index, pause] of [5 * SECOND, 5 * MINUTE, 30 * MINUTE].entries()) {
      const { nextAttemptAt, last, state } = await tried(id, index + 1);
      t.strictSame([state, last?.status, last?.error], ['pending', 500, 'status']);
      const wait = (nextAttemptAt?.getTime() ?? 0) - (last?.at.getTime() ?? 0);
      t.ok(wait >= pause && wait < pause + 5 * SECOND, `${wait} ms until the next attempt`);
      advance(pause + SECOND);
    }
    await reaches(id, 'succeeded');
    t.strictSame(
      receiver.received.map((one) => one.id),
      ['1-1', '1-1', '1-1', '1-1'],
    );
    t.strictSame(new Set(receiver.received.map((one) => one.body)).size, 1);
  });

  t.test('Retry-After of a server pauses its endpoint for that time', async (t) => {
    const { sender, receiver, endpoint, tried } = await scene(t);
    receiver.response = (_, response) => {
      response.writeHead(429, { 'retry-after': '7200' }).end();
      return undefined;
    };
    await sender.submit([newDelivery(endpoint.id, 1)]);
    const { nextAttemptAt, last } = await tried(`${endpoint.id}:1-1`, 1);
    const wait = (nextAttemptAt?.getTime() ?? 0) - (last?.at.getTime() ?? 0);
    const requested = Math.min(2 * HOUR, longestPauseMs);
    t.ok(wait >= requested && wait < requested + 5 * SECOND, `${wait} ms`);
  });

  t.test('a redirect is a failure and is not followed', async (t) => {
    const { sender, receiver, endpoint, tried } = await scene(t);
    const other = await startReceiver(t);
    receiver.response = (_, response) => {
      response.writeHead(307, { location: other.url }).end();
      return undefined;
    };
    await sender.submit([newDelivery(endpoint.id, 1)]);
    t.match((await tried(`${endpoint.id}:1-1`, 1)).last, { status: 307, error: 'redirected' });
    t.equal(other.received.length, 0);
  });

  t.test('410 ends the delivery and reports the endpoint as gone', async (t) => {
    const { sender, receiver, endpoint, disabled, reaches } = await scene(t);
    receiver.response = () => 410;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    t.match((await reaches(`${endpoint.id}:1-1`, 'failed')).last, { status: 410 });
    await until(() => disabled.length > 0, 'it is reported');
    t.strictSame(disabled, [{ endpoint: endpoint.id, reason: 'gone' }]);
  });

  t.test('when all tries are used up a delivery has failed, which is reported; resend begins anew', async (t) => {
    const { sender, receiver, endpoint, dead, advance, tried, reaches } = await scene(t);
    receiver.response = () => 503;
    const id = `${endpoint.id}:1-1`;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    for (let n = 1; n < 8; n++) {
      await tried(id, n);
      advance(11 * HOUR);
    }
    const { attempts, nextAttemptAt } = await reaches(id, 'failed');
    t.strictSame([attempts, nextAttemptAt], [8, null]);
    await until(() => dead.length > 0, 'it is reported');
    t.match(dead, [{ id, event: '1-1', type: 'todos.created', state: 'failed', attempts: 8 }]);
    t.match(await sender.resend(id), { id, state: 'pending' });
    await tried(id, 9);
    receiver.response = () => 200;
    if (hasSchedules) {
      t.equal((await sender.delivery(id))?.delivery.state, 'pending', 'with all attempts available');
      advance(6 * SECOND);
    } else {
      await reaches(id, 'failed');
      await sender.resend(id);
    }
    await reaches(id, 'succeeded');
    t.strictSame(new Set(receiver.received.map((one) => one.id)), new Set(['1-1']));
    t.equal((await sender.attempts(id)).at(-1)?.trigger, 'resend');
    t.equal(await sender.resend('ep:none'), null);
  });

  t.test(
    hasSchedules ? 'the schedule none has one attempt' : 'the schedule of the service applies to all',
    async (t) => {
      const { sender, receiver, endpoint, tried, reaches } = await scene(t, { retrySchedule: 'none' });
      receiver.response = () => 500;
      const id = `${endpoint.id}:1-1`;
      await sender.submit([newDelivery(endpoint.id, 1)]);
      if (hasSchedules) t.equal((await reaches(id, 'failed')).attempts, 1);
      else t.type((await tried(id, 1)).nextAttemptAt, Date);
    },
  );

  t.test(
    'disabling Cancels what is pending; recover brings failed and canceled ones back, ids unchanged',
    async (t) => {
      const { sender, receiver, endpoint, tried, reaches } = await scene(t);
      receiver.response = () => 500;
      const ids = [1, 2, 3].map((n) => `${endpoint.id}:1-${n}`);
      const since = new Date(Date.now() - MINUTE);
      await sender.submit(newDeliveries(endpoint.id, 3));
      for (const id of ids) await tried(id, 1);
      await sender.ensureEndpoint({ ...endpoint, enabled: false });
      for (const id of ids) await reaches(id, 'canceled');
      await sender.submit([newDelivery(endpoint.id, 4)]);
      await reaches(`${endpoint.id}:1-4`, 'canceled');
      receiver.response = () => 200;
      await sender.ensureEndpoint(endpoint);
      t.equal(await sender.recover(endpoint.id, new Date(Date.now() + HOUR)), 0);
      t.equal(await sender.recover(endpoint.id, since, ['todos.created']), 0, 'none of these types');
      t.equal(await sender.recover(endpoint.id, since), 4);
      for (const id of [...ids, `${endpoint.id}:1-4`]) await reaches(id, 'succeeded');
      t.strictSame(new Set(receiver.received.map(({ id }) => id)), new Set(['1-1', '1-2', '1-3', '1-4']));
      t.equal((await sender.attempts(`${endpoint.id}:1-4`)).at(-1)?.trigger, 'recover');
    },
  );

  t.test('removing an endpoint Cancels what is pending', async (t) => {
    const { sender, receiver, endpoint, tried, reaches, advance, settled } = await scene(t);
    receiver.response = () => 500;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    await sender.removeEndpoint(endpoint.id);
    await settled();
    await reaches(`${endpoint.id}:1-1`, 'canceled');
    advance(HOUR);
    t.equal(receiver.received.length, 1);
  });

  t.test('a replay makes a delivery due again, with the body of the replay', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t);
    const one = newDelivery(endpoint.id, 1);
    await sender.submit([one]);
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
    const other = newDelivery(endpoint.id, 2, { trigger: 'replay' });
    await sender.submit([{ ...one, trigger: 'replay', body: '{"cut":true}' }, other]);
    await until(() => receiver.received.length === 3, 'both have arrived');
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
    t.strictSame(receiver.received.map(({ body }) => body).sort(), [other.body, one.body, '{"cut":true}'].sort());
    t.strictSame(
      (await sender.attempts(`${endpoint.id}:1-1`)).map(({ trigger }) => trigger),
      ['schedule', 'replay'],
    );
  });

  t.test('a request to a server that hangs ends at the time limit', async (t) => {
    const { sender, receiver, endpoint, tried } = await scene(t);
    receiver.response = () => undefined;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    t.match((await tried(`${endpoint.id}:1-1`, 1)).last, { status: null, error: 'timeout' });
    const [attempt] = await sender.attempts(`${endpoint.id}:1-1`);
    t.ok((attempt?.durationMs ?? 0) >= 950, `${attempt?.durationMs} ms`);
  });

  t.test('a connection error is a failure', async (t) => {
    const { sender, endpoint, tried } = await scene(t);
    await sender.ensureEndpoint({ ...endpoint, url: 'http://127.0.0.1:1024/' });
    await sender.submit([newDelivery(endpoint.id, 1)]);
    t.match((await tried(`${endpoint.id}:1-1`, 1)).last, { status: null, error: 'unreachable' });
  });
}
