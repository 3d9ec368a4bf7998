/**
 * The reference of the HTTP benchmark ("the bare handler"): a small server written by hand with Fastify and the driver,
 * with the same pool and write concern. It has no checks, no limits, no authorization and no entity tags.
 */
import Fastify from 'fastify';
import { MongoClient, ObjectId } from 'mongodb';

interface Posted {
  Body: Record<string, unknown>;
}

interface OnOne {
  Params: { id: string };
}

const [url = '', database = ''] = process.argv.slice(2);
const client = new MongoClient(url, { maxPoolSize: 64, writeConcern: { w: 'majority' } });
const items = client.db(database).collection('items');
const app = Fastify();

app.get<OnOne>('/api/items/:id', (request) => items.findOne({ _id: new ObjectId(request.params.id) }));

app.get('/hello', () => ({ hello: 'world' }));

interface OnList {
  Querystring: { limit: string; skip?: string; category?: string };
}

app.get<OnList>('/api/items', (request) => {
  const { limit, skip = '0', category } = request.query;
  const found =
    category === undefined
      ? items.find().sort({ _id: 1 }).skip(Number(skip))
      : items.find({ category: Number(category) }).sort({ score: -1 });
  return found.limit(Number(limit)).toArray();
});

app.post<Posted>('/api/items', async (request, reply) => {
  const { insertedId } = await items.insertOne({ ...request.body });
  return reply.code(201).send({ ...request.body, _id: insertedId });
});

app.put<OnOne & Posted>('/api/items/:id', (request) =>
  items.findOneAndReplace({ _id: new ObjectId(request.params.id) }, request.body, { returnDocument: 'after' }),
);

process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
