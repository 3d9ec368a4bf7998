/** Endpoints as a whole: breakers, those that fail for days, health. Part of the suite of all senders. */
import t from 'tap';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { SenderTraits } from '../../../helpers/webhooks/sender-world.ts';
import { HOUR, type MakeScene, SECOND } from './scene.ts';

/** What a sender with a breaker does. */
export function breaking(scene: MakeScene): void {
  t.test('after ten failures in a row an endpoint is left alone, which uses up no tries', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.answer = () => 500;
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
    await reaches(`${other.id}:1-1`, 'delivered');
    t.equal(receiver.received.length, 10, 'nothing was sent but to the other endpoint');
    // The probe fails, and the pause doubles.
    advance(30 * SECOND);
    await until(() => receiver.received.length === 11, 'one probe goes');
    const openAgain = async () => (await sender.health([endpoint.id])).get(endpoint.id)?.breaker === 'open';
    await until(openAgain, 'it is open again');
    advance(40 * SECOND);
    await sender.submit([newDelivery(other.id, 2)]);
    await reaches(`${other.id}:1-2`, 'delivered');
    t.equal(receiver.received.length, 11, 'and waits for longer');
    receiver.answer = () => 200;
    advance(25 * SECOND);
    await reaches(`${endpoint.id}:1-30`, 'delivered');
    t.equal((await sender.health([endpoint.id])).get(endpoint.id)?.breaker, 'closed');
    t.equal((await sender.delivery(`${endpoint.id}:1-30`))?.delivery.attempts, 1);
  });

  t.test('a changed URL closes the breaker', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    receiver.answer = () => 500;
    for (let n = 1; n <= 10; n++) {
      await sender.submit([newDelivery(endpoint.id, n)]);
      await tried(`${endpoint.id}:1-${n}`, 1);
    }
    await sender.submit([newDelivery(endpoint.id, 11)]);
    const other = await startReceiver(t);
    await sender.ensureEndpoint({ ...endpoint, url: other.url });
    await reaches(`${endpoint.id}:1-11`, 'delivered');
    t.equal(other.received.length, 1);
  });
}

/** What a sender without a breaker does in its place. */
export function unbroken(scene: MakeScene): void {
  t.test('an endpoint that fails is tried on, and keeps no other one waiting', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.answer = () => 500;
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
    await reaches(`${other.id}:1-1`, 'delivered');
    receiver.answer = () => 200;
    advance(7 * SECOND);
    for (let n = 1; n <= 12; n++) await reaches(`${endpoint.id}:1-${n}`, 'delivered');
  });

  t.test('what waits goes to a changed URL', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t);
    receiver.answer = () => 500;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    const other = await startReceiver(t);
    await sender.ensureEndpoint({ ...endpoint, url: other.url });
    // When this one has arrived, the URL is known.
    await sender.submit([newDelivery(endpoint.id, 2)]);
    await reaches(`${endpoint.id}:1-2`, 'delivered');
    advance(7 * SECOND);
    await reaches(`${endpoint.id}:1-1`, 'delivered');
    t.strictSame([receiver.received.length, other.received.length], [1, 2]);
  });
}

export function pausing(scene: MakeScene, { hasBreaker }: SenderTraits): void {
  t.test('a delivery that tries an endpoint out goes at once, has one try, and counts for nothing', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    receiver.answer = () => 500;
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
    t.equal((await reaches(`${endpoint.id}:1-11`, 'dead')).attempts, 1);
    receiver.answer = () => 200;
    await sender.submit([newDelivery(endpoint.id, 12, { trigger: 'test' })]);
    await reaches(`${endpoint.id}:1-12`, 'delivered');
    const health = (await sender.health([endpoint.id])).get(endpoint.id);
    t.equal(health?.breaker, breaker);
    t.equal(health?.lastSuccessAt, null);
  });

  t.test('an endpoint where nothing succeeds for 120 hours is reported as failing', async (t) => {
    const { sender, receiver, endpoint, disabled, advance, tried } = await scene(t);
    receiver.answer = () => 500;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    advance(119 * HOUR);
    await tried(`${endpoint.id}:1-1`, 2);
    t.strictSame(disabled, []);
    advance(2 * HOUR);
    await until(() => disabled.length > 0, 'it is reported');
    t.match(disabled[0], { endpoint: endpoint.id, reason: 'failing' });
  });

  t.test('health', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    const health = async () => (await sender.health([endpoint.id])).get(endpoint.id);
    const none = {
      breaker: 'closed',
      pending: 0,
      lastSuccessAt: null,
      lastFailureAt: null,
      failingSince: null,
      fault: null,
    };
    t.strictSame(await health(), none);
    receiver.answer = ({ id }) => (id === '1-1' ? 500 : 200);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await tried(`${endpoint.id}:1-1`, 1);
    await until(async () => (await health())?.failingSince !== null, 'the failure is known');
    t.match(await health(), { breaker: 'closed', pending: 1, lastSuccessAt: null, lastFailureAt: Date });
    await sender.submit([newDelivery(endpoint.id, 2)]);
    await reaches(`${endpoint.id}:1-2`, 'delivered');
    await until(async () => (await health())?.failingSince === null, 'the success is known');
    t.match(await health(), { pending: 1, lastSuccessAt: Date, lastFailureAt: Date });
  });
}
