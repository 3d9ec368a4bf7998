/** Deliveries reach no blocked address, in whatever spelling an endpoint names it. Counted at sockets that listen. */
import t from 'tap';
import { testMongo } from '../../../helpers/mongo.ts';
import { ELSEWHERE, listening, SPELLINGS, twoPlaces } from '../../../helpers/network/blocked-hosts.ts';
import { newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { openDirect } from '../../../helpers/webhooks/sender-world.ts';

t.test('in production no spelling of this machine or of a private network is connected to', async (t) => {
  const { port, count } = await listening(t);
  const world = await openDirect(t, { ...(await testMongo(t)), egress: { mode: 'production', allow: [] } });
  t.ok(SPELLINGS.length >= 30, `${SPELLINGS.length} spellings`);
  const urls = [
    ...SPELLINGS.flatMap((host) => ['http', 'https'].map((scheme) => `${scheme}://${host}:${port}/`)),
    ...ELSEWHERE.map((host) => `https://${host}/`),
  ];
  const endpoints = urls.map((url) => newEndpoint(url));
  for (const endpoint of endpoints) await world.sender.ensureEndpoint(endpoint);
  await world.sender.submit(endpoints.map(({ id }) => newDelivery(id, 1)));
  for (const { id, url } of endpoints) {
    const { last } = await world.tried(`${id}:1-1`, 1);
    t.match(last?.error, /^(refused-url|blocked-address)$/, url);
  }
  t.equal(count(), 0, 'connections');
});

t.test('a name that becomes private is judged at each try', async (t) => {
  for (const host of ['rebinding.example', 'other.example']) {
    const { good, bad, port } = await twoPlaces(t);
    const answers = ['127.0.0.2', '127.0.0.1', '127.0.0.1', '127.0.0.2'];
    const lookup = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    const egress = { mode: 'production' as const, allow: ['127.0.0.2'], lookup };
    const world = await openDirect(t, { ...(await testMongo(t)), egress });
    const endpoint = newEndpoint(`http://${host}:${port}/`);
    await world.sender.ensureEndpoint(endpoint);
    await world.sender.submit([newDelivery(endpoint.id, 1)]);
    await world.reaches(`${endpoint.id}:1-1`, 'delivered');
    await world.sender.submit([newDelivery(endpoint.id, 2)]);
    t.match((await world.tried(`${endpoint.id}:1-2`, 1)).last, { status: null, error: 'blocked-address' });
    world.advance(6_000);
    t.match((await world.tried(`${endpoint.id}:1-2`, 2)).last, { error: 'blocked-address' });
    world.advance(400_000);
    await world.reaches(`${endpoint.id}:1-2`, 'delivered');
    t.strictSame([good(), bad()], [2, 0], 'connections to the public place, and to the private one');
  }
});
