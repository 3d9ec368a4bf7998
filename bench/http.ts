/**
 * `npm run bench`: Millrace over HTTP against the bare handler in bench/bare.ts, in turns in the same run on the same
 * MongoDB. Prints medians and ratios: throughput above 1 and CPU below 1 are in Millrace's favour. Options:
 * `--rounds 5 --seconds 2 --only name`. Linux only: CPU time is read from /proc.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MongoClient, ObjectId } from 'mongodb';
import { startEmbedded } from '../src/database/embedded/embedded.ts';
import { type Call, type Figures, load } from './load.ts';
import { type Program, startProgram } from './programs.ts';
import { machine, median } from './rounds.ts';

const DOCUMENTS = 20_000;
const GROUPS = 200;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});

/** About one kilobyte, of the kinds that business documents hold. */
function body(n: number): Record<string, unknown> {
  return {
    n,
    group: n % GROUPS,
    title: `Order ${n}`,
    paid: n % 3 === 0,
    total: n * 1.25,
    tags: ['alpha', 'beta', 'gamma'],
    customer: { name: `Customer ${n}`, address: { street: 'Mill Lane 7', city: 'Łódź', zip: '90-001' } },
    lines: Array.from({ length: 5 }, (_, line) => ({ sku: `SKU-${n}-${line}`, quantity: line + 1, price: 9.5 + line })),
    note: 'A note of some length, as people write them into the field below the order. '.repeat(5),
  };
}

async function seed(url: string, database: string, ids: readonly ObjectId[]): Promise<void> {
  const client = new MongoClient(url);
  const items = client.db(database).collection('items');
  await items.createIndex({ group: 1, n: -1, _id: 1 });
  await items.insertMany(ids.map((_id, n) => ({ _id, ...body(n) })));
  await client.close();
}

function cases(ids: readonly ObjectId[]): Record<string, () => Call> {
  const any = () => Math.floor(Math.random() * ids.length);
  const get = (): Call => ({ method: 'GET', path: `/api/items/${ids[any()]?.toHexString()}` });
  const create = (): Call => ({ method: 'POST', path: '/api/items', body: JSON.stringify(body(any())) });
  const list = (limit: number) => (): Call => ({ method: 'GET', path: `/api/items?limit=${limit}` });
  return {
    'get one': get,
    'list 20': list(20),
    'list 100': list(100),
    'list 1000': list(1000),
    'filter + sort 20': () => ({ method: 'GET', path: `/api/items?group=${any() % GROUPS}&sort=-n&limit=20` }),
    create,
    replace: () => ({ ...get(), method: 'PUT', body: JSON.stringify(body(any())) }),
    'mixed 90/10': () => (Math.random() < 0.9 ? get() : create()),
  };
}

async function measure(
  servers: readonly [Program, Program],
  connections: number,
  next: () => Call,
): Promise<Figures[]> {
  const rounds: [Figures[], Figures[]] = [[], []];
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [side, { base, child }] of servers.entries()) {
      const figures = await load(base, child.pid ?? 0, connections, 1000 * Number(values.seconds), next);
      // The first round warms up.
      if (round > 0) rounds[side]?.push(figures);
    }
  }
  return rounds.map((found) => ({
    perSecond: median(found.map(({ perSecond }) => perSecond)),
    cpu: median(found.map(({ cpu }) => cpu)),
    p50: median(found.map(({ p50 }) => p50)),
    p99: median(found.map(({ p99 }) => p99)),
  }));
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(18) : cell.padStart(12))).join('');
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbedded({ folder });
const programs: Program[] = [];
try {
  const ids = Array.from({ length: DOCUMENTS }, () => new ObjectId());
  for (const name of ['ours', 'bare']) await seed(database.url, name, ids);
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const bare = fileURLToPath(new URL('./bare.ts', import.meta.url));
  const ours = await startProgram([main], {
    MONGODB_URL: database.url,
    MILLRACE_DB: 'ours',
    PORT: '0',
    MILLRACE_LOG_LEVEL: 'warn',
  });
  const reference = await startProgram([bare, database.url, 'bare'], {});
  programs.push(ours, reference);
  console.log(
    `${machine()}, MongoDB ${database.version}\n${values.rounds} rounds of ${values.seconds} s each, ${DOCUMENTS} documents of 1 KB\n`,
  );
  for (const connections of [1, 32]) {
    console.log(
      row([
        `${connections} connection${connections > 1 ? 's' : ''}`,
        'req/s',
        'bare',
        'ratio',
        'CPU µs',
        'bare',
        'ratio',
        'p99 ms',
        'bare',
      ]),
    );
    for (const [name, next] of Object.entries(cases(ids))) {
      if (!name.includes(values.only)) continue;
      const [a, b] = await measure([ours, reference], connections, next);
      if (!a || !b) continue;
      const [rate, cpu] = [a.perSecond / b.perSecond, a.cpu / b.cpu];
      const numbers = [a.perSecond, b.perSecond].map((n) => n.toFixed(0));
      const costs = [a.cpu, b.cpu].map((n) => n.toFixed(0));
      console.log(
        row([name, ...numbers, rate.toFixed(2), ...costs, cpu.toFixed(2), a.p99.toFixed(1), b.p99.toFixed(1)]),
      );
    }
  }
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
