/**
 * `npm run bench`: Millrace over HTTP against the bare handler in bench/bare.ts, alternating in the same run on the
 * same MongoDB. Millrace runs as users run it: in production mode, with an API key, a policy with a filter and a hidden
 * field, and its log; `--open` measures development mode without any of them. Prints medians and ratios with the lowest
 * and the highest of the rounds: throughput above 1 and CPU below 1 mean that Millrace is better. Options:
 * `--rounds 5 --seconds 2 --connections 1,32 --only name`, and `--before folder` to measure the program of another
 * folder of this repository in the same turns. Linux only: CPU time is read from /proc.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ObjectId } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import type { Call } from './load.ts';
import { CATEGORIES, DOCUMENTS, order, seedOrders } from './orders.ts';
import { createShopKey, startProduction } from './production.ts';
import { type Program, startBare, startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { comparison, head, inTurns, type Side } from './turns.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '1,32' },
    only: { type: 'string', default: '' },
    open: { type: 'boolean', default: false },
    before: { type: 'string' },
  },
});
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

const below = (n: number): number => Math.floor(Math.random() * n);

function cases(ids: readonly ObjectId[]): Record<string, () => Call> {
  const get = (): Call => ({ method: 'GET', path: `/api/items/${ids[below(ids.length)]?.toHexString()}` });
  const create = (): Call => ({ method: 'POST', path: '/api/items', body: JSON.stringify(order(below(DOCUMENTS))) });
  const list = (query: () => string) => (): Call => ({ method: 'GET', path: `/api/items?${query()}` });
  return {
    'get one': get,
    'list 20': list(() => 'limit=20'),
    'list 100': list(() => 'limit=100'),
    'list 1000': list(() => 'limit=1000'),
    'filter + sort 20': list(() => `category=${below(CATEGORIES)}&sort=-score&limit=20`),
    'differing 60–139': list(() => `limit=${60 + below(80)}&skip=${below(100)}`),
    // Writes come last: the log of their events is not part of the reads.
    replace: () => ({ ...get(), method: 'PUT', body: JSON.stringify(order(below(DOCUMENTS))) }),
    create,
    'mixed 90/10': () => (Math.random() < 0.9 ? get() : create()),
  };
}

/** A server to measure, with the credential of its requests. */
interface Measured {
  readonly program: Program;
  readonly token?: string;
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const programs: Program[] = [];

async function startMeasured(name: string, root?: string): Promise<Measured> {
  const program = values.open
    ? await startOurs(database.url, name, {}, root)
    : await startProduction(database.url, name, folder, root);
  programs.push(program);
  return values.open ? { program } : { program, token: await createShopKey(program) };
}

try {
  const ids = Array.from({ length: DOCUMENTS }, () => new ObjectId());
  const names = ['ours', 'bare', ...(values.before === undefined ? [] : ['before'])];
  for (const name of names) await seedOrders(database.url, name, ids);
  const ours = await startMeasured('ours');
  const before = values.before === undefined ? null : await startMeasured('before', values.before);
  const reference = await startBare(database.url, 'bare');
  programs.push(reference);
  console.log(
    `${machine()}, MongoDB ${database.version}\n${values.open ? 'open mode' : 'production mode, API key, policy with a hidden field, log'}; ` +
      `${values.rounds} rounds of ${values.seconds} s each, ${DOCUMENTS} documents of 1 KB\n`,
  );
  for (const connections of values.connections.split(',').map(Number)) {
    console.log(head(connections));
    for (const [name, next] of Object.entries(cases(ids))) {
      if (!name.includes(values.only)) continue;
      const side = ({ program, token }: Measured): Side => ({
        program,
        next: token === undefined ? next : () => ({ ...next(), token }),
      });
      const sides = [ours, { program: reference }, ...(before === null ? [] : [before])].map(side);
      const [mine, theirs, earlier] = await inTurns(sides, { ...options, connections });
      if (mine && theirs) console.log(comparison(name, mine, theirs));
      if (earlier && theirs) console.log(comparison('  before', earlier, theirs));
      if (mine && earlier) console.log(comparison('  now / before', mine, earlier));
    }
  }
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
