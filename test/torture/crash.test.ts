/**
 * The program is killed (-9) under a load of writes, half of them inside transactions, and started again at once: every
 * acknowledged write is there once, no answer waits for a dead transaction, nothing outlives the program. With its own
 * MongoDB, which ends with it, and with one that goes on, holds what the dead left open, and serves another program. A few kills; MILLRACE_LONG=1
 * makes it 30 of each (about 15 minutes; raise the runner's limit with --timeout).
 */
import { MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { runningUrl } from '../../src/database/embedded/credentials.ts';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { gone, type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { Random, runSeed } from '../helpers/random.ts';
import { documents, Load, send } from './crash/load.ts';
import { judge } from './crash/verdict.ts';

const KILLS = process.env['MILLRACE_LONG'] === '1' ? 30 : 2;
const LIMIT_MS = 10_000;
/** What MongoDB has unless it is told otherwise; the embedded one has 10 s. */
const TRANSACTION_LIFETIME_S = 60;

const seed = runSeed();
t.comment(`MILLRACE_SEED=${seed}, ${KILLS} kills each`);

/** Transactions that are open on a server and wait for their next command; asked on a connection of the test's own. */
async function openTransactions(client: MongoClient): Promise<number> {
  const status = await client.db('admin').command({ serverStatus: 1 });
  return Number(status['transactions']['currentInactive']);
}

/**
 * Stops the program in mid-write, and if asked in mid-transaction: a program that is stopped there stays there until it
 * is killed. Gives back how many transactions it has open.
 */
async function freeze(program: Program, inside: boolean, client: MongoClient): Promise<number> {
  for (;;) {
    program.child.kill('SIGSTOP');
    const open = await openTransactions(client);
    if (!inside || open > 0) return open;
    program.child.kill('SIGCONT');
    await openTransactions(client);
  }
}

/** Writes again what the crash left without an answer; the dead process may hold just these documents. */
async function replay(t: Test, url: string, load: Load): Promise<number> {
  const unknown = load.creations.filter(({ acknowledged, named }) => named && !acknowledged);
  const answers = await Promise.all(
    unknown.flatMap((creation) => [
      send(url, 'POST', creation.collection, documents(creation)),
      // Others who write the same documents, not in a transaction, must not wait either.
      send(url, 'PUT', `${creation.collection}/${creation.keys[0]}?upsert=true`, { key: 'other' }),
    ]),
  );
  for (const answer of answers) {
    t.ok(
      (answer !== null && [200, 201].includes(answer.status)) || /"id-exists"/.test(answer?.text ?? ''),
      `written again: ${answer?.status} ${answer?.text.slice(0, 120)}`,
    );
  }
  return Math.max(0, ...answers.map((answer) => answer?.ms ?? Number.POSITIVE_INFINITY));
}

interface Setting {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** A connection to the MongoDB under a running program. */
  readonly connect: (program: Program) => Promise<MongoClient>;
  /** Another program on the same MongoDB, when that goes on; it is asked at once, the restarted one otherwise. */
  readonly other?: Program;
}

async function torture(t: Test, { folder, env, connect, other }: Setting): Promise<void> {
  const random = new Random(seed);
  const loads: Load[] = [];
  let program = await startMillrace(t, { folder, env });
  let slowestMs = 0;
  let struck = 0;
  let inHand = 0;
  for (let round = 0; round < KILLS; round++) {
    const inside = round % 2 === 0;
    const client = await connect(program);
    const wanted = 20 + random.below(150);
    let reach = () => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const load = new Load({ url: program.url, round, random, onAcknowledged: (count) => count >= wanted && reach() });
    loads.push(load);
    await reached;
    const open = await freeze(program, inside, client);
    const holder = await program.holder();
    await program.end('SIGKILL');
    await load.ended();
    const left = other ? await openTransactions(client) : open;
    await client.close();
    if (left > 0) struck++;
    inHand += left;

    if (!other) program = await startMillrace(t, { folder, env });
    if (holder) t.ok(await gone(holder.mongod), 'the old MongoDB has gone');
    const { url } = other ?? program;
    const verdict = await judge(url, load);
    t.strictSame(verdict.faults, [], `round ${round}: what ${verdict.acknowledged} acknowledged writes left`);
    const againMs = await replay(t, url, load);
    if (other) program = await startMillrace(t, { folder, env });
    const worst = Math.max(verdict.slowestMs, againMs);
    t.ok(worst < LIMIT_MS, `round ${round}: the slowest answer took ${Math.round(worst)} ms`);
    slowestMs = Math.max(slowestMs, worst);
    t.comment(
      `round ${round}: ${verdict.acknowledged} acknowledged, ${verdict.unknown} not, of those ${verdict.unknownKept} kept; ` +
        `${left} transactions open; start ${program.startMs} ms, again ${Math.round(againMs)} ms`,
    );
  }
  t.ok(struck >= Math.floor(KILLS / 2), `${struck} of ${KILLS} kills struck open transactions, ${inHand} in all`);

  for (const load of loads) {
    // What was not acknowledged may have been written again meanwhile.
    const { creations, courses, removals, surprises, acknowledged } = load;
    const known = creations.filter((creation) => creation.acknowledged);
    const verdict = await judge(program.url, { creations: known, courses, removals, surprises, acknowledged });
    t.strictSame(verdict.faults, [], 'later crashes took nothing of it');
  }

  const holder = await program.holder();
  await program.end('SIGKILL');
  t.ok(await gone(holder?.mongod ?? null), 'nothing outlives the last kill');
  t.comment(`slowest answer after a crash: ${Math.round(slowestMs)} ms`);
}

// Starts wait more than they compute, and so do the answers after a crash.
t.jobs = 2;
t.test('with its own MongoDB', async (t) => {
  const folder = await dataFolder(t);
  await torture(t, {
    folder,
    env: {},
    connect: async (program) => {
      const port = /--port\0(\d+)/.exec((await program.holder())?.mongod.command ?? '')?.[1] ?? '';
      return MongoClient.connect(await runningUrl(folder, port, 'millrace'), { directConnection: true });
    },
  });
});

t.test('with a MongoDB that goes on', async (t) => {
  const database = await startEmbedded({ folder: await dataFolder(t) });
  t.teardown(() => database.stop());
  const client = await MongoClient.connect(database.url);
  await client.db('admin').command({ setParameter: 1, transactionLifetimeLimitSeconds: TRANSACTION_LIFETIME_S });
  await client.close();
  const env = { MONGODB_URL: database.url };
  const other = await startMillrace(t, { folder: await dataFolder(t), env });
  await torture(t, {
    folder: await dataFolder(t),
    env,
    other,
    connect: () => MongoClient.connect(database.url),
  });
});
