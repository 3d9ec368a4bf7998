/**
 * The two rules of majority, each broken on purpose at the worst moment: the primary has lost its majority, and dies
 * with rows that only it has. The correct log has no hole afterwards; a w:1 acknowledgement and a local read of the
 * tail do.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { Lease } from '../../src/database/lease.ts';
import { connectMongo } from '../../src/database/mongo.ts';
import { LogNumberConflict } from '../../src/events/log/event-log.ts';
import type { LogRow } from '../../src/events/log/log-row.ts';
import { Recorder } from '../../src/events/record/recorder.ts';
import { type ReplicaSet, testReplicaSet } from '../helpers/database/replica-set.ts';
import { until } from '../helpers/until.ts';
import { check } from './log/checker.ts';
import { type HookedLog, hookedLog, insertRows, type Mutation, withoutLease } from './log/mutations.ts';

const EMPTY_SET: ReplicaSet = {
  url: '',
  members: [],
  primary: () => Promise.reject(new Error('There is no set')),
  stop: async () => {},
};
const long = process.env['MILLRACE_LONG'] === '1';

const set = long ? await testReplicaSet(t, { members: 3 }) : EMPTY_SET;

interface Lonely {
  /** Kills the primary too, and restarts all others first: the successor never received what it wrote alone. */
  end(): Promise<void>;
}

/**
 * Isolates the primary. The others are killed, not frozen: a frozen one would read what was sent to it after it
 * continues.
 */
async function isolate(): Promise<Lonely> {
  const primary = await set.primary();
  const rest = set.members.filter((one) => one !== primary);
  await Promise.all(rest.map((one) => one.kill()));
  return {
    end: async () => {
      await primary.kill();
      await Promise.all(rest.map((one) => one.start()));
      await set.primary();
      await primary.start();
    },
  };
}

type Arm = (log: HookedLog) => void;

/** The third batch is written while the primary is alone; the next one goes to its successor. */
const duringAppend: Arm = (log) => {
  let piece = 0;
  let over: Promise<void> | undefined;
  log.beforeInsert = async () => {
    piece += 1;
    if (piece !== 3) return await over;
    const lonely = await isolate();
    over = pause(500).then(() => lonely.end());
  };
};

/** Rows of a rival are on the isolated primary when the newest one is read. */
const duringRead: Arm = (log) => {
  let piece = 0;
  let rival: readonly LogRow[] | undefined;
  let lonely: Lonely | undefined;
  log.beforeInsert = async (rows) => {
    piece += 1;
    if (piece !== 3) return;
    rival = rows;
    throw new LogNumberConflict('By the rival');
  };
  log.beforeNewest = async () => {
    if (rival === undefined) return;
    lonely = await isolate();
    await insertRows(log, rival, 1);
    rival = undefined;
  };
  log.afterNewest = async () => {
    await lonely?.end();
    lonely = undefined;
  };
};

async function scenario(mutation: Mutation, arm: Arm): Promise<string[]> {
  const database = `cut_${randomBytes(4).toString('hex')}`;
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cut-'));
  const mongo = await connectMongo({ url: set.url, database });
  const log = hookedLog(mutation, mongo.log, database);
  await log.open();
  const lease = withoutLease(new Lease({ collection: mongo.log.collection('lease'), id: 'log', owner: 'one' }));
  const recorder = new Recorder({ data: mongo.data, log, lease });
  recorder.start();
  await until(() => recorder.state.status === 'recording', 'it records');
  await mongo.data.createCollection('x', { changeStreamPreAndPostImages: { enabled: true } });
  await until(() => recorder.state.newest?.number === 2, 'the collection is recorded');
  arm(log);
  await mongo.data.collection('x').insertMany(Array.from({ length: 200 }, (_, n) => ({ n })));
  const end = mongo.data.collection('end');
  await until(
    () =>
      end.insertOne({}).then(
        () => true,
        () => false,
      ),
    'writes continue',
    60_000,
  );
  const newest = () =>
    log.read(150, 1000).then(
      (rows) => rows.some((row) => row.operation === 'meta'),
      () => false,
    );
  await until(newest, 'the end is recorded', 60_000);
  await recorder.stop();
  const { issues } = await check(mongo, log, folder, false);
  await mongo.close();
  await rm(folder, { recursive: true, force: true });
  return issues;
}

for (const [name, mutation, arm] of [
  ['an append is acknowledged by the primary alone', 'w1', duringAppend],
  ['the newest row is read from the primary alone', 'local-tail', duringRead],
] as const) {
  const skip = long ? false : 'only with MILLRACE_LONG=1';
  t.test(`${name}: the checker detects the hole, and the correct log has none`, { skip }, async (t) => {
    const issues = await scenario(mutation, arm);
    t.match(issues[0], /is missing/, `with ${mutation}`);
    t.same(await scenario('none', arm), []);
  });
}
