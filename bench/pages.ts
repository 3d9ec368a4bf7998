/**
 * Pages by key over HTTP: page 1, page 2 and page 10,000 of 20 documents each, sorted by a field with an index and by
 * the id, alternating. Prints medians and ratios to page 1. Options: `--rounds 5 --seconds 1`. Linux only.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Document, MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { inTurns, medianFigures } from './turns.ts';

const LIMIT = 20;
const PAGES = 10_000;
const DOCUMENTS = LIMIT * (PAGES + 50);

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '1' } },
});

async function seed(url: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  const items = client.db('ours').collection('items');
  for (let from = 0; from < DOCUMENTS; from += 10_000) {
    const count = Math.min(10_000, DOCUMENTS - from);
    // The factor and the number of documents have no common divisor, so the order of the field differs from the order
    // of the ids.
    const one = (at: number): Document => ({ n: ((from + at) * 7_919) % DOCUMENTS, text: 'x'.repeat(300) });
    await items.insertMany(Array.from({ length: count }, (_, at) => one(at)));
  }
  await items.createIndex({ n: -1, _id: 1 });
  await client.close();
}

/** The cursor after this many documents. A cursor is valid for any limit. */
async function cursorBehind(base: string, sort: string, documents: number): Promise<string> {
  let cursor = '';
  for (let left = documents; left > 0; left -= 1_000) {
    const response = await fetch(
      `${base}/api/items?${sort}limit=${Math.min(1_000, left)}${cursor && `&cursor=${cursor}`}`,
    );
    await response.arrayBuffer();
    cursor = response.headers.get('millrace-next') ?? '';
    if (cursor === '') throw new Error(`There is no next page: ${response.status}`);
  }
  return cursor;
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
try {
  await seed(database.url);
  const program = await startOurs(database.url, 'ours');
  try {
    console.log(`${machine()}, MongoDB ${database.version}, ${DOCUMENTS} documents\n`);
    for (const sort of ['sort=-n&', '']) {
      const path = `/api/items?${sort}limit=${LIMIT}`;
      const cursors = [
        await cursorBehind(program.base, sort, LIMIT),
        await cursorBehind(program.base, sort, LIMIT * (PAGES - 1)),
      ];
      const paths = [path, ...cursors.map((cursor) => `${path}&cursor=${cursor}`)];
      const sides = paths.map((one) => ({ program, next: () => ({ method: 'GET', path: one }) as const }));
      const found = await inTurns(sides, {
        connections: 1,
        rounds: Number(values.rounds),
        seconds: Number(values.seconds),
      });
      const pages = found.map(medianFigures);
      const first = pages[0]?.p50 ?? Number.NaN;
      for (const [side, name] of ['page 1', 'page 2', `page ${PAGES}`].entries()) {
        const { p50 = Number.NaN, cpu = Number.NaN } = pages[side] ?? {};
        const ratio = (p50 / first).toFixed(2);
        console.log(
          `${sort || 'by id '}${name}: p50 ${p50.toFixed(2)} ms, ${ratio} of page 1, ${cpu.toFixed(0)} µs CPU`,
        );
      }
    }
  } finally {
    await program.stop();
  }
} finally {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
