/**
 * Svix's endpoints are synchronized with Millrace's, whichever side changes, and however often Svix fails in between.
 */
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import type { EndpointDeliverySettings } from '../../../../src/webhooks/endpoint/endpoint.ts';
import { rotateSigningSecrets } from '../../../../src/webhooks/endpoint/signing-secrets.ts';
import { DeliveryStore } from '../../../../src/webhooks/sending/queue/delivery-store.ts';
import { testMongo } from '../../../helpers/mongo.ts';
import { Random, runSeed } from '../../../helpers/random.ts';
import { until } from '../../../helpers/until.ts';
import { newDeliveries, newDelivery, newEndpoint, newSecret } from '../../../helpers/webhooks/endpoints.ts';
import { type Received, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import { type SvixServer, startSvix } from '../../../helpers/webhooks/svix/svix-server.ts';
import type { SvixEndpoint } from '../../../helpers/webhooks/svix/svix-state.ts';
import { openSvix, type SvixFixture, storedIn } from '../../../helpers/webhooks/svix-fixture.ts';

const CHANGES = 50;
const HOUR = 3_600_000;

const there = (svix: SvixServer): SvixEndpoint[] => [
  ...(svix.state.apps.values().next().value?.endpoints.values() ?? []),
];

/** An endpoint of Svix, with the synchronized fields. */
function shape({ uid, url, channels, eventTypes, disabled, throttleRate, headers, key, oldKeys }: SvixEndpoint) {
  const old = oldKeys.filter(({ until }) => until > Date.now()).map((one) => one.key);
  return { uid, url, channels, eventTypes, disabled, throttleRate, headers, secrets: [key, ...old] };
}

function requested({
  id,
  url,
  enabled,
  ratePerSecond,
  headers,
  secrets,
}: EndpointDeliverySettings): ReturnType<typeof shape> {
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
  const [position, svix] = await Promise.all([testMongo(t), startSvix(t)]);
  const ours = new Map<string, EndpointDeliverySettings>();
  const { sender } = await openSvix(t, { ...position, svix, stored: storedIn(ours), times: { checkMs: 400 } });
  const set = async (target: EndpointDeliverySettings) => {
    ours.set(target.id, target);
    await sender.ensureEndpoint(target);
  };
  const hereChanges: ((target: EndpointDeliverySettings) => Promise<void>)[] = [
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
  const both = () => [there(svix).map(shape), [...ours.values()].map(requested)].map(sorted);
  await until(() => isDeepStrictEqual(both()[0], both()[1]), 'both are equal').catch(() => undefined);
  t.strictSame(both()[0], both()[1]);
  // Changes at Svix alone are found by the next comparison.
  for (const change of thereChanges) for (const endpoint of there(svix).slice(0, 1)) change(endpoint);
  await until(() => isDeepStrictEqual(both()[0], both()[1]), 'both are equal again');
});

t.test('two instances with one token leave each other alone', async (t) => {
  const [first, second, svix, receiver] = await Promise.all([
    testMongo(t),
    testMongo(t),
    startSvix(t),
    startReceiver(t),
  ]);
  const fixtures = await Promise.all(
    [first, second].map((position) => openSvix(t, { ...position, svix, times: { checkMs: 100 } })),
  );
  for (const { sender, reaches } of fixtures) {
    const endpoint = newEndpoint(receiver.url);
    await sender.ensureEndpoint(endpoint);
    await sender.submit([newDelivery(endpoint.id, 1)]);
    await reaches(`${endpoint.id}:1-1`, 'succeeded');
  }
  const checks = () => svix.requested.get('v1.endpoint.list') ?? 0;
  const before = checks();
  await until(() => checks() >= before + 4, 'both have compared');
  t.strictSame(
    [...svix.state.apps.values()].map(({ endpoints }) => endpoints.size),
    [1, 1],
  );
});

t.test('a new endpoint sends its custom headers from its first delivery on, and changed ones at once', async (t) => {
  const [position, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t)]);
  const { sender, reaches } = await openSvix(t, { ...position, svix });
  const plain = newEndpoint(receiver.url);
  const headed = newEndpoint(receiver.url, { headers: { authorization: 'Bearer a', 'x-team': '1' } });
  await sender.ensureEndpoint(plain);
  await sender.submit([newDelivery(plain.id, 1)]);
  await reaches(`${plain.id}:1-1`, 'succeeded');
  await sender.ensureEndpoint(headed);
  await sender.submit([newDelivery(headed.id, 2)]);
  await reaches(`${headed.id}:1-2`, 'succeeded');
  await sender.ensureEndpoint({ ...headed, headers: { authorization: 'Bearer b' } });
  await sender.submit([newDelivery(headed.id, 3)]);
  await reaches(`${headed.id}:1-3`, 'succeeded');
  t.strictSame(
    receiver.received.map(({ headers }) => [headers['authorization'], headers['x-team']]),
    [
      [undefined, undefined],
      ['Bearer a', '1'],
      ['Bearer b', undefined],
    ],
  );
});

/** Signatures of the newest delivery, which is created for that. */
async function signaturesOf(t: Test, scene: Awaited<ReturnType<typeof rotating>>): Promise<number> {
  scene.count += 1;
  await scene.sender.submit([newDelivery(scene.target.id, scene.count)]);
  await scene.reaches(`${scene.target.id}:1-${scene.count}`, 'succeeded');
  const { headers = {}, body = '' }: Partial<Received> = scene.receiver.received.at(-1) ?? {};
  const [id, at, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  const right = scene.target.secrets.map(({ secret }) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
  });
  t.strictSame(new Set(signatures?.split(' ')), new Set(right), 'the live secrets sign, and no other');
  return signatures?.split(' ').length ?? 0;
}

async function rotating(t: Test) {
  const [position, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t)]);
  const stored = new Map<string, EndpointDeliverySettings>();
  const fixtures = [1, 2].map(() => openSvix(t, { ...position, svix, stored: storedIn(stored) }));
  const [first, second] = await Promise.all(fixtures);
  const target = newEndpoint(receiver.url, { headers: { 'x-team': '1' } });
  const scene = { ...first, receiver, target, count: 0, rotate: async (_graceMs: number) => {} };
  const report = async () => {
    stored.set(target.id, scene.target);
    await Promise.all([first?.sender.ensureEndpoint(scene.target), second?.sender.ensureEndpoint(scene.target)]);
  };
  scene.rotate = async (graceMs) => {
    scene.target = {
      ...scene.target,
      secrets: rotateSigningSecrets(scene.target.secrets, newSecret(), graceMs, Date.now()),
    };
    await report();
  };
  await report();
  return scene as typeof scene & SvixFixture;
}

t.test('twelve rotations in two processes at once leave three secrets that sign', async (t) => {
  const scene = await rotating(t);
  for (let n = 0; n < 12; n += 1) await scene.rotate(HOUR);
  t.equal(await signaturesOf(t, scene), 3);
  t.equal(scene.receiver.received.at(-1)?.headers['x-team'], '1');
});

t.test('a rotation without a grace period ends the previous secrets', async (t) => {
  const scene = await rotating(t);
  await scene.rotate(HOUR);
  t.equal(await signaturesOf(t, scene), 2);
  await scene.rotate(0);
  t.equal(await signaturesOf(t, scene), 1);
});

t.test('a delivery whose endpoint is replaced at Svix between its attempts is delivered by the new one', async (t) => {
  const scene = await rotating(t);
  await scene.rotate(HOUR);
  await signaturesOf(t, scene);
  scene.receiver.response = () => 500;
  await scene.sender.submit([newDelivery(scene.target.id, 99)]);
  await scene.tried(`${scene.target.id}:1-99`, 1);
  scene.receiver.response = () => 204;
  await scene.rotate(0);
  t.equal(await signaturesOf(t, scene), 1);
  await scene.sender.resend(`${scene.target.id}:1-99`);
  await scene.reaches(`${scene.target.id}:1-99`, 'succeeded');
});

t.test('an endpoint that Svix rejects shows why, waits without retries, and delays no other one', async (t) => {
  const [position, svix, receiver] = await Promise.all([testMongo(t), startSvix(t), startReceiver(t)]);
  const { sender, reaches, notes } = await openSvix(t, { ...position, svix, times: { refusedMs: 60_000 } });
  const [bad, good] = [newEndpoint(receiver.url, { headers: { pragma: 'x' } }), newEndpoint(receiver.url)];
  await sender.ensureEndpoint(bad);
  await until(
    () => notes.some((note) => note.includes(`Svix does not accept the endpoint '${bad.id}'`)),
    'it is noted',
  );
  await sender.ensureEndpoint(good);
  await sender.submit([...newDeliveries(bad.id, 200), newDelivery(good.id, 1)]);
  await reaches(`${good.id}:1-1`, 'succeeded');
  const health = async (id: string) => (await sender.health([id])).get(id);
  t.match(await health(bad.id), { pending: 200, breaker: 'closed', error: /422.*Header uses a forbidden key/ });
  t.match(await health(good.id), { error: null });
  const rows = async () => (await sender.deliveries({ endpoint: bad.id, limit: 1_000 })).deliveries;
  await until(async () => (await rows()).every(({ nextAttemptAt }) => nextAttemptAt !== null), 'all are given back');
  const requested = [...svix.requested.values()].reduce((sum, count) => sum + count, 0);
  const picks = t.capture(DeliveryStore.prototype, 'lease', DeliveryStore.prototype.lease);
  await sender.submit(newDeliveries(bad.id, 200, 201));
  sender.wake();
  await sender.submit([newDelivery(good.id, 2)]);
  await reaches(`${good.id}:1-2`, 'succeeded');
  t.notOk(
    picks().some(({ args }) => args[0].some(({ endpoint }) => endpoint === bad.id)),
    'none of them is taken',
  );
  t.ok(
    [...svix.requested.values()].reduce((sum, count) => sum + count, 0) < requested + 20,
    'Svix is not called for each',
  );
  await sender.ensureEndpoint({ ...bad, headers: {} });
  for (const number of [1, 400]) await reaches(`${bad.id}:1-${number}`, 'succeeded');
  t.match(await health(bad.id), { error: null });
});
