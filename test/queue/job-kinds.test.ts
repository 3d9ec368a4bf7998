/** What all kinds of jobs have in common: the indexes of a queue, and a column in docs/architecture.md. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { connectMongo, type Mongo } from '../../src/database/mongo.ts';
import { OutboxStore } from '../../src/email/outbox-store.ts';
import { QueueStore } from '../../src/functions/queue/running/queue-store.ts';
import { RunStore } from '../../src/functions/runs/run-store.ts';
import { DUE_INDEX, EXPIRY_INDEX, JOB_COLLECTIONS, type JobCollectionName } from '../../src/queue/job-collection.ts';
import { DeliveryStore } from '../../src/webhooks/sending/queue/delivery-store.ts';
import { testMongo } from '../helpers/mongo.ts';

/** Creates the indexes of each kind. A kind that is missing here does not compile. */
const PREPARE: Readonly<Record<JobCollectionName, (mongo: Mongo) => Promise<unknown>>> = {
  webhook_deliveries: (mongo) => new DeliveryStore(mongo, () => 0).start(),
  runs: (mongo) => Promise.all([new RunStore(mongo).prepare(), new QueueStore(mongo).prepare()]),
  emails: (mongo) => new OutboxStore(mongo).start(),
};

t.test('due jobs are found by an index, and ended ones are deleted', async (t) => {
  const mongo = await connectMongo(await testMongo(t, { isNew: true }));
  t.teardown(() => mongo.close());
  for (const name of JOB_COLLECTIONS) {
    await PREPARE[name](mongo);
    const indexes = (await mongo.log.collection(name).indexes()).map((index) => new Map(Object.entries(index)));
    for (const index of [DUE_INDEX, EXPIRY_INDEX]) {
      const isIndex = (stored: ReadonlyMap<string, unknown>) =>
        Object.entries(index).every(([option, value]) => isDeepStrictEqual(stored.get(option), value));
      t.ok(indexes.some(isIndex), `${name}: ${JSON.stringify(index)}`);
    }
  }
});

t.test('docs/architecture.md compares all kinds', async (t) => {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  const cells = /^\| rows in `<db>_log` \| (.+) \|$/m.exec(page)?.[1] ?? '';
  t.strictSame(cells.replaceAll('`', '').split(' | ').sort(), [...JOB_COLLECTIONS].sort());
});
