/**
 * An idle server appends nothing to its log and sends the database no queries, with an audit, with policies and without
 * any. Counted by a separate MongoDB, over all commands.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import type { Services } from '../../src/services.ts';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';

/** Duration of a count, in milliseconds: several intervals of the background work. */
const COUNTED_MS = 6_000;
/** A delayed machine makes the server send more: the count is repeated, at most this many times. */
const ATTEMPTS = 3;
const COMMANDS_PER_SECOND = 3;
const OWN = ['insert', 'query', 'update', 'delete', 'getmore', 'command'] as const;

const folder = await mkdtemp(join(tmpdir(), 'millrace-idle-'));
const embedded = await startEmbeddedDatabase({ folder, binary: process.env['MONGOD_BINARY'] });
t.teardown(async () => {
  await embedded.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Starts a server, and another one on its database after the first has closed: that is how most servers start. */
async function secondStart(t: Test, database: string): Promise<Services> {
  const position = { url: embedded.url, database };
  await t.test('a first start', async (t) => void (await buildTestApp(t, {}, position)));
  const { services } = await buildTestApp(t, {}, position);
  return services;
}

/** What the server and its log do by themselves, from an idle moment on. */
async function atRest(t: Test, { events, mongo }: Services) {
  const counts = async () => {
    const { opcounters } = await mongo.client.db('admin').command({ serverStatus: 1 });
    return { at: performance.now(), counts: OWN.map((kind) => Number(opcounters[kind])) };
  };
  await until(() => events.recorder.state.heardAt !== null, 'changes are recorded');
  const row = events.tail.seen.number;
  let perSecond = Number.POSITIVE_INFINITY;
  for (let attempts = 0; attempts < ATTEMPTS && perSecond >= COMMANDS_PER_SECOND; attempts += 1) {
    const before = await counts();
    await pause(COUNTED_MS);
    const after = await counts();
    const kinds = OWN.map((kind, at) => [kind, (after.counts[at] ?? 0) - (before.counts[at] ?? 0)] as const);
    // The counting command is not the server's own.
    const requested = kinds.reduce((sum, [, count]) => sum + count, -1);
    perSecond = requested / ((after.at - before.at) / 1000);
    t.comment(`${perSecond.toFixed(2)} a second: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
  }
  return { appended: events.tail.seen.number - row, perSecond };
}

t.test('a server with the initial policy of development mode is idle', async (t) => {
  const { appended, perSecond } = await atRest(t, await secondStart(t, 'with'));
  t.equal(appended, 0, 'no row is appended');
  t.ok(perSecond < COMMANDS_PER_SECOND, `${perSecond.toFixed(2)} commands a second`);
});

t.test('a server without any policy is idle', async (t) => {
  const services = await secondStart(t, 'without');
  await services.mongo.data.collection('_policies').deleteMany({});
  await until(() => services.policies.find(ANONYMOUS, 'read', '_admin') === null, 'no policy is enabled');
  const { appended, perSecond } = await atRest(t, services);
  t.equal(appended, 0, 'reading no policies causes nothing that is read');
  t.ok(perSecond < COMMANDS_PER_SECOND, `${perSecond.toFixed(2)} commands a second`);
});
