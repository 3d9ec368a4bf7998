/**
 * Random questions and random writes of every kind: single ones over HTTP, bulk and batch in transactions, and foreign
 * ones straight into the database. What is written is drawn from few values, so that questions are often touched.
 */
import type { FastifyInstance } from 'fastify';
import type { Collection, Document } from 'mongodb';

export interface Named extends Document {
  _id: string;
}

import type { LiveQuestion } from '../helpers/live-model.ts';
import type { Random } from '../helpers/random.ts';

const WORDS = ['a', 'b', 'ä', '\u{1f600}', 'Zoe'] as const;
const IDS = Array.from({ length: 12 }, (_, index) => `d${index}`);

function value(random: Random): unknown {
  switch (random.below(6)) {
    case 0:
      return null;
    case 1:
      return random.pick(WORDS);
    case 2:
      return random.below(2) === 0;
    default:
      return random.below(5);
  }
}

export function randomDocument(random: Random): Document {
  const document: Document = { n: random.below(6) };
  if (!random.once(3)) document['s'] = random.pick(WORDS);
  if (!random.once(3)) document['v'] = value(random);
  if (random.once(2)) document['tags'] = Array.from({ length: random.below(3) }, () => random.pick(WORDS));
  if (random.once(2)) document['o'] = { x: value(random), y: random.below(3) };
  return document;
}

export function randomQuestion(random: Random): LiveQuestion {
  const filters: object[] = [
    {},
    { n: random.below(6) },
    { n: { $gt: random.below(5) } },
    { s: random.pick(WORDS) },
    { tags: random.pick(WORDS) },
    { 'o.x': { $in: [random.below(5), random.pick(WORDS)] } },
    { $or: [{ n: random.below(6) }, { v: null }] },
    { $nor: [{ s: { $exists: true } }, { n: { $lt: 2 } }] },
    { id: random.pick(IDS) },
    { s: { $startsWith: 'a' }, n: { $lte: 4 } },
  ];
  const question: { -readonly [K in keyof LiveQuestion]: LiveQuestion[K] } = { filter: random.pick(filters) };
  if (random.once(2)) question.sort = random.pick(['n', '-n', 's,-n', '-o.x', 'v', '-tags', '-id', 'o.y,v']);
  if (random.once(2)) question.limit = 1 + random.below(5);
  if (random.once(4)) question.fields = random.pick([['n', 's'], ['o.x'], ['-tags', '-_meta']]);
  return question;
}

export interface Places {
  readonly app: FastifyInstance;
  readonly name: string;
  readonly collection: Collection<Named>;
}

/** Writes once; which way is random. A write that is refused is one, too. */
export async function randomWrite(random: Random, { app, name, collection }: Places): Promise<void> {
  const id = random.pick(IDS);
  const body = randomDocument(random);
  const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object, headers = {}) =>
    app.inject({ method, url: `/api/${name}${path}`, headers, ...(payload ? { payload } : {}) });
  switch (random.below(11)) {
    case 0:
    case 1:
      await send('PUT', `/${id}?upsert=true`, body);
      return;
    case 2:
    case 3:
      await send('PATCH', `/${id}`, random.once(2) ? { n: random.below(6) } : body);
      return;
    case 4:
      await send('DELETE', `/${id}`);
      return;
    case 5:
      await send('POST', '', [{ id, ...body }, randomDocument(random), randomDocument(random)]);
      return;
    case 6:
      await send('PATCH', `?n=${random.below(6)}`, { n: random.below(6) }, { prefer: 'max-affected=100' });
      return;
    case 7:
      await collection.updateOne({ _id: id }, { $set: body }, { upsert: true });
      return;
    case 8:
      await collection.updateMany({ n: random.below(6) }, { $inc: { n: 1 }, $unset: { v: '' } });
      return;
    case 9:
      await collection.deleteMany({ n: random.below(6), s: random.pick(WORDS) });
      return;
    default: {
      const operations = Array.from({ length: 1 + random.below(4) }, () => {
        const path = `/api/${name}/${random.pick(IDS)}`;
        if (random.once(3)) return { method: 'DELETE', path };
        return { method: 'PUT', path: `${path}?upsert=true`, body: randomDocument(random) };
      });
      await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    }
  }
}
