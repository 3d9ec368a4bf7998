/** A process with one consumer, which writes an output for each insert; to be killed. */

import { insertNew } from '../../../src/database/insert-new.ts';
import { Lease, type LeaseOptions } from '../../../src/database/lease.ts';
import { connectMongo } from '../../../src/database/mongo.ts';
import { EventLog } from '../../../src/events/log/event-log.ts';
import { LogTail } from '../../../src/events/log/log-tail.ts';
import { Consumer, consumerOutputId } from '../../../src/events/read/consumer.ts';

const [url = '', database = ''] = process.argv.slice(2);
const mongo = await connectMongo({ url, database });
const log = new EventLog(mongo.log, database);
const tail = new LogTail({ log });
await tail.start();
const outputs = mongo.log.collection<{ _id: string }>('outputs');
const owner = String(process.pid);
const collection: LeaseOptions['collection'] = mongo.log.collection('lease');
const lease = new Lease({ collection, id: 'torture', owner, ttlMs: 400, renewMs: 120 });
// Requested by the process that does not hold it; the lease renews itself after it is acquired.
setInterval(() => lease.held() || lease.acquire().catch(() => {}), 50);
const consumer = new Consumer({
  name: 'torture',
  log,
  tail,
  allowed: () => lease.held(),
  handle: async (rows) => {
    for (let at = 0; at < rows.length; at += 7) {
      const some = rows.slice(at, at + 7).filter((row) => row.operation === 'insert' && row.collection === 'source');
      await insertNew(
        outputs,
        some.map((row) => ({ _id: consumerOutputId('torture', row), event: row.number })),
      );
    }
  },
});
consumer.start();
process.stdout.write('ready\n');
