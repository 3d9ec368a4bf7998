/**
 * A writer independent of Millrace: single and bulk inserts, updates, transactions over two collections, scratch
 * collections that are renamed and dropped. What a majority acknowledged is recorded and synced before the next write.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';

const [url = '', database = '', folder = '', name = '', rate = '150'] = process.argv.slice(2);
const file = openSync(`${folder}/acks-${name}.log`, 'a');
const client = new MongoClient(url, {
  writeConcern: { w: 'majority' },
  serverSelectionTimeoutMS: 5000,
  socketTimeoutMS: 20_000,
});
const db = client.db(database);
const ones = db.collection<{ _id: string; n: number }>('foreign');
const others = db.collection<{ _id: string; n: number }>('others');
let ending = false;
process.once('SIGTERM', () => {
  ending = true;
});
process.stdout.write('ready\n');

for (let n = 0; !ending; n += 1) {
  const started = performance.now();
  let written = 1;
  try {
    written = await turn(n);
  } catch {
    await pause(100);
  }
  const due = (1000 * written) / Number(rate) - (performance.now() - started);
  if (due > 0) await pause(Math.min(due, 4000));
}
await client.close();
process.exit(0);

/** One write of a kind that follows from its number; returns approximately how many events it causes. */
async function turn(n: number): Promise<number> {
  const id = `${name}-${n}`;
  if (n % 40 === 39) {
    const count = n % 120 === 119 ? 1500 : 300;
    const many = Array.from({ length: count }, (_, index) => ({ _id: `${id}-${index}`, n: index }));
    await ones.insertMany(many);
    ack(many.map((one) => `insert foreign ${one._id}`));
    return count;
  }
  if (n % 10 === 5) return await transact(id);
  if (n % 50 === 20) {
    const scratch = `scratch-${id}`;
    await db.collection(scratch).insertOne({ n });
    await db.renameCollection(scratch, `${scratch}-renamed`);
    ack([`rename ${scratch} -`]);
    await db.dropCollection(`${scratch}-renamed`);
    ack([`drop ${scratch}-renamed -`]);
    return 5;
  }
  // A write of its own without a waiting reader: it may be lost with its primary, and then it is in no log either.
  if (n % 7 === 3) await others.insertOne({ _id: `${id}-w1`, n }, { writeConcern: { w: 1 } });
  await ones.insertOne({ _id: id, n });
  ack([`insert foreign ${id}`]);
  if (n % 4 === 0) {
    await ones.updateOne({ _id: id }, { $inc: { n: 1 } });
    ack([`update foreign ${id}`]);
  }
  return 2;
}

async function transact(id: string): Promise<number> {
  const session = client.startSession();
  const many = Array.from({ length: 15 }, (_, index) => ({ _id: `${id}-t${index}`, n: index }));
  try {
    await session.withTransaction(async () => {
      await ones.insertMany(many, { session });
      await others.insertOne({ _id: `${id}-t`, n: 0 }, { session });
      await ones.deleteOne({ _id: `${id}-t0` }, { session });
    });
    ack([...many.map((one) => `insert foreign ${one._id}`), `insert others ${id}-t`, `delete foreign ${id}-t0`]);
  } finally {
    await session.endSession();
  }
  return 17;
}

function ack(entries: readonly string[]): void {
  writeSync(file, entries.map((one) => `${one}\n`).join(''));
  fdatasyncSync(file);
}
