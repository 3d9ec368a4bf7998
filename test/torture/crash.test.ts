/**
 * The program is killed (-9) under a load of writes, half of them inside transactions, and started again at once: every
 * acknowledged write is there once, no response waits for a dead transaction, nothing outlives the program. With its
 * own MongoDB, which ends with it, and with one that keeps running, has the locks of the dead process, and serves
 * another program. A few kills; MILLRACE_LONG=1 makes it 30 of each (about 15 minutes; raise the runner's limit with
 * --timeout).
 */
import { MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { runningConnectionString } from '../../src/database/embedded/credentials.ts';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { gone, type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { Random, runSeed } from '../helpers/random.ts';
import { documents, Load, send } from './crash/load.ts';
import { judge } from './crash/verdict.ts';

const KILLS = process.env['MILLRACE_LONG'] === '1' ? 30 : 2;
const LIMIT_MS = 10_000;
/** MongoDB's default; the embedded one has 10 s. */
const TRANSACTION_LIFETIME_S = 60;

const seed = runSeed();
t.comment(`MILLRACE_SEED=${seed}, ${KILLS} kills each`);

/** Open transactions of a server that wait for their next command; read on a separate connection. */
async function openTransactions(client: MongoClient): Promise<number> {
  const status = await client.db('admin').command({ serverStatus: 1 });
  return Number(status['transactions']['currentInactive']);
}

/**
 * Stops the program in mid-write, and on request in mid-transaction: it stays stopped until it is killed. Returns how
 * many transactions it has open.
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

/** Repeats the writes that the crash left without a response; the dead process may lock just these documents. */
async function replay(t: Test, url: string, load: Load): Promise<number> {
  const unknown = load.creations.filter(({ acknowledged, named }) => named && !acknowledged);
  const responses = await Promise.all(
    unknown.flatMap((creation) => [
      send(url, 'POST', creation.collection, documents(creation)),
      // Other writers of the same documents, not in a transaction, must not wait either.
      send(url, 'PUT', `${creation.collection}/${creation.keys[0]}?upsert=true`, { key: 'other' }),
    ]),
  );
  for (const response of responses) {
    t.ok(
      (response !== null && [200, 201].includes(response.status)) || /"id-exists"/.test(response?.text ?? ''),
      `written again: ${response?.status} ${response?.text.slice(0, 120)}`,
    );
  }
  return Math.max(0, ...responses.map((response) => response?.ms ?? Number.POSITIVE_INFINITY));
}

interface Setting {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** A connection to the MongoDB under a running program. */
  readonly connect: (program: Program) => Promise<MongoClient>;
  /** Another program on the same MongoDB, if that keeps running; it is tested at once, the restarted one otherwise. */
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
    const requested = 20 + random.below(150);
    let reach = () => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const load = new Load({
      url: program.url,
      round,
      random,
      onAcknowledged: (count) => count >= requested && reach(),
    });
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
    if (holder) t.ok(await gone(holder.mongod), 'the old MongoDB has ended');
    const { url } = other ?? program;
    const verdict = await judge(url, load);
    t.strictSame(verdict.issues, [], `round ${round}: what ${verdict.acknowledged} acknowledged writes left`);
    const againMs = await replay(t, url, load);
    if (other) program = await startMillrace(t, { folder, env });
    const worst = Math.max(verdict.slowestMs, againMs);
    t.ok(worst < LIMIT_MS, `round ${round}: the slowest response took ${Math.round(worst)} ms`);
    slowestMs = Math.max(slowestMs, worst);
    t.comment(
      `round ${round}: ${verdict.acknowledged} acknowledged, ${verdict.unknown} not, of those ${verdict.unknownKept} kept; ` +
        `${left} transactions open; start ${program.startMs} ms, again ${Math.round(againMs)} ms`,
    );
  }
  t.ok(struck >= Math.floor(KILLS / 2), `${struck} of ${KILLS} kills struck open transactions, ${inHand} in all`);

  for (const load of loads) {
    // Unacknowledged writes may have been repeated in between.
    const { creations, courses, removals, surprises, acknowledged } = load;
    const known = creations.filter((creation) => creation.acknowledged);
    const verdict = await judge(program.url, { creations: known, courses, removals, surprises, acknowledged });
    t.strictSame(verdict.issues, [], 'later crashes lost nothing of it');
  }

  const holder = await program.holder();
  await program.end('SIGKILL');
  t.ok(await gone(holder?.mongod ?? null), 'nothing outlives the last kill');
  t.comment(`slowest response after a crash: ${Math.round(slowestMs)} ms`);
}

// Starts mostly wait, and so do the responses after a crash.
t.jobs = 2;
t.test('a killed program with its own MongoDB loses no acknowledged write', async (t) => {
  const folder = await dataFolder(t);
  await torture(t, {
    folder,
    env: {},
    connect: async (program) => {
      const port = /--port\0(\d+)/.exec((await program.holder())?.mongod.command ?? '')?.[1] ?? '';
      return MongoClient.connect(await runningConnectionString(folder, port, 'millrace'), { directConnection: true });
    },
  });
});

t.test('a killed program with a MongoDB that keeps running loses no acknowledged write', async (t) => {
  const database = await startEmbeddedDatabase({ folder: await dataFolder(t) });
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
