/** The sender is switched under load, from Millrace's own to Svix and back: nothing is lost. */
import t from 'tap';
import { testMongo } from '../../../helpers/mongo.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { openDirect } from '../../../helpers/webhooks/sender-fixture.ts';
import { startSvix } from '../../../helpers/webhooks/svix/svix-server.ts';
import { openSvix } from '../../../helpers/webhooks/svix-fixture.ts';

const EACH = 150;

t.test('switching direct, Svix, direct under load loses nothing', async (t) => {
  const [position, svix] = await Promise.all([testMongo(t), startSvix(t, { schedule: [200, 200, 200, 200] })]);
  const receiver = await startReceiver(t, ({ body }) => JSON.parse(body).id);
  // Every fifth one fails at first, so that some wait for their retry at each switch.
  const seen = new Set<string>();
  receiver.response = ({ id }) => {
    const fails = Number(id.slice(2)) % 5 === 0 && !seen.has(id);
    seen.add(id);
    return fails ? 500 : 204;
  };
  const endpoint = newEndpoint(receiver.url);
  const limits = { leaseMs: 2_000 };
  const open = [
    () => openDirect(t, { ...position, limits }),
    () => openSvix(t, { ...position, svix }),
    () => openDirect(t, { ...position, limits }),
  ];
  let submitted = 0;
  for (const [index, start] of open.entries()) {
    const { sender, advance } = await start();
    await sender.ensureEndpoint(endpoint);
    const before = receiver.received.length;
    await sender.submit(newDeliveries(endpoint.id, EACH, submitted + 1));
    submitted += EACH;
    await until(() => receiver.received.length >= before + EACH / 3, 'a part has arrived');
    if (index < open.length - 1) {
      await sender.stop();
      continue;
    }
    const delivered = async () => {
      advance(60_000);
      const { deliveries } = await sender.deliveries({ endpoint: endpoint.id, state: 'succeeded', limit: 1_000 });
      return deliveries.length === submitted;
    };
    await until(delivered, 'all are delivered', 60_000);
  }
  const ids = new Set(receiver.received.map(({ id }) => id));
  t.equal(ids.size, 3 * EACH, 'every one has arrived');
  t.ok(svix.state.accepted.size > 0 && [...svix.state.accepted.values()].every((count) => count === 1));
  t.comment(`${receiver.received.length} requests for ${3 * EACH} deliveries, ${svix.state.accepted.size} by Svix`);
});
