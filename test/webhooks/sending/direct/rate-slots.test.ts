/** Waiting deliveries are leased and sent on time, also if they are stored or become due during a poll. */
import t from 'tap';
import { DeliveryStore } from '../../../../src/webhooks/sending/queue/delivery-store.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { directFixture, OWN_TRAITS, openDirect } from '../../../helpers/webhooks/sender-fixture.ts';
import { scenes } from '../suite/scene.ts';

const scene = scenes(directFixture, OWN_TRAITS);

t.test('no rate slot is missed', async (t) => {
  const { sender, receiver, endpoint } = await scene(t, { ratePerSecond: 200 });
  const { now } = performance;
  let requested = 0;
  // A slow machine: more time than from one slot to the next, 5 ms, passes between two reads of the clock.
  t.teardown(() => Object.defineProperty(performance, 'now', { value: now, configurable: true }));
  Object.defineProperty(performance, 'now', {
    value: () => now.call(performance) + 6 * ++requested,
    configurable: true,
  });
  await sender.submit(newDeliveries(endpoint.id, 10));
  await until(() => receiver.received.length === 10, 'all have arrived');
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 10);
});

t.test('more is leased if its time comes between two reads of the clock', async (t) => {
  const position = await testMongo(t);
  for (let looks = 1; looks <= 3; looks += 1) {
    const receiver = await startReceiver(t);
    let early = looks;
    // At the second slot, this many reads return a time that is too early. The next one returns the right time.
    const isSecond = () => performance.now() > (receiver.received[0]?.at ?? Number.POSITIVE_INFINITY) + 500;
    const clockOffsetMs = () => (isSecond() && early-- > 0 ? -50 : 0);
    const { sender } = await openDirect(t, { ...position, clockOffsetMs });
    const endpoint = newEndpoint(receiver.url, { ratePerSecond: 1 });
    await sender.ensureEndpoint(endpoint);
    await sender.submit(newDeliveries(endpoint.id, 2));
    await until(() => receiver.received.length === 2, `both have arrived, with ${looks} early looks`);
  }
});

t.test('deliveries stored during a query are leased, too', async (t) => {
  const { sender, receiver, endpoint } = await scene(t, { ratePerSecond: 1_000 });
  const { findDue } = DeliveryStore.prototype;
  let isStored = false;
  t.intercept(DeliveryStore.prototype, 'findDue', {
    value: async function (this: DeliveryStore, ...given: Parameters<typeof findDue>) {
      const found = await findDue.apply(this, given);
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
