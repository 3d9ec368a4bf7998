/**
 * What the Svix sender says to Svix and hears of it, when answers are lost, late or wrong, and when Svix dies: each delivery
 * becomes one message there, and each arrives. The counterpart holds all of it against Svix's document.
 */
import t, { type Test } from 'tap';
import { testMongo } from '../../../helpers/mongo.ts';
import { Random, runSeed } from '../../../helpers/random.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { type Received, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { type Fate, startSvix } from '../../../helpers/webhooks/svix/svix-server.ts';
import { openSvix } from '../../../helpers/webhooks/svix-world.ts';

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
  const [place, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t, idOf)]);
  const world = await openSvix(t, { ...place, svix, times });
  const endpoint = newEndpoint(receiver.url);
  await world.sender.ensureEndpoint(endpoint);
  return { ...world, place, svix, receiver, endpoint };
}

t.test('whatever happens to calls, each delivery is accepted once, and arrives', async (t) => {
  const numbers = new Random(runSeed());
  t.comment(`seed ${numbers.seed}`);
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { callMs: 500 });
  svix.fate = (operation) => (operation.startsWith('v1.message') ? numbers.pick(FATES) : 'fine');
  await sender.submit(newDeliveries(endpoint.id, COUNT));
  await until(() => svix.state.accepted.size >= COUNT, 'all are accepted', 90_000);
  svix.fate = () => 'fine';
  for (let n = 1; n <= COUNT; n += 1) await reaches(`${endpoint.id}:1-${n}`, 'delivered');
  t.strictSame([...svix.state.accepted.values()], Array(COUNT).fill(1), 'each was accepted once');
  t.strictSame(
    [...svix.state.accepted.keys()].sort(),
    newDeliveries(endpoint.id, COUNT)
      .map(({ event }) => `${endpoint.id}.${event}`)
      .sort(),
  );
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, COUNT);
  t.match(sender.state(), { kind: 'svix', answers: true, fault: null });
});

t.test('what Svix loses when it dies is told again', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { lostMs: 300 });
  receiver.answer = () => undefined;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await until(() => receiver.received.length === 1, 'it is on its way');
  await svix.die();
  receiver.answer = () => 204;
  await svix.start();
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  t.strictSame([...svix.state.accepted.values()], [1], 'by the message that it had');
});

t.test('what was lost and then fails has all its tries all the same', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t, { lostMs: 300 });
  receiver.answer = () => undefined;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await until(() => receiver.received.length === 1, 'it is on its way');
  await svix.die();
  receiver.answer = () => (receiver.received.length === 2 ? 500 : 204);
  await svix.start();
  const { attempts } = await reaches(`${endpoint.id}:1-1`, 'delivered');
  t.equal(attempts, 2, 'the one that broke off is not known');
});

t.test('while Svix is away deliveries wait, and none is given up', async (t) => {
  const { sender, svix, endpoint, reaches, notes } = await scene(t);
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  await svix.die();
  await sender.submit(newDeliveries(endpoint.id, 20, 2));
  await until(() => notes.some((note) => note.startsWith('Deliveries wait for Svix')), 'it is noted');
  t.match(sender.state(), { kind: 'svix', url: svix.url, answers: false, fault: /did not answer/ });
  t.match((await sender.health([endpoint.id])).get(endpoint.id), { pending: 20, failingSince: null });
  await svix.start();
  for (let n = 2; n <= 21; n += 1) await reaches(`${endpoint.id}:1-${n}`, 'delivered');
  t.match(sender.state(), { answers: true, fault: null });
  t.equal((await sender.delivery(`${endpoint.id}:1-2`))?.delivery.attempts, 1, 'waiting is no try');
});

t.test('a token that Svix refuses is named, and is in no note', async (t) => {
  const { sender, svix, endpoint, reaches, notes } = await scene(t);
  svix.takesToken = false;
  await sender.submit([newDelivery(endpoint.id, 1)]);
  const fault = `Svix at ${svix.url} refuses the token of MILLRACE_SVIX_TOKEN (401)`;
  await until(() => notes.includes(`Deliveries wait for Svix: ${JSON.stringify({ fault })}`), 'it is noted');
  t.match(sender.state(), { answers: false, fault });
  t.notOk(JSON.stringify([notes, sender.state()]).includes(svix.token));
  svix.takesToken = true;
  await reaches(`${endpoint.id}:1-1`, 'delivered');
});

t.test('what Svix no longer has is made anew for a resend; what it refuses is dead', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t);
  await sender.submit([newDelivery(endpoint.id, 1)]);
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  // As after a new installation of Svix.
  svix.state.apps.clear();
  t.match(await sender.resend(`${endpoint.id}:1-1`), { state: 'pending' });
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  t.strictSame(
    receiver.received.map(({ id }) => id),
    ['1-1', '1-1'],
  );
  svix.fate = (operation) => (operation === 'v1.message.create' ? 413 : 'fine');
  await sender.submit([newDelivery(endpoint.id, 2)]);
  t.match((await reaches(`${endpoint.id}:1-2`, 'dead')).last, { status: null, error: 'refused' });
});

t.test('a replay is another message, and repeats of the same one are none', async (t) => {
  const { sender, svix, receiver, endpoint, reaches } = await scene(t);
  const one = newDelivery(endpoint.id, 1);
  await sender.submit([one]);
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  await sender.submit([{ ...one, trigger: 'replay' }]);
  await until(() => receiver.received.length === 2, 'it has arrived again');
  await reaches(`${endpoint.id}:1-1`, 'delivered');
  t.strictSame(
    [...svix.state.accepted],
    [
      [`${endpoint.id}.1-1`, 1],
      [`${endpoint.id}.1-1.1`, 1],
    ],
  );
});
