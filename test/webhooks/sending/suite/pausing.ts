/** Endpoints as a whole: breakers, endpoints that fail for days, health. Part of the suite of all senders. */
import t from 'tap';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { SenderTraits } from '../../../helpers/webhooks/sender-fixture.ts';
import { HOUR, type MakeScene, SECOND } from './scene.ts';

/** Tests of a sender with a breaker. */
export function breaking(scene: MakeScene): void {
  t.test('after ten consecutive failures an endpoint is paused, which uses up no attempts', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.response = () => 500;
    for (let n = 1; n <= 10; n++) {
      await sender.submit([newDelivery(endpoint.id, n)]);
      await tried(`${endpoint.id}:1-${n}`, 1);
    }
    await until(async () => (await sender.health([endpoint.id])).get(endpoint.id)?.breaker === 'open', 'it is open');
    await sender.submit(newDeliveries(endpoint.id, 20, 11));
    advance(6 * SECOND);
    const healthy = await startReceiver(t);
    const other = newEndpoint(healthy.url);
    await sender.ensureEndpoint(other);
    await sender.submit([newDelivery(other.id, 1)]);
    await reaches(`${other.id}:1-1`, 'succeeded');
    t.equal(receiver.received.length, 10, 'nothing was sent except to the other endpoint');
    // The probe fails, and the pause doubles.
    advance(30 * SECOND);
    await until(() => receiver.received.length === 11, 'one probe goes');
    const openAgain = async () => (await sender.health([endpoint.id])).get(endpoint.id)?.breaker === 'open';
    await until(openAgain, 'it is open again');
    advance(40 * SECOND);
    await sender.submit([newDelivery(other.id, 2)]);
    await reaches(`${other.id}:1-2`, 'succeeded');
    t.equal(receiver.received.length, 11, 'and waits for longer');
    receiver.response = () => 200;
    advance(25 * SECOND);
    await reaches(`${endpoint.id}:1-30`, 'succeeded');
    t.equal((await sender.health([endpoint.id])).get(endpoint.id)?.breaker, 'closed');
    t.equal((await sender.delivery(`${endpoint.id}:1-30`))?.delivery.attempts, 1);
  });

  t.test('a changed URL closes the breaker', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    receiver.response = () => 500;
    for (let n = 1; n <= 10; n++) {
      await sender.submit([newDelivery(endpoint.id, n)]);
      await tried(`${endpoint.id}:1-${n}`, 1);
    }
    await sender.submit([newDelivery(endpoint.id, 11)]);
    const other = await startReceiver(t);
    await sender.ensureEndpoint({ ...endpoint, url: other.url });
    await reaches(`${endpoint.id}:1-11`, 'succeeded');
    t.equal(other.received.length, 1);
  });
}

/** Tests of a sender without a breaker. */
export function unbroken(scene: MakeScene): void {
  t.test('a failing endpoint is retried, and delays no other one', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.response = () => 500;
    await sender.submit(newDeliveries(endpoint.id, 12));
    for (let n = 1; n <= 12; n++) await tried(`${endpoint.id}:1-${n}`, 1);
    t.match((await sender.health([endpoint.id])).get(endpoint.id), {
      breaker: 'closed',
      pending: 12,
      failingSince: Date,
    });
    const healthy = await startReceiver(t);
    const other = newEndpoint(healthy.url);
    await sender.ensureEndpoint(other);
    await sender.submit([newDelivery(other.id, 1)]);
    await reaches(`${other.id}:1-1`, 'succeeded');
    receiver.response = () => 200;
    advance(7 * SECOND);
    for (let n = 1; n <= 12; n++) await reaches(`${endpoint.id}:1-${n}`, 'succeeded');
  });

  t.test('waiting deliveries go to a changed URL', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.response = () => 500;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    const other = await startReceiver(t);
    await sender.ensureEndpoint({ ...endpoint, url: other.url });
    // When this one has arrived, the URL is known.
    await sender.submit([newDelivery(endpoint.id, 2)]);
    await reaches(`${endpoint.id}:1-2`, 'succeeded');
    advance(7 * SECOND);
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
    t.strictSame([receiver.received.length, other.received.length], [1, 2]);
  });
}

export function pausing(scene: MakeScene, { hasBreaker }: SenderTraits): void {
  t.test('a test delivery is sent at once, has one attempt, and does not count for the breaker', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    receiver.response = () => 500;
    for (let n = 1; n <= 10; n++) {
      await sender.submit([newDelivery(endpoint.id, n)]);
      await tried(`${endpoint.id}:1-${n}`, 1);
    }
    const breaker = hasBreaker ? 'open' : 'closed';
    await until(
      async () => (await sender.health([endpoint.id])).get(endpoint.id)?.breaker === breaker,
      `it is ${breaker}`,
    );
    await sender.submit([newDelivery(endpoint.id, 11, { trigger: 'test' })]);
    t.equal((await reaches(`${endpoint.id}:1-11`, 'failed')).attempts, 1);
    receiver.response = () => 200;
    await sender.submit([newDelivery(endpoint.id, 12, { trigger: 'test' })]);
    await reaches(`${endpoint.id}:1-12`, 'succeeded');
    const health = (await sender.health([endpoint.id])).get(endpoint.id);
    t.equal(health?.breaker, breaker);
    t.equal(health?.lastSuccessAt, null);
  });

  t.test('an endpoint without a success for 120 hours is reported as failing', async (t) => {
    const { sender, receiver, endpoint, disabled, advance, tried } = await scene(t);
    receiver.response = () => 500;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    advance(119 * HOUR);
    await tried(`${endpoint.id}:1-1`, 2);
    t.strictSame(disabled, []);
    advance(2 * HOUR);
    await until(() => disabled.length > 0, 'it is reported');
    t.match(disabled[0], { endpoint: endpoint.id, reason: 'failing' });
  });

  t.test('the health of an endpoint has its breaker, pending deliveries and failures', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    const health = async () => (await sender.health([endpoint.id])).get(endpoint.id);
    const none = {
      breaker: 'closed',
      pending: 0,
      lastSuccessAt: null,
      lastFailureAt: null,
      failingSince: null,
      error: null,
    };
    t.strictSame(await health(), none);
    receiver.response = ({ id }) => (id === '1-1' ? 500 : 200);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    await until(async () => (await health())?.failingSince !== null, 'the failure is known');
    t.match(await health(), { breaker: 'closed', pending: 1, lastSuccessAt: null, lastFailureAt: Date });
    await sender.submit([newDelivery(endpoint.id, 2)]);
    await reaches(`${endpoint.id}:1-2`, 'succeeded');
    await until(async () => (await health())?.failingSince === null, 'the success is known');
    t.match(await health(), { pending: 1, lastSuccessAt: Date, lastFailureAt: Date });
  });
}
