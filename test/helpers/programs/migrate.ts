/**
 * A program with one more migration, as a next version has it: it counts each document of `people` once. Its last
 * argument is its app name for the database; with `pause` it stops in the middle of the step, for a test that kills it
 * there.
 */
import { MongoClient } from 'mongodb';
import { MIGRATIONS, type Migration, migrate } from '../../../src/database/migrations.ts';

const [url = '', database = '', word = ''] = process.argv.slice(2);

const countPeople: Migration = {
  version: MIGRATIONS.length + 1,
  name: 'count-people',
  run: async ({ data }) => {
    console.log('run');
    const people = data.collection<{ _id: number; counted?: number; isDone?: boolean }>('people');
    for (const { _id } of await people.find({ isDone: { $exists: false } }).toArray()) {
      await people.updateOne({ _id, isDone: { $exists: false } }, { $inc: { counted: 1 }, $set: { isDone: true } });
      console.log('counted');
      if (word === 'pause') await new Promise(() => setInterval(() => undefined, 60_000));
    }
  },
};

const client = new MongoClient(url, { appName: word });
const [data, log, files] = [client.db(database), client.db(`${database}_log`), client.db(`${database}_files`)];
await migrate({ data, log, files }, { migrations: [...MIGRATIONS, countPeople], leaseMs: 1_000 });
await client.close();
