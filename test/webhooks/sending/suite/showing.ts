/** Reading deliveries: attempts without secrets, lists. Part of the suite of all senders. */
import t from 'tap';
import { newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import type { SenderTraits } from '../../../helpers/webhooks/sender-fixture.ts';
import type { MakeScene } from './scene.ts';

export function showing(scene: MakeScene, { makesRequests }: SenderTraits): void {
  t.test('attempts are stored without secrets', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t, {
      headers: { authorization: 'Bearer top-secret-value', 'x-key': 'own-key-0123' },
    });
    const { secret } = endpoint.secrets[0] ?? { secret: '' };
    receiver.response = ({ headers }, response) => {
      const echo = { authorization: headers['authorization'], key: headers['x-key'], secret };
      response
        .writeHead(200, { 'x-echo': headers['x-key'], 'set-cookie': 'session=1234567890' })
        .end(JSON.stringify(echo));
      return undefined;
    };
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
    const attempts = await sender.attempts(`${endpoint.id}:1-1`);
    const text = JSON.stringify(attempts);
    for (const hidden of ['top-secret-value', 'own-key-0123', secret, secret.slice(6), '1234567890']) {
      t.notOk(text.includes(hidden), hidden);
    }
    t.match(attempts, [
      {
        at: Date,
        status: 200,
        error: null,
        trigger: 'schedule',
        request: { headers: { authorization: '•••', 'x-key': '•••' } },
        response: { body: '{"authorization":"•••","key":"•••","secret":"•••"}' },
      },
    ]);
    const shown = {
      request: { 'webhook-id': '1-1', 'content-type': 'application/json' },
      response: { 'x-echo': '•••' },
    };
    if (makesRequests) t.match(attempts[0]?.request.headers, shown.request);
    if (makesRequests) t.match(attempts[0]?.response?.headers, shown.response);
    else t.strictSame(attempts[0]?.response?.headers, {}, 'the service does not report them');
  });

  t.test('16 KiB of a long response are stored, and its status counts', async (t) => {
    const { sender, receiver, endpoint, reaches } = await scene(t);
    receiver.response = (_, response) => {
      response.writeHead(200);
      for (let n = 0; n < 64; n++) response.write('x'.repeat(16_384));
      response.end();
      return undefined;
    };
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
    const [attempt] = await sender.attempts(`${endpoint.id}:1-1`);
    t.equal(attempt?.response?.body, 'x'.repeat(16_384));
  });

  t.test('the newest 20 attempts are stored', async (t) => {
    const { sender, receiver, endpoint, tried, reaches } = await scene(t);
    receiver.response = () => 410;
    const id = `${endpoint.id}:1-1`;
    await sender.submit([newDelivery(endpoint.id, 1)]);
    for (let n = 1; n <= 21; n++) {
      await tried(id, n);
      await reaches(id, 'failed');
      // So that the breaker stays closed.
      await sender.ensureEndpoint({ ...endpoint, url: `${receiver.url}?${n}` });
      await sender.resend(id);
    }
    await tried(id, 22);
    const attempts = await sender.attempts(id);
    t.equal(attempts.length, 20);
    t.ok(
      attempts.every(({ at }, n) => n === 0 || at >= (attempts[n - 1]?.at ?? at)),
      'oldest first',
    );
  });

  t.test('deliveries are listed newest first, in pages, with filters', async (t) => {
    const { sender, receiver, endpoint, advance, reaches } = await scene(t);
    receiver.response = ({ id }) => (id === '1-3' ? 410 : 200);
    const other = newEndpoint(receiver.url);
    await sender.ensureEndpoint(other);
    for (let n = 1; n <= 7; n++) {
      await sender.submit([newDelivery(endpoint.id, n, { type: n % 2 === 0 ? 'todos.updated' : 'todos.created' })]);
      await reaches(`${endpoint.id}:1-${n}`, n === 3 ? 'failed' : 'succeeded');
      advance(10);
    }
    await sender.submit([newDelivery(other.id, 2)]);
    await reaches(`${other.id}:1-2`, 'succeeded');
    const events = async (query: Omit<Parameters<typeof sender.deliveries>[0], 'limit'>) => {
      const { deliveries, next } = await sender.deliveries({ limit: 100, ...query });
      t.equal(next, null);
      return deliveries.map(({ event }) => event).join(' ');
    };
    t.equal(await events({ endpoint: endpoint.id }), '1-7 1-6 1-5 1-4 1-3 1-2 1-1');
    t.equal(await events({ endpoints: [endpoint.id], state: 'failed' }), '1-3');
    t.equal(await events({ endpoint: endpoint.id, type: '*.updated' }), '1-6 1-4 1-2');
    t.equal(await events({ endpoint: endpoint.id, type: 'todos.updated' }), '1-6 1-4 1-2');
    t.equal(await events({ endpoints: [] }), '');
    t.equal(await events({ event: '1-2', endpoints: [endpoint.id, other.id] }), '1-2 1-2');
    t.equal(await events({ endpoint: other.id, endpoints: [endpoint.id] }), '');
    const pages: string[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const page = await sender.deliveries({
        endpoint: endpoint.id,
        limit: 3,
        ...(after === undefined ? {} : { after }),
      });
      pages.push(page.deliveries.map(({ event }) => event).join(' '));
      after = page.next;
    }
    t.strictSame(pages, ['1-7 1-6 1-5', '1-4 1-3 1-2', '1-1']);
    await t.rejects(sender.deliveries({ limit: 3, after: 'nonsense' }), { code: 'cursor-mismatch' });
    t.equal(await sender.delivery('ep:none'), null);
    t.strictSame(await sender.attempts('ep:none'), []);
  });
}
