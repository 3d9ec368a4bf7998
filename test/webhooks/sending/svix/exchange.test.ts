/**
 * The exchange with Svix when responses are lost, late or wrong, and when Svix crashes: each delivery becomes one
 * message there, and each arrives. The test server validates everything against Svix's OpenAPI document.
 */
import t, { type Test } from 'tap';
import { testMongo } from '../../../helpers/mongo.ts';
import { Random, runSeed } from '../../../helpers/random.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { type Received, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { type Fate, startSvix } from '../../../helpers/webhooks/svix/svix-server.ts';
import { openSvix } from '../../../helpers/webhooks/svix-fixture.ts';

const COUNT = 25;
const FATES: readonly Fate[] = [
  'fine',
  'fine',
  'fine',
  'fine',
  'fine',
  'lost',
  'conflict',
  'busy',
  429,
  500,
  502,
  'silent',
];

const idOf = ({ body }: Pick<Received, 'body'>): string => JSON.parse(body).id;

async function scene(t: Test, times = {}) {
  const [position, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t, idOf)]);
  const fixture = await openSvix(t, { ...position, svix, times });
  const endpoint = newEndpoint(receiver.url);
  await fixture.sender.ensureEndpoint(endpoint);
  return { ...fixture, position, svix, receiver, endpoint };
}

t.test('whatever happens to calls, Svix accepts each delivery once, and it arrives', async (t) => {
  const numbers = new Random(runSeed());
  t.comment(`seed ${numbers.seed}`);
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { callMs: 500 });
  svix.fate = (operation) => (operation.startsWith('v1.message') ? numbers.pick(FATES) : 'fine');
  await sender.submit(newDeliveries(endpoint.id, COUNT));
  await until(() => svix.state.accepted.size >= COUNT, 'all are accepted', 90_000);
  svix.fate = () => 'fine';
  for (let n = 1; n <= COUNT; n += 1) await reaches(`${endpoint.id}:1-${n}`, 'succeeded');
  t.strictSame([...svix.state.accepted.values()], Array(COUNT).fill(1), 'each was accepted once');
  t.strictSame(
    [...svix.state.accepted.keys()].sort(),
    newDeliveries(endpoint.id, COUNT)
      .map(({ event }) => `${endpoint.id}.${event}`)
      .sort(),
  );
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, COUNT);
  t.match(sender.state(), { kind: 'svix', reachable: true, error: null });
});

t.test('a message that Svix loses in a crash is submitted again', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { lostMs: 300 });
  receiver.response = () => undefined;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await until(() => receiver.received.length === 1, 'it is on its way');
  await svix.die();
  receiver.response = () => 204;
  await svix.start();
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  t.strictSame([...svix.state.accepted.values()], [1], 'by the message that it had');
});

t.test('a message that was lost and then fails has all its attempts', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { lostMs: 300 });
  receiver.response = () => undefined;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await until(() => receiver.received.length === 1, 'it is on its way');
  await svix.die();
  receiver.response = () => (receiver.received.length === 2 ? 500 : 204);
  await svix.start();
  const { attempts } = await reaches(`${endpoint.id}:1-1`, 'succeeded');
  t.equal(attempts, 2, 'the one that broke off is not known');
});

t.test('while Svix is unavailable deliveries wait, and none fails', async (t) => {
  const { sender, svix, endpoint, reaches, notes } = await scene(t);
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  await svix.die();
  await sender.submit(newDeliveries(endpoint.id, 20, 2));
  await until(() => notes.some((note) => note.startsWith('Deliveries are waiting for Svix')), 'it is noted');
  t.match(sender.state(), { kind: 'svix', url: svix.url, reachable: false, error: /did not respond/ });
  t.match((await sender.health([endpoint.id])).get(endpoint.id), { pending: 20, failingSince: null });
  await svix.start();
  for (let n = 2; n <= 21; n += 1) await reaches(`${endpoint.id}:1-${n}`, 'succeeded');
  t.match(sender.state(), { reachable: true, error: null });
  t.equal((await sender.delivery(`${endpoint.id}:1-2`))?.delivery.attempts, 1, 'waiting is no try');
});

t.test('a token that Svix rejects is reported, and is in no log line', async (t) => {
  const { sender, svix, endpoint, reaches, notes } = await scene(t);
  svix.takesToken = false;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  const error = `Svix at ${svix.url} rejects the token of MILLRACE_SVIX_TOKEN (401)`;
  await until(() => notes.includes(`Deliveries are waiting for Svix: ${JSON.stringify({ error })}`), 'it is noted');
  t.match(sender.state(), { reachable: false, error });
  t.notOk(JSON.stringify([notes, sender.state()]).includes(svix.token));
  svix.takesToken = true;
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
});

t.test('what Svix no longer has is made anew for a resend; what it rejects has failed', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t);
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  // As after a new installation of Svix.
  svix.state.apps.clear();
  t.match(await sender.resend(`${endpoint.id}:1-1`), { state: 'pending' });
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  t.strictSame(
    receiver.received.map(({ id }) => id),
    ['1-1', '1-1'],
  );
  svix.fate = (operation) => (operation === 'v1.message.create' ? 413 : 'fine');
  await sender.submit([newDelivery(endpoint.id, 2)]);
  t.match((await reaches(`${endpoint.id}:1-2`, 'failed')).last, { status: null, error: 'rejected' });
});

t.test('a replay is another message, and repeats of the same one are none', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t);
  const one = newDelivery(endpoint.id, 1);
  await sender.submit([one]);
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  await sender.submit([{ ...one, trigger: 'replay' }]);
  await until(() => receiver.received.length === 2, 'it has arrived again');
  await reaches(`${endpoint.id}:1-1`, 'succeeded');
  t.strictSame(
    [...svix.state.accepted],
    [
      [`${endpoint.id}.1-1`, 1],
      [`${endpoint.id}.1-1.1`, 1],
    ],
  );
});
