/** Svix's endpoints are kept like Millrace's, whoever changes which of them, and however often Svix fails meanwhile. */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { EndpointTarget } from '../../../../src/webhooks/endpoint/endpoint.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { Random, runSeed } from '../../../helpers/random.ts';
import { until } from '../../../helpers/until.ts';
import { newDelivery, newEndpoint, newSecret } from '../../../helpers/webhooks/endpoints.ts';
import { startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { type SvixServer, startSvix } from '../../../helpers/webhooks/svix/svix-server.ts';
import type { SvixEndpoint } from '../../../helpers/webhooks/svix/svix-state.ts';
import { openSvix } from '../../../helpers/webhooks/svix-world.ts';

const CHANGES = 50;
const HOUR = 3_600_000;

const there = (svix: SvixServer): SvixEndpoint[] => [
  ...(svix.state.apps.values().next().value?.endpoints.values() ?? []),
];

/** An endpoint of Svix, as far as it shall be like Millrace's. */
function shape({ uid, url, channels, eventTypes, disabled, throttleRate, headers, key, oldKeys }: SvixEndpoint) {
  const old = oldKeys.filter(({ until }) => until > Date.now()).map((one) => one.key);
  return { uid, url, channels, eventTypes, disabled, throttleRate, headers, secrets: [key, ...old] };
}

function wanted({ id, url, enabled, ratePerSecond, headers, secrets }: EndpointTarget): ReturnType<typeof shape> {
  const texts = secrets.map(({ secret }) => secret);
  const rest = { channels: [id], eventTypes: null, disabled: !enabled, throttleRate: ratePerSecond };
  return { uid: id, url, headers: { ...headers }, secrets: texts, ...rest };
}

const sorted = (all: readonly ReturnType<typeof shape>[]) =>
  [...all].sort((a, b) => String(a.uid).localeCompare(String(b.uid)));

t.test('after 50 random changes on either side the endpoints are equal', async (t) => {
  const numbers = new Random(runSeed());
  t.comment(`seed ${numbers.seed}`);
  const random = () => numbers.next() / 2 ** 32;
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  const [place, svix] = await Promise.all([testMongo(t), startSvix(t)]);
  const ours = new Map<string, EndpointTarget>();
  const storedIds = async () => [...ours.keys()];
  const { sender } = await openSvix(t, { ...place, svix, storedIds, times: { checkMs: 400 } });
  const set = async (target: EndpointTarget) => {
    ours.set(target.id, target);
    await sender.ensureEndpoint(target);
  };
  const hereChanges: ((target: EndpointTarget) => Promise<void>)[] = [
    (it) => set({ ...it, url: `http://127.0.0.1:1025/${Math.floor(random() * 1_000)}` }),
    (it) => set({ ...it, enabled: !it.enabled }),
    (it) => set({ ...it, ratePerSecond: it.ratePerSecond === null ? 7 : null }),
    (it) => set({ ...it, headers: { authorization: `Bearer ${random()}`, 'x-team': String(random()) } }),
    (it) => set({ ...it, headers: {} }),
    (it) => {
      const before = it.secrets.slice(0, 2).map(({ secret }, n) => ({ secret, until: Date.now() + (2 - n) * HOUR }));
      return set({ ...it, secrets: [{ secret: newSecret(), until: null }, ...before] });
    },
    async (it) => {
      ours.delete(it.id);
      await sender.removeEndpoint(it.id);
    },
    async () => set(newEndpoint('http://127.0.0.1:1025/new')),
  ];
  const thereChanges: ((endpoint: SvixEndpoint) => void)[] = [
    (it) => void Object.assign(it, { url: 'http://127.0.0.1:1026/elsewhere' }),
    (it) => void Object.assign(it, { disabled: !it.disabled, description: 'mine' }),
    (it) => void Object.assign(it, { headers: { authorization: 'Bearer other', 'x-other': '1' } }),
    (it) => void Object.assign(it, { key: newSecret(), oldKeys: [] }),
    (it) => void Object.assign(it, { channels: null, eventTypes: ['todos.created'], throttleRate: 3 }),
    (it) => void svix.state.apps.values().next().value?.endpoints.delete(it.id),
    (it) => {
      const id = svix.state.newId('ep');
      svix.state.apps
        .values()
        .next()
        .value?.endpoints.set(id, { ...it, id, uid: random() < 0.5 ? null : `other-${id}` });
    },
  ];
  for (let n = 0; n < 8; n += 1) await set(newEndpoint(`http://127.0.0.1:1025/${n}`));
  await until(() => there(svix).length === 8, 'Svix has all of them');
  svix.fate = () => (random() < 0.1 ? (random() < 0.5 ? 'lost' : 500) : 'fine');
  for (let n = 0; n < CHANGES; n += 1) {
    const [target, endpoint] = [pick([...ours.values()]), pick(there(svix))];
    if (random() < 0.5 && target !== undefined) await pick(hereChanges)?.(target);
    else if (endpoint !== undefined) pick(thereChanges)?.(endpoint);
  }
  svix.fate = () => 'fine';
  const both = () => [there(svix).map(shape), [...ours.values()].map(wanted)].map(sorted);
  await until(() => isDeepStrictEqual(both()[0], both()[1]), 'both are equal').catch(() => undefined);
  t.strictSame(both()[0], both()[1]);
  // What nobody changes here is found by the next comparison.
  for (const change of thereChanges) for (const endpoint of there(svix).slice(0, 1)) change(endpoint);
  await until(() => isDeepStrictEqual(both()[0], both()[1]), 'both are equal again');
});

t.test('two installations with one token leave each other alone', async (t) => {
  const [first, second, svix, receiver] = await Promise.all([
    testMongo(t),
    testMongo(t),
    startSvix(t),
    startReceiver(t),
  ]);
  const worlds = await Promise.all(
    [first, second].map((place) => openSvix(t, { ...place, svix, times: { checkMs: 100 } })),
  );
  for (const { sender, reaches } of worlds) {
    const endpoint = newEndpoint(receiver.url);
    await sender.ensureEndpoint(endpoint);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await reaches(`${endpoint.id}:1-1`, 'delivered');
  }
  const checks = () => svix.asked.get('v1.endpoint.list') ?? 0;
  const before = checks();
  await until(() => checks() >= before + 4, 'both have compared');
  t.strictSame(
    [...svix.state.apps.values()].map(({ endpoints }) => endpoints.size),
    [1, 1],
  );
});

t.test('an endpoint that Svix refuses keeps no other one waiting', async (t) => {
  const [place, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t)]);
  const { sender, reaches, notes } = await openSvix(t, { ...place, svix });
  let refused = 0;
  svix.fate = (operation) => (operation === 'v1.endpoint.create' && refused++ === 0 ? 422 : 'fine');
  const [bad, good] = [newEndpoint(receiver.url), newEndpoint(receiver.url)];
  await sender.ensureEndpoint(bad);
  await until(() => notes.some((note) => note.includes(`Svix does not take the endpoint '${bad.id}'`)), 'it is noted');
  await sender.ensureEndpoint(good);
  await sender.submit([bad, good].map(({ id }) => newDelivery(id, 1)));
  await reaches(`${good.id}:1-1`, 'delivered');
  t.equal((await sender.delivery(`${bad.id}:1-1`))?.delivery.state, 'pending');
  await sender.ensureEndpoint({ ...bad, ratePerSecond: 10 });
  await reaches(`${bad.id}:1-1`, 'delivered');
});
