/**
 * Pages of a program in production mode whose caller has an API key and a policy that filters and hides a field,
 * against the bare handler: sorted by an index without the id, as other programs create them, and pages where nearly
 * every request is different. `--rounds 5 --seconds 2 --only name`. Linux only: CPU time is read from /proc.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Document, MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import type { Call } from './load.ts';
import { order } from './orders.ts';
import { post, signIn, startProduction } from './production.ts';
import { type Program, startBare } from './programs.ts';
import { machine } from './rounds.ts';
import { comparison, head, inTurns } from './turns.ts';

const DOCUMENTS = 10_000;
const CATEGORIES = 20;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds), connections: 32 };

async function seed(url: string, database: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  const items = client.db(database).collection('items');
  // The factors and the number of documents have no common divisor, so neither order is that of the ids; few documents
  // have the same score.
  const one = (n: number): Document => ({
    ...order(n),
    seq: n,
    category: n % CATEGORIES,
    score: ((n * 7_919) % DOCUMENTS) / 4,
    secret: `not for all ${n}`,
  });
  await items.insertMany(Array.from({ length: DOCUMENTS }, (_, n) => one(n)));
  await items.createIndex({ category: 1, score: -1 });
  await client.close();
}

/** An API key with a role that may read by a policy with a filter and hidden fields. */
async function keyOf(program: Program): Promise<string> {
  const owner = await signIn(program);
  const policy = {
    name: 'Shops read',
    resources: ['items'],
    actions: ['read'],
    principals: { roles: ['shop'] },
    effect: 'allow',
    filter: { seq: { $gte: 0 } },
    fields: { read: ['*', '-secret'] },
  };
  await post(program, '/admin/policies', policy, owner);
  return String((await post(program, '/admin/keys', { name: 'shop', roles: ['shop'] }, owner))['key']);
}

const below = (n: number): number => Math.floor(Math.random() * n);

const CASES: Readonly<Record<string, () => string>> = {
  'sorted 20': () => `category=${below(CATEGORIES)}&sort=-score&limit=20`,
  'differing 60–139': () => `limit=${60 + below(80)}&skip=${below(100)}`,
};

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const programs: Program[] = [];
try {
  for (const name of ['ours', 'bare']) await seed(database.url, name);
  const ours = await startProduction(database.url, 'ours', folder);
  programs.push(ours);
  const reference = await startBare(database.url, 'bare');
  programs.push(reference);
  const token = await keyOf(ours);
  console.log(`${machine()}, MongoDB ${database.version}, ${DOCUMENTS} documents of 1 KB`);
  console.log(head(options.connections));
  for (const [name, query] of Object.entries(CASES)) {
    if (!name.includes(values.only)) continue;
    const next = (): Call => ({ method: 'GET', path: `/api/items?${query()}` });
    const sides = [
      { program: ours, next: () => ({ ...next(), token }) },
      { program: reference, next },
    ];
    const [mine, theirs] = await inTurns(sides, options);
    if (mine && theirs) console.log(comparison(name, mine, theirs));
  }
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
