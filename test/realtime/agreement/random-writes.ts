/**
 * Random writes of every kind: single ones over HTTP, bulk writes and batches in transactions, and foreign ones
 * directly to the database: single, bulk, in transactions of several collections. random-values.ts has the values.
 */
import type { FastifyInstance } from 'fastify';
import { type AnyBulkWriteOperation, type Collection, type Db, type Document, MongoServerError } from 'mongodb';
import type { Random } from '../../helpers/random.ts';
import { IDS, randomDocument, type StoredId, storedDocument, storedId } from './random-values.ts';

interface Stored extends Document {
  _id: StoredId;
}

const MOVED = { $push: { tags: 'b' }, $rename: { d: 'v' } };

export interface Places {
  readonly app: FastifyInstance;
  readonly name: string;
  readonly data: Db;
}

/** One write of a random kind. A rejected write counts, too. */
export async function randomWrite(random: Random, spots: Places): Promise<void> {
  if (random.once(2)) {
    await ourWrite(random, spots);
    return;
  }
  await foreignWrite(random, spots).catch((error: unknown) => {
    if (!(error instanceof MongoServerError)) throw error;
  });
}

async function ourWrite(random: Random, { app, name }: Places): Promise<void> {
  const id = random.pick(IDS);
  const body = randomDocument(random);
  const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object, headers = {}) =>
    app.inject({ method, url: `/api/${name}${path}`, headers, ...(payload ? { payload } : {}) });
  switch (random.below(8)) {
    case 0:
    case 1:
      await send('PUT', `/${id}?upsert=true`, body);
      return;
    case 2:
      await send('PATCH', `/${id}`, random.once(2) ? { n: random.below(6) } : body);
      return;
    case 3:
      await send('DELETE', `/${id}`);
      return;
    case 4:
      await send('POST', '', [{ id, ...body }, randomDocument(random), randomDocument(random)]);
      return;
    case 5:
      await send('PATCH', `?n=${random.below(6)}`, { n: random.below(6) }, { prefer: 'max-affected=100' });
      return;
    case 6:
      await send('DELETE', `?n=${random.below(6)}&s=a`, undefined, { prefer: 'max-affected=100' });
      return;
    default: {
      const operations = Array.from({ length: 1 + random.below(4) }, () => {
        const path = `/api/${random.once(6) ? 'others' : name}/${random.pick(IDS)}`;
        if (random.once(3)) return { method: 'DELETE', path };
        return { method: 'PUT', path: `${path}?upsert=true`, body: randomDocument(random) };
      });
      await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    }
  }
}

async function foreignWrite(random: Random, { name, data }: Places): Promise<void> {
  const collection: Collection<Stored> = data.collection(name, random.once(2) ? { writeConcern: { w: 1 } } : {});
  const _id = storedId(random);
  const body = storedDocument(random);
  switch (random.below(9)) {
    case 0:
    case 1:
      await collection.updateOne({ _id }, { $set: body }, { upsert: true });
      return;
    case 2:
      await collection.replaceOne({ _id }, body, { upsert: true });
      return;
    case 3:
      await collection.updateMany({ n: random.below(6) }, { $inc: { n: 1 }, $unset: { v: '' } });
      return;
    case 4:
      await collection.updateMany({ s: 'a' }, [{ $set: { v: '$n', tags: ['$s', '$v'] } }]);
      return;
    case 5:
      await data.command({ update: name, updates: [{ q: { tags: { $type: 'array' } }, u: MOVED, multi: true }] });
      return;
    case 6:
      await collection.deleteMany(random.once(4) ? { n: { $gte: 1 } } : { n: random.below(6) });
      return;
    case 7: {
      const operations = Array.from({ length: 2 + random.below(6) }, () => bulkOperation(random));
      await collection.bulkWrite(operations, { ordered: random.once(2) });
      return;
    }
    default:
      await data.client.withSession((session) =>
        session.withTransaction(async () => {
          await data.collection<Stored>('others').updateOne({ _id }, { $set: body }, { upsert: true, session });
          for (let done = random.below(4); done >= 0; done--) {
            const document = { $set: storedDocument(random) };
            await collection.updateOne({ _id: storedId(random) }, document, { upsert: true, session });
          }
          if (random.once(2)) await collection.deleteOne({ _id: storedId(random) }, { session });
        }),
      );
  }
}

function bulkOperation(random: Random): AnyBulkWriteOperation<Stored> {
  const filter = { _id: storedId(random) };
  if (random.once(4)) return { deleteOne: { filter } };
  if (random.once(3)) return { replaceOne: { filter, replacement: storedDocument(random), upsert: true } };
  return { updateOne: { filter, update: { $set: storedDocument(random) }, upsert: true } };
}
