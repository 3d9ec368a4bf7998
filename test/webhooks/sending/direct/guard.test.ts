/** Deliveries reach no blocked IP address, however the URL of an endpoint spells it. Counted at listening sockets. */
import t from 'tap';
import { testMongo } from '../../../helpers/mongo.ts';
import { ELSEWHERE, listening, SPELLINGS, twoLocations } from '../../../helpers/network/blocked-hosts.ts';
import { newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { openDirect } from '../../../helpers/webhooks/sender-fixture.ts';

t.test('in production no spelling of this machine or of a private network is connected to', async (t) => {
  const { port, count } = await listening(t);
  const fixture = await openDirect(t, { ...(await testMongo(t)), egress: { mode: 'production', allow: [] } });
  t.ok(SPELLINGS.length >= 30, `${SPELLINGS.length} spellings`);
  const urls = [
    ...SPELLINGS.flatMap((host) => ['http', 'https'].map((scheme) => `${scheme}://${host}:${port}/`)),
    ...ELSEWHERE.map((host) => `https://${host}/`),
  ];
  const endpoints = urls.map((url) => newEndpoint(url));
  for (const endpoint of endpoints) await fixture.sender.ensureEndpoint(endpoint);
  await fixture.sender.submit(endpoints.map(({ id }) => newDelivery(id, 1)));
  for (const { id, url } of endpoints) {
    const { last } = await fixture.tried(`${id}:1-1`, 1);
    t.match(last?.error, /^(blocked-url|blocked-ip)$/, url);
  }
  t.equal(count(), 0, 'connections');
});

t.test('a host name that becomes private is checked at each attempt', async (t) => {
  for (const host of ['rebinding.example', 'other.example']) {
    const { good, bad, port } = await twoLocations(t);
    const responses = ['127.0.0.2', '127.0.0.1', '127.0.0.1', '127.0.0.2'];
    const lookup = async () => [{ address: responses.shift() ?? '127.0.0.1', family: 4 }];
    const egress = { mode: 'production' as const, allow: ['127.0.0.2'], lookup };
    const fixture = await openDirect(t, { ...(await testMongo(t)), egress });
    const endpoint = newEndpoint(`http://${host}:${port}/`);
    await fixture.sender.ensureEndpoint(endpoint);
    await fixture.sender.submit([newDelivery(endpoint.id, 1)]);
    await fixture.reaches(`${endpoint.id}:1-1`, 'succeeded');
    await fixture.sender.submit([newDelivery(endpoint.id, 2)]);
    t.match((await fixture.tried(`${endpoint.id}:1-2`, 1)).last, { status: null, error: 'blocked-ip' });
    fixture.advance(6_000);
    t.match((await fixture.tried(`${endpoint.id}:1-2`, 2)).last, { error: 'blocked-ip' });
    fixture.advance(400_000);
    await fixture.reaches(`${endpoint.id}:1-2`, 'succeeded');
    t.strictSame([good(), bad()], [2, 0], 'connections to the public address, and to the private one');
  }
});
