/**
 * Crashes of the embedded MongoDB: whichever process is killed, nothing outlives the program and the next start works.
 */
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { waitForProcessExit } from '../../src/database/embedded/process-info.ts';
import { dataFolder, type EmbeddedProgram, startProgram } from '../helpers/database/embedded-program.ts';
import { onlyLong } from '../helpers/long-profile.ts';

/** Writes one acknowledged document, which a restart must keep. */
async function write(url: string): Promise<void> {
  const client = new MongoClient(url);
  await client
    .db('kept')
    .collection('things')
    .insertOne({ written: true }, { writeConcern: { w: 'majority' } });
  await client.close();
}

async function count(url: string): Promise<number> {
  const client = new MongoClient(url);
  const found = await client.db('kept').collection('things').countDocuments();
  await client.close();
  return found;
}

t.test('a killed program takes its MongoDB with it', async (t) => {
  const program = await startProgram(t, await dataFolder(t));
  const started = Date.now();
  program.child.kill('SIGKILL');
  t.ok(await waitForProcessExit(program.mongod, 10_000), 'MongoDB has ended');
  t.comment(`after ${Date.now() - started} ms`);
  t.ok(await waitForProcessExit(program.watchdog, 1000), 'the watchdog has ended');
});

/** Each way to be killed. That of the program alone, whose watchdog ends MongoDB, is tested above. */
const ENDS: Readonly<Record<string, (program: EmbeddedProgram) => void>> = {
  'the program': ({ child }) => child.kill('SIGKILL'),
  'MongoDB and the program': ({ child, mongod }) => {
    process.kill(mongod.pid, 'SIGKILL');
    child.kill('SIGKILL');
  },
  'the watchdog and the program': ({ child, watchdog }) => {
    // Stopped first, or it would end MongoDB by itself: this leaves a MongoDB without a watchdog.
    process.kill(child.pid ?? 0, 'SIGSTOP');
    process.kill(watchdog.pid, 'SIGKILL');
    child.kill('SIGKILL');
  },
  'all three': ({ child, mongod, watchdog }) => {
    for (const pid of [child.pid ?? 0, watchdog.pid, mongod.pid]) process.kill(pid, 'SIGKILL');
  },
};

for (const [who, end] of Object.entries(ENDS)) {
  const options = who === 'the program' || who === 'MongoDB and the program' ? onlyLong : {};
  t.test(`the next start works at once after kill -9 of ${who}`, options, async (t) => {
    const folder = await dataFolder(t);
    const program = await startProgram(t, folder);
    await write(program.url);
    const gone = once(program.child, 'exit');
    end(program);
    await gone;
    const started = Date.now();
    const next = await startEmbeddedDatabase({ folder });
    t.teardown(() => next.stop());
    t.comment(`the next start took ${Date.now() - started} ms`);
    t.equal(await count(next.url), 1, 'the acknowledged write is there');
    t.not(next.pid, program.mongod.pid);
  });
}

t.test('the program is notified when its MongoDB ends by itself', async (t) => {
  const embedded = await startEmbeddedDatabase({ folder: await dataFolder(t) });
  process.kill(embedded.pid, 'SIGKILL');
  const exit = await embedded.exited;
  t.match(exit, { code: 137, reason: 'it exited with code 137' });
  await embedded.stop();
});

t.test('a killed watchdog is detected while the program runs', async (t) => {
  const { watchdog, mongod } = await startProgram(t, await dataFolder(t));
  process.kill(watchdog.pid, 'SIGKILL');
  t.ok(await waitForProcessExit(mongod, 10_000), 'MongoDB is ended rather than left alone');
});
