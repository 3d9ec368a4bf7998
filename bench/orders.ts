/** The documents of the HTTP benchmarks: orders of about one kilobyte, the same for every server that is measured. */
import { MongoClient, type ObjectId } from 'mongodb';

export const DOCUMENTS = 10_000;
export const CATEGORIES = 20;

/** An order of about one kilobyte, with the types of values that business documents have; few have the same score. */
export function order(n: number): Record<string, unknown> {
  return {
    n,
    // The factor and the number of documents have no common divisor, so the order by score is not that of the ids.
    category: n % CATEGORIES,
    score: ((n * 7_919) % DOCUMENTS) / 4,
    title: `Order ${n}`,
    paid: n % 3 === 0,
    total: n * 1.25,
    tags: ['alpha', 'beta', 'gamma'],
    customer: { name: `Customer ${n}`, address: { street: 'Mill Lane 7', city: 'Łódź', zip: '90-001' } },
    lines: Array.from({ length: 5 }, (_, line) => ({ sku: `SKU-${n}-${line}`, quantity: line + 1, price: 9.5 + line })),
    note: 'A note of some length, as people write them into the field below the order. '.repeat(5),
  };
}

/**
 * Fills the collection `items` of a database with one order for each id, each with a field `secret`, and creates an
 * index as other programs create them, without the id at its end.
 */
export async function seedOrders(url: string, database: string, ids: readonly ObjectId[]): Promise<void> {
  const client = new MongoClient(url);
  const items = client.db(database).collection('items');
  await items.createIndex({ category: 1, score: -1 });
  await items.insertMany(ids.map((_id, n) => ({ _id, ...order(n), secret: `not for all ${n}` })));
  await client.close();
}
