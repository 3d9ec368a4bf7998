/**
 * `npm run bench`: Millrace over HTTP against the bare handler in bench/bare.ts, alternating in the same run on the
 * same MongoDB. Prints medians and ratios: throughput above 1 and CPU below 1 mean that Millrace is better. Options:
 * `--rounds 5 --seconds 2 --only name`. Linux only: CPU time is read from /proc.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ObjectId } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import type { Call } from './load.ts';
import { DOCUMENTS, GROUPS, order, seedOrders } from './orders.ts';
import { type Program, startBare, startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { comparison, head, inTurns } from './turns.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

function cases(ids: readonly ObjectId[]): Record<string, () => Call> {
  const any = () => Math.floor(Math.random() * ids.length);
  const get = (): Call => ({ method: 'GET', path: `/api/items/${ids[any()]?.toHexString()}` });
  const create = (): Call => ({ method: 'POST', path: '/api/items', body: JSON.stringify(order(any())) });
  const list = (limit: number) => (): Call => ({ method: 'GET', path: `/api/items?limit=${limit}` });
  return {
    'get one': get,
    'list 20': list(20),
    'list 100': list(100),
    'list 1000': list(1000),
    'filter + sort 20': () => ({ method: 'GET', path: `/api/items?group=${any() % GROUPS}&sort=-n&limit=20` }),
    create,
    replace: () => ({ ...get(), method: 'PUT', body: JSON.stringify(order(any())) }),
    'mixed 90/10': () => (Math.random() < 0.9 ? get() : create()),
  };
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const programs: Program[] = [];
try {
  const ids = Array.from({ length: DOCUMENTS }, () => new ObjectId());
  for (const name of ['ours', 'bare']) await seedOrders(database.url, name, ids);
  const ours = await startOurs(database.url, 'ours');
  const reference = await startBare(database.url, 'bare');
  programs.push(ours, reference);
  console.log(
    `${machine()}, MongoDB ${database.version}\n${values.rounds} rounds of ${values.seconds} s each, ${DOCUMENTS} documents of 1 KB\n`,
  );
  for (const connections of [1, 32]) {
    console.log(head(connections));
    for (const [name, next] of Object.entries(cases(ids))) {
      if (!name.includes(values.only)) continue;
      const sides = [
        { program: ours, next },
        { program: reference, next },
      ];
      const [a, b] = await inTurns(sides, { ...options, connections });
      if (a && b) console.log(comparison(name, a, b));
    }
  }
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
