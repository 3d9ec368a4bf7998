/** Deliveries arrive: signed, once, in order, at their rate. Part of the suite of all senders. */
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint, newSecret } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { SenderTraits } from '../../../helpers/webhooks/sender-fixture.ts';
import { HOUR, type MakeScene, MINUTE, SECOND } from './scene.ts';

export function delivering(scene: MakeScene, { makesRequests }: SenderTraits): void {
  t.test('a delivery arrives, signed, with the id of the event', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t, {
      headers: { 'x-team': 'blue', authorization: 'Bearer b' },
    });
    const one = newDelivery(endpoint.id, 1);
    await sender.submit([one]);
    const { attempts, nextAttemptAt, finishedAt, last } = await reaches(`${endpoint.id}:1-1`, 'succeeded');
    t.strictSame([attempts, nextAttemptAt, last?.status, last?.error], [1, null, 204, null]);
    t.type(finishedAt, Date);
    const [got] = receiver.received;
    t.equal(got?.body, one.body);
    t.match(got?.headers, { 'content-type': 'application/json', 'x-team': 'blue', authorization: 'Bearer b' });
    if (makesRequests) t.match(got?.headers, { 'webhook-id': '1-1', 'user-agent': 'Millrace/1.2.3' });
    else t.match(got?.headers, { 'webhook-id': /^msg_/, 'user-agent': /^Svix/ });
    t.doesNotThrow(() => new Webhook(endpoint.secrets[0]?.secret ?? '').verify(got?.body ?? '', got?.headers ?? {}));
  });

  t.test('submitting the same delivery again changes nothing', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t);
    const all = newDeliveries(endpoint.id, 20);
    await Promise.all([sender.submit(all), sender.submit(all)]);
    for (const { event } of all) await reaches(`${endpoint.id}:${event}`, 'succeeded');
    await sender.submit(all);
    await sender.submit([newDelivery(endpoint.id, 99)]);
    await reaches(`${endpoint.id}:1-99`, 'succeeded');
    t.equal(receiver.received.length, 21);
    t.equal(new Set(receiver.received.map(({ id }) => id)).size, 21);
  });

  t.test('during a rotation each active secret verifies', async (t) => {
    const [fresh, old] = [newSecret(), newSecret()];
    const { sender, receiver, endpoint } = await scene(t, { secrets: [{ secret: old, until: null }] });
    const secrets = [
      { secret: fresh, until: null },
      { secret: old, until: Date.now() + HOUR },
    ];
    await sender.ensureEndpoint({ ...endpoint, secrets });
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await until(() => receiver.received.length === 1, 'it has arrived');
    const [got] = receiver.received;
    for (const secret of [fresh, old]) {
      t.doesNotThrow(() => new Webhook(secret).verify(got?.body ?? '', got?.headers ?? {}));
    }
    t.throws(() => new Webhook(newSecret()).verify(got?.body ?? '', got?.headers ?? {}));
  });

  t.test('several endpoints receive the same bytes', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t);
    const other = newEndpoint(receiver.url);
    await sender.ensureEndpoint(other);
    const body = JSON.stringify({ text: 'x'.repeat(1_000) });
    await sender.submit([endpoint, other].map(({ id }) => newDelivery(id, 1, { body })));
    for (const { id } of [endpoint, other]) {
      await reaches(`${id}:1-1`, 'succeeded');
      t.equal((await sender.delivery(`${id}:1-1`))?.body, body);
    }
    t.strictSame(new Set(receiver.received.map((one) => one.body)), new Set([body]));
  });

  t.test('a server that hangs, with many deliveries, delays no other endpoint', async (t) => {
    const { sender, receiver, endpoint } = await scene(t);
    const slow = await startReceiver(t);
    slow.response = () => undefined;
    const hanging = newEndpoint(slow.url);
    await sender.ensureEndpoint(hanging);
    await sender.submit([...newDeliveries(hanging.id, 200), ...newDeliveries(endpoint.id, 50)]);
    await until(() => receiver.received.length === 50, 'the other endpoint got all');
    if (makesRequests) t.ok(slow.received.length <= 10, `${slow.received.length} calls to the one that hangs`);
  });

  t.test('with ordering by document, nothing overtakes an earlier delivery of its document', async (t) => {
    const { sender, receiver, endpoint, advance, tried, reaches } = await scene(t, { ordering: 'document' });
    receiver.response = ({ id }) =>
      id === '1-1' && receiver.received.filter((one) => one.id === id).length < 3 ? 500 : 204;
    const all = Array.from({ length: 12 }, (_, n) => newDelivery(endpoint.id, n + 1, { document: `todos/${n % 3}` }));
    await sender.submit(all);
    for (const n of [12, 11]) await reaches(`${endpoint.id}:1-${n}`, 'succeeded');
    await tried(`${endpoint.id}:1-1`, 1);
    t.ok(!receiver.received.some(({ id }) => id === '1-4'), 'the next one of the first document waits');
    advance(6 * SECOND);
    await tried(`${endpoint.id}:1-1`, 2);
    advance(6 * MINUTE);
    await reaches(`${endpoint.id}:1-10`, 'succeeded');
    for (const first of [1, 2, 3]) {
      const order = [
        ...new Set(receiver.received.map(({ id }) => Number(id.slice(2))).filter((n) => n % 3 === first % 3)),
      ];
      t.strictSame(order, [first, first + 3, first + 6, first + 9]);
    }
  });

  t.test('a failed delivery releases the next one of its document', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t, { ordering: 'document' });
    receiver.response = ({ id }) => (id === '1-1' ? 410 : 204);
    await sender.submit([1, 2].map((n) => newDelivery(endpoint.id, n, { document: 'todos/a' })));
    await reaches(`${endpoint.id}:1-2`, 'succeeded');
    t.strictSame(
      receiver.received.map(({ id }) => id),
      ['1-1', '1-2'],
    );
  });

  t.test('an endpoint keeps its rate limit', async (t) => {
    const { sender, receiver, endpoint } = await scene(t, { ratePerSecond: 20 });
    await sender.submit(newDeliveries(endpoint.id, 25));
    await until(() => receiver.received.length === 25, 'all have arrived');
    const times = receiver.received.map(({ at }) => at);
    const took = (times.at(-1) ?? 0) - (times[0] ?? 0);
    // The first one may come late.
    t.ok(took >= 900, `24 steps of 50 ms took ${took.toFixed(0)} ms`);
  });
}
