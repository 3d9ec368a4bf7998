/** Deliveries of an endpoint with a rate go out at their places in time, also when one comes while the sender looks. */
import t from 'tap';
import { until } from '../../../helpers/until.ts';
import { newDeliveries } from '../../../helpers/webhooks/endpoints.ts';
import { directWorld, OWN_TRAITS } from '../../../helpers/webhooks/sender-world.ts';
import { scenes } from '../suite/scene.ts';

t.test('no place in time is missed', async (t) => {
  const { sender, receiver, endpoint } = await scenes(directWorld, OWN_TRAITS)(t, { ratePerSecond: 200 });
  const { now } = performance;
  let asked = 0;
  // A slow machine: more time than from one place to the next, 5 ms, goes by between two looks at the clock.
  t.teardown(() => Object.defineProperty(performance, 'now', { value: now, configurable: true }));
  Object.defineProperty(performance, 'now', { value: () => now.call(performance) + 6 * ++asked, configurable: true });
  await sender.submit(newDeliveries(endpoint.id, 10));
  await until(() => receiver.received.length === 10, 'all have arrived');
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 10);
});
