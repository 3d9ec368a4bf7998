/** Deliveries that wait are taken and sent at their time, also when they are stored, or their time comes, while the sender looks. */
import t from 'tap';
import { DeliveryStore } from '../../../../src/webhooks/sending/queue/delivery-store.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { directWorld, OWN_TRAITS, openDirect } from '../../../helpers/webhooks/sender-world.ts';
import { scenes } from '../suite/scene.ts';

const scene = scenes(directWorld, OWN_TRAITS);

t.test('no place in time is missed', async (t) => {
  const { sender, receiver, endpoint } = await scene(t, { ratePerSecond: 200 });
  const { now } = performance;
  let asked = 0;
  // A slow machine: more time than from one place to the next, 5 ms, goes by between two looks at the clock.
  t.teardown(() => Object.defineProperty(performance, 'now', { value: now, configurable: true }));
  Object.defineProperty(performance, 'now', { value: () => now.call(performance) + 6 * ++asked, configurable: true });
  await sender.submit(newDeliveries(endpoint.id, 10));
  await until(() => receiver.received.length === 10, 'all have arrived');
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 10);
});

t.test('more is taken when the time for that comes between two looks at the clock', async (t) => {
  const place = await testMongo(t);
  for (let looks = 1; looks <= 3; looks += 1) {
    const receiver = await startReceiver(t);
    let early = looks;
    // At the second place in time, so many looks see a time that is too early. The next one sees the right time.
    const isSecond = () => performance.now() > (receiver.received[0]?.at ?? Number.POSITIVE_INFINITY) + 500;
    const clockOffsetMs = () => (isSecond() && early-- > 0 ? -50 : 0);
    const { sender } = await openDirect(t, { ...place, clockOffsetMs });
    const endpoint = newEndpoint(receiver.url, { ratePerSecond: 1 });
    await sender.ensureEndpoint(endpoint);
    await sender.submit(newDeliveries(endpoint.id, 2));
    await until(() => receiver.received.length === 2, `both have arrived, with ${looks} early looks`);
  }
});

t.test('more is taken that is stored while the sender asks the database', async (t) => {
  const { sender, receiver, endpoint } = await scene(t, { ratePerSecond: 1_000 });
  const { pick } = DeliveryStore.prototype;
  let isStored = false;
  t.intercept(DeliveryStore.prototype, 'pick', {
    value: async function (this: DeliveryStore, ...given: Parameters<typeof pick>) {
      const found = await pick.apply(this, given);
      if (found.length > 0 && !isStored) {
        isStored = true;
        await sender.submit([newDelivery(endpoint.id, 2)]);
      }
      return found;
    },
  });
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await until(() => receiver.received.length === 2, 'both have arrived');
});
