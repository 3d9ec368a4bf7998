/**
 * What functions cost in production mode, with an API key and a policy with a hidden field: an HTTP function, the same with a
 * context for each call, a process that answers a constant through the same pipe, and a bare route of Fastify; calls per
 * second, host operations, a write hook on creates, the memory of many plugins, and a server without any. The sides of
 * each comparison alternate in one run. CPU time is that of the server with the process that runs the code. Options: `--rounds 5 --seconds 2 --only
 * name`. Linux only: figures are read from /proc.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { type Call, load } from './load.ts';
import { createShopKey, startProduction } from './production.ts';
import { type Program, startBare, startOurs } from './programs.ts';
import { machine, median } from './rounds.ts';
import { cpuSeconds, descendants, residentBytes } from './usage.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});
const [rounds, ms] = [Number(values.rounds), 1_000 * Number(values.seconds)];
const PLUGINS = 200;
const MIB = 1024 * 1024;

interface Source {
  readonly use: object;
  readonly code: string;
}

/**
 * The measured functions: an HTTP function that does nothing, one with three host operations, and a write hook that
 * sets a field.
 */
const MEASURED: Readonly<Record<string, Source>> = {
  hello: {
    use: { http: { method: 'GET', path: '/hello' } },
    code: `export default () => ({ hello: 'world' });`,
  },
  three: {
    use: { http: { method: 'GET', path: '/three' } },
    code: `export default async (input, ctx) => {
      const notes = ctx.documents('read');
      const one = await notes.get('n1');
      const { items } = await notes.list({ limit: 1 });
      const none = await notes.get('n2');
      return { one, first: items[0], none };
    };`,
  },
  stamp: {
    use: { beforeWrite: { collections: ['seen'], actions: ['create'] } },
    code: `export default ({ document }) => ({ ...document, slug: document.title.toLowerCase() });`,
  },
};

async function writePlugin(
  folder: string,
  name: string,
  sources: Readonly<Record<string, Source>>,
  isolation: 'plugin' | 'call' = 'plugin',
): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  const functions = Object.entries(sources).map(([name, { use }]) => ({ name, file: `${name}.ts`, ...use }));
  for (const [file, { code }] of Object.entries(sources)) await writeFile(join(folder, name, `${file}.ts`), code);
  await writeFile(join(folder, name, 'plugin.json'), JSON.stringify({ name, functions, isolation }));
}

interface Figures {
  readonly perSecond: number;
  /** Microseconds per call, of the server and its child processes. */
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
}

interface Side {
  readonly program: Program;
  readonly next: () => Call;
}

async function once({ program, next }: Side, connections: number, forMs: number): Promise<Figures> {
  const pid = program.child.pid ?? 0;
  const others = () => descendants(pid).reduce((sum, child) => sum + cpuSeconds(child), 0);
  const before = others();
  const { perSecond, cpu, p50, p99 } = await load(program.base, pid, connections, forMs, next);
  const rest = ((others() - before) * 1e6) / (perSecond * (forMs / 1_000));
  return { perSecond, cpu: cpu + rest, p50, p99 };
}

/** The medians of each side, alternating, after a warm-up of each. */
async function inTurns(sides: readonly Side[], connections: number): Promise<readonly Figures[]> {
  for (const side of sides) await once(side, 16, 3_000);
  const found = sides.map((): Figures[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of sides.entries()) found[index]?.push(await once(side, connections, ms));
  }
  const middle = (all: readonly Figures[], field: keyof Figures) => median(all.map((one) => one[field]));
  return found.map((all) => ({
    perSecond: middle(all, 'perSecond'),
    cpu: middle(all, 'cpu'),
    p50: middle(all, 'p50'),
    p99: middle(all, 'p99'),
  }));
}

function row(name: string, { perSecond, cpu, p50, p99 }: Figures): string {
  const cells = [perSecond.toFixed(0), cpu.toFixed(0), p50.toFixed(2), p99.toFixed(2)];
  return name.padEnd(26) + cells.map((cell) => cell.padStart(11)).join('');
}

const bar = (what: string, figure: string, requested: string, isMet: boolean) =>
  console.log(`${isMet ? 'met   ' : 'MISSED'} ${what}: ${figure} (wanted ${requested})`);

const get = (path: string, token?: string) => (): Call => ({ method: 'GET', path, ...(token && { token }) });
const post = (name: string, token: string) => (): Call => ({
  method: 'POST',
  path: `/api/${name}`,
  body: JSON.stringify({ title: 'A Title', n: 1, text: 'x'.repeat(500), tags: ['a', 'b'] }),
  token,
});

const folder = await mkdtemp(join(tmpdir(), 'functions-bench-'));
const [few, many] = [join(folder, 'few'), join(folder, 'many')];
await writePlugin(few, 'bench', MEASURED);
const fresh = { use: { http: { method: 'GET', path: '/fresh' } }, code: MEASURED['hello']?.code ?? '' };
await writePlugin(few, 'fresh', { hello: fresh }, 'call');
for (let n = 0; n < PLUGINS; n++) {
  const code = `const table = Array.from({ length: 100 }, (_, n) => 'value ' + n);\nexport default () => table.length;`;
  await writePlugin(many, `many${n}`, { one: { use: { http: { method: 'GET', path: `/many/${n}` } }, code } });
}
const database = await startEmbeddedDatabase({ folder: join(folder, 'mongo') });
const programs: Program[] = [];
const start = async (name: string, plugins: string, settings: Record<string, string> = {}) => {
  const more = { MILLRACE_PLUGINS_DIR: plugins, ...settings };
  const program = await startProduction(database.url, name, folder, undefined, more);
  programs.push(program);
  return { program, token: await createShopKey(program, ['read', 'seen', 'unseen']) };
};
const preload = fileURLToPath(new URL('./use-constant-runner.ts', import.meta.url));
const required = (name: string) => name.includes(values.only);

try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]?.toFixed(1)}`);
  console.log(`${rounds} rounds of ${values.seconds} s\n`);
  const { program: ours, token } = await start('few', few);
  const constant = await start('constant', few, { NODE_OPTIONS: `--import=${preload}` });
  const bare = await startBare(database.url, 'bare');
  programs.push(bare);
  await fetch(`${ours.base}/api/read`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(['n1', 'n2'].map((id) => ({ id, n: 1, text: 'x'.repeat(200) }))),
  });
  console.log(
    ['', 'req/s', 'CPU µs', 'p50 ms', 'p99 ms'].map((cell, at) => cell.padStart(at === 0 ? 26 : 11)).join(''),
  );

  if (required('endpoint')) {
    const sides = [
      { program: ours, next: get('/fn/hello', token) },
      { program: constant.program, next: get('/fn/hello', constant.token) },
      { program: ours, next: get('/fn/fresh', token) },
      { program: bare, next: get('/hello') },
    ];
    const names = ['endpoint', 'constant', 'context for each call', 'bare'];
    for (const connections of [1, 32]) {
      const found = await inTurns(sides, connections);
      const [one, limit, , reference] = found;
      if (!one || !limit || !reference) continue;
      for (const [index, figures] of found.entries()) console.log(row(`${names[index]}, ${connections}`, figures));
      const above = one.cpu / limit.cpu;
      bar(`CPU against a constant, ${connections}`, `${above.toFixed(2)}×`, '≤ 1.3×', above <= 1.3);
      const ratio = one.cpu / reference.cpu;
      bar(`CPU against a bare route, ${connections}`, `${ratio.toFixed(1)}×`, '≤ 9×', ratio <= 9);
      console.log(`       a constant against a bare route: ${(limit.cpu / reference.cpu).toFixed(1)}×`);
      if (connections > 1) bar('calls a second', one.perSecond.toFixed(0), '≥ 3,000', one.perSecond >= 3_000);
    }
  }
  if (required('host')) {
    const [three] = await inTurns([{ program: ours, next: get('/fn/three', token) }], 1);
    if (three) {
      console.log(row('three operations', three));
      bar('three operations of the host', `p50 ${three.p50.toFixed(2)} ms`, '≤ 3 ms', three.p50 <= 3);
    }
  }
  if (required('before')) {
    const sides = [
      { program: ours, next: post('seen', token) },
      { program: ours, next: post('unseen', token) },
    ];
    const [seen, unseen] = await inTurns(sides, 1);
    if (seen && unseen) {
      console.log(row('create with a before', seen));
      console.log(row('create without', unseen));
      const more = seen.p50 - unseen.p50;
      bar('a before on a create', `p50 ${more.toFixed(2)} ms more`, '≤ 1 ms', more <= 1);
    }
  }
  if (required('memory')) {
    const { program: crowd, token: key } = await start('many', many);
    const headers = { authorization: `Bearer ${key}` };
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < PLUGINS; n++) {
        const response = await fetch(`${crowd.base}/fn/many/${n}`, { headers });
        if (response.status !== 200) throw new Error(`many${n} answered ${response.status}: ${await response.text()}`);
      }
    }
    const used = descendants(crowd.child.pid ?? 0).map(residentBytes);
    const most = Math.max(...used) / MIB;
    bar(`${PLUGINS} plugins in ${used.length} runner`, `${most.toFixed(0)} MB`, '≤ 400 MB', most <= 400);
  }
  if (required('none')) await withoutPlugins();
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}

/** A server without plugins against one that runs no functions at all: how long it takes to start, and its memory. */
async function withoutPlugins(): Promise<void> {
  const none = join(folder, 'none');
  await mkdir(none, { recursive: true });
  const starts: { on: number[]; off: number[] } = { on: [], off: [] };
  const held: { on: number[]; off: number[] } = { on: [], off: [] };
  // The first start creates the database; it does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const mode of ['on', 'off'] as const) {
      const begun = performance.now();
      const program = await startOurs(database.url, 'none', { MILLRACE_PLUGINS_DIR: none, MILLRACE_FUNCTIONS: mode });
      if (round > 0) starts[mode].push(performance.now() - begun);
      held[mode].push(residentBytes(program.child.pid ?? 0) / MIB);
      const started = descendants(program.child.pid ?? 0).length;
      if (started > 0) throw new Error(`A server without plugins started ${started} processes`);
      await program.stop();
    }
  }
  const [on, off] = [median(starts.on), median(starts.off)];
  const [holds, reference] = [median(held.on), median(held.off)];
  console.log(
    `without plugins: ready after ${on.toFixed(0)} ms, ${holds.toFixed(0)} MB; off ${off.toFixed(0)} ms, ${reference.toFixed(0)} MB`,
  );
  bar('a start without plugins', `${(on / off).toFixed(2)}×`, '≤ 1.1× of functions off', on / off <= 1.1);
}
