/**
 * A server that nobody uses appends nothing to its log and leaves the database alone, with an audit, with policies and
 * without any. Counted by a MongoDB of its own, over everything that it is asked.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';
import type { Parts } from '../../src/parts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';

/** How long is counted, in milliseconds: several times the rounds that go on by themselves. */
const COUNTED_MS = 6_000;
/** A machine that is held up lets the server ask more than it would: counted again then, at most so often in all. */
const TRIES = 3;
const COMMANDS_PER_SECOND = 3;
const OWN = ['insert', 'query', 'update', 'delete', 'getmore', 'command'] as const;

const folder = await mkdtemp(join(tmpdir(), 'millrace-idle-'));
const embedded = await startEmbedded({ folder, binary: process.env['MONGOD_BINARY'] });
t.teardown(async () => {
  await embedded.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Starts a server, and another one on its database after the first has closed: that is how most servers begin. */
async function secondStart(t: Test, database: string): Promise<Parts> {
  const place = { url: embedded.url, database };
  await t.test('a first start', async (t) => void (await buildTestApp(t, {}, place)));
  const { parts } = await buildTestApp(t, {}, place);
  return parts;
}

/** What the server and its log do by themselves, from a moment on at which nothing is under way. */
async function atRest(t: Test, { events, mongo }: Parts) {
  const counts = async () => {
    const { opcounters } = await mongo.client.db('admin').command({ serverStatus: 1 });
    return { at: performance.now(), counts: OWN.map((kind) => Number(opcounters[kind])) };
  };
  await until(() => events.recorder.state.heardAt !== null, 'changes are recorded');
  const row = events.tail.seen.number;
  let perSecond = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && perSecond >= COMMANDS_PER_SECOND; tries += 1) {
    const before = await counts();
    await pause(COUNTED_MS);
    const after = await counts();
    const kinds = OWN.map((kind, at) => [kind, (after.counts[at] ?? 0) - (before.counts[at] ?? 0)] as const);
    // The command that counts is none of the server's own.
    const asked = kinds.reduce((sum, [, count]) => sum + count, -1);
    perSecond = asked / ((after.at - before.at) / 1000);
    t.comment(`${perSecond.toFixed(2)} a second: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
  }
  return { appended: events.tail.seen.number - row, perSecond };
}

t.test('with the policy that development begins with', async (t) => {
  const { appended, perSecond } = await atRest(t, await secondStart(t, 'with'));
  t.equal(appended, 0, 'no row is appended');
  t.ok(perSecond < COMMANDS_PER_SECOND, `${perSecond.toFixed(2)} commands a second`);
});

t.test('without any policy', async (t) => {
  const parts = await secondStart(t, 'without');
  await parts.mongo.data.collection('_policies').deleteMany({});
  await until(() => parts.policies.find(ANONYMOUS, 'read', 'admin') === null, 'no policy is in force');
  const { appended, perSecond } = await atRest(t, parts);
  t.equal(appended, 0, 'reading no policies causes nothing that is read');
  t.ok(perSecond < COMMANDS_PER_SECOND, `${perSecond.toFixed(2)} commands a second`);
});
