/**
 * The Svix sender does what every sender must do. With a real server, whose clock cannot be moved, a delivery is made, sent
 * again, and read back; it must be allowed to call 127.0.0.1.
 */
import t from 'tap';
import { until } from '../../helpers/until.ts';
import { newDelivery, newEndpoint } from '../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { REAL_SVIX, SVIX_TRAITS, svixWorld } from '../../helpers/webhooks/svix-world.ts';
import { senderSuite } from './sender-suite.ts';

if (!REAL_SVIX) senderSuite(svixWorld, SVIX_TRAITS);
else {
  t.test('a real server takes a delivery, sends it again, and says how it went', async (t) => {
    const { sender, reaches } = await svixWorld(t);
    const receiver = await startReceiver(t, ({ body }) => JSON.parse(body).id);
    const endpoint = newEndpoint(receiver.url);
    await sender.ensureEndpoint(endpoint);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    const id = `${endpoint.id}:1-1`;
    await reaches(id, 'delivered');
    await sender.resend(id);
    await until(() => receiver.received.length === 2, 'it comes again');
    await reaches(id, 'delivered');
    const attempts = await sender.attempts(id);
    t.strictSame(
      attempts.map(({ status }) => status),
      [204, 204],
    );
  });
}
