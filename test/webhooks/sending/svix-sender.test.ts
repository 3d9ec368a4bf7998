/**
 * Runs the suite of all senders on the Svix sender. With a real server, whose clock cannot be moved, a delivery is
 * created, resent, and read back; it must be allowed to call 127.0.0.1.
 */
import t from 'tap';
import { until } from '../../helpers/until.ts';
import { newDelivery, newEndpoint } from '../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { REAL_SVIX, SVIX_TRAITS, svixFixture } from '../../helpers/webhooks/svix-fixture.ts';
import { senderSuite } from './sender-suite.ts';

if (!REAL_SVIX) senderSuite(svixFixture, SVIX_TRAITS);
else {
  t.test('a real server accepts a delivery, resends it, and reports the result', async (t) => {
    const { sender, reaches } = await svixFixture(t);
    const receiver = await startReceiver(t, ({ body }) => JSON.parse(body).id);
    const endpoint = newEndpoint(receiver.url);
    await sender.ensureEndpoint(endpoint);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    const id = `${endpoint.id}:1-1`;
    await reaches(id, 'succeeded');
    await sender.resend(id);
    await until(() => receiver.received.length === 2, 'it arrives again');
    await reaches(id, 'succeeded');
    const attempts = await sender.attempts(id);
    t.strictSame(
      attempts.map(({ status }) => status),
      [204, 204],
    );
  });
}
