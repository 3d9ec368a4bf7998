/**
 * What policies cost: a signed-in user under a policy that filters, in production mode, against the bare handler for one
 * document, and against the same program without policies for a list. `--rounds 5 --seconds 2`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ObjectId } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import type { Call } from './load.ts';
import { DOCUMENTS, seedOrders } from './orders.ts';
import { PASSWORD, post, signIn, startProduction } from './production.ts';
import { type Program, startBare, startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { comparison, head, inTurns } from './turns.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } },
});
const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

/** A signed-in user with a policy that allows reading orders that are not paid: two documents of three. */
async function signedIn(program: Program): Promise<string> {
  const owner = await signIn(program);
  const policy = {
    name: 'Clerks read what is not paid',
    resources: ['items'],
    actions: ['read'],
    principals: { roles: ['clerk'] },
    effect: 'allow',
    filter: { paid: false },
  };
  await post(program, '/admin/policies', policy, owner);
  await post(program, '/admin/users', { username: 'clerk', password: PASSWORD, roles: ['clerk'] }, owner);
  return signIn(program, 'clerk');
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const programs: Program[] = [];
try {
  const ids = Array.from({ length: DOCUMENTS }, () => new ObjectId());
  for (const name of ['open', 'guarded', 'bare']) await seedOrders(database.url, name, ids);
  const open = await startOurs(database.url, 'open');
  programs.push(open);
  const guarded = await startProduction(database.url, 'guarded', folder);
  programs.push(guarded);
  const reference = await startBare(database.url, 'bare');
  programs.push(reference);
  const token = await signedIn(guarded);

  const unpaid = ids.filter((_id, n) => n % 3 !== 0);
  const one = (): Call => ({ method: 'GET', path: `/api/items/${unpaid[Math.floor(Math.random() * unpaid.length)]}` });
  const list = (path: string) => (): Call => ({ method: 'GET', path });
  const as = (next: () => Call) => () => ({ ...next(), token });
  console.log(`${machine()}, MongoDB ${database.version}`);
  for (const connections of [1, 32]) {
    console.log(head(connections));
    const [mine, theirs] = await inTurns(
      [
        { program: guarded, next: as(one) },
        { program: reference, next: one },
      ],
      { ...options, connections },
    );
    if (mine && theirs) console.log(comparison('get one / bare', mine, theirs));
    const [filtered, plain] = await inTurns(
      [
        { program: guarded, next: as(list('/api/items?limit=100')) },
        { program: open, next: list('/api/items?limit=100&filter={"paid":false}') },
      ],
      { ...options, connections },
    );
    if (filtered && plain) console.log(comparison('list 100 / open', filtered, plain));
  }
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
