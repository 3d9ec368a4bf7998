/**
 * A program in production under attack, and an honest client, the neighbor, that is signed in and keeps working
 * meanwhile. Measured: how much more memory the program takes than at rest, the longest wait of the neighbor, how long
 * the program blocked its event loop, and whether the neighbor has the right documents in the end.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Db, MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { LiveState, stateText } from '../live/live-state.ts';
import { openSocket } from '../live/socket.ts';
import { testMongo } from '../mongo.ts';
import { until } from '../until.ts';
import { PASSWORD } from '../users.ts';
import type { Hold } from './loop-holds.ts';
import { type Program, startProgram } from './program.ts';

const ADMIN = 'ada@example.org';
/** The IP address of attacks: another one of this machine, so that the neighbor is not in the same network. */
const ANONYMOUS = '127.0.0.2';
const PROBE_MS = 20;
/** The heap limit of the program, as in a container of 512 MB. */
const HEAP = '--max-old-space-size=256';
const WATCH = `--import ${new URL('./loop-holds.ts', import.meta.url).href}`;

export interface Attacked {
  readonly program: Program;
  /** Its documents, read directly from the database. */
  readonly data: Db;
  /** A socket of an anonymous client, whose frames are discarded. It is closed at the end of the test. */
  open(): Promise<WebSocket>;
  /** Sends a request as the administrator. */
  request(method: string, path: string, body?: object): Promise<Response>;
  /** Runs an attack while the neighbor works, and returns the figures. */
  during(attack: () => Promise<void>): Promise<Figures>;
}

export interface Figures {
  /** The highest resident memory minus the memory at rest before, in bytes. */
  readonly memory: number;
  /**
   * The longest time from a write of the neighbor to its change, minus the time that the bystander waited meanwhile;
   * ms.
   */
  readonly worstWaitMs: number;
  /** The longest time that the program blocked its event loop, in milliseconds of CPU. */
  readonly worstHoldMs: number;
  readonly probes: number;
  /** What the neighbor received wrongly. */
  readonly issues: readonly string[];
}

/** Starts the program with a policy by which anonymous clients read everything. */
export async function startAttacked(t: Test): Promise<Attacked> {
  const { url, database } = await testMongo(t);
  const client = await new MongoClient(url).connect();
  t.teardown(() => client.close());
  const folder = t.testdir();
  const [secret, holdsFile] = [join(folder, 'password'), join(folder, 'holds')];
  await writeFile(secret, PASSWORD, { mode: 0o600 });
  await writeFile(holdsFile, '');
  const program = await startProgram(t, {
    MONGODB_URL: url,
    MILLRACE_DB: database,
    MILLRACE_MODE: 'production',
    MILLRACE_ADMIN_EMAIL: ADMIN,
    MILLRACE_ADMIN_PASSWORD_FILE: secret,
    MILLRACE_RATE_LIMIT_PRINCIPAL: '1000000',
    LOOP_HOLDS: holdsFile,
    NODE_OPTIONS: `${HEAP} ${WATCH}`,
  });
  let token = '';
  const request = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init =
      body === undefined
        ? { headers: { authorization: headers.authorization } }
        : { headers, body: JSON.stringify(body) };
    const response = await fetch(program.url + path, { method, ...init });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const login = await fetch(`${program.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: ADMIN, password: PASSWORD }),
  });
  token = String(((await login.json()) as { accessToken?: string }).accessToken);
  await request('POST', '/admin/policies', {
    name: 'Everybody reads',
    resources: ['*'],
    actions: ['read'],
    effect: 'allow',
  });
  const open = async () => {
    const socket = new WebSocket(`${program.url.replace('http', 'ws')}/realtime`, { localAddress: ANONYMOUS });
    t.teardown(() => socket.terminate());
    socket.on('error', () => {});
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.send('{"type":"hello"}');
    return socket;
  };
  const attacked = { program, data: client.db(database), open, request };
  return { ...attacked, during: (attack) => during(t, attacked, { token, holdsFile }, attack) };
}

/** The longest recorded block since a time, in milliseconds. */
function worstHold(file: string, from: number): number {
  const lines = readFileSync(file, 'utf8').trim().split('\n').filter(Boolean);
  const holds = lines.map((line): Hold => JSON.parse(line));
  return Math.max(0, ...holds.filter(({ at }) => at >= from).map(({ cpuMs }) => cpuMs));
}

async function during(
  t: Test,
  { program, request }: Omit<Attacked, 'during'>,
  { token, holdsFile }: { readonly token: string; readonly holdsFile: string },
  attack: () => Promise<void>,
): Promise<Figures> {
  const sort = '-n';
  const state = new LiveState('calm', sort);
  const socket = await openSocket(t, program.url, { hello: { type: 'hello', token } });
  socket.onFrame = (frame) => {
    state.take(frame);
    socket.frames.length = 0;
  };
  socket.send({ type: 'subscribe', id: 'calm', collection: 'calm', query: { sort, limit: 20 } });
  await until(() => state.live, 'the neighbour is live');
  const bystander = await startBystander(t);
  for (let n = 0; n < 50; n++) await probe(request, state, -1);
  const rest = program.rss();
  const from = Date.now();
  let over = false;
  const attacking = attack().finally(() => {
    over = true;
  });
  let [memory, worstWaitMs, probes] = [0, 0, 0];
  while (!over) {
    const [wait, others] = await Promise.all([probe(request, state, probes), bystander()]);
    probes += 1;
    worstWaitMs = Math.max(worstWaitMs, wait - others);
    memory = Math.max(memory, program.rss() - rest);
    await pause(PROBE_MS);
  }
  await attacking;
  const list = (await (await request('GET', `/api/calm?sort=${sort}&limit=20`)).json()) as object[];
  const holds = () => stateText(state.documents.values()) === stateText(list);
  await until(() => holds() || socket.closed !== null, 'the neighbor has the stored documents').catch(() => {});
  const issues = [...state.issues, ...state.reasons.map((reason) => `reset: ${reason}`)];
  if (!holds()) issues.push('The neighbor has something else');
  if (socket.closed !== null) issues.push(`closed: ${JSON.stringify(socket.closed)}`);
  socket.socket.terminate();
  return { memory, worstWaitMs, worstHoldMs: worstHold(holdsFile, from), probes, issues };
}

/** Writes a document, and waits until the neighbor receives its change. */
async function probe(request: Attacked['request'], state: LiveState, n: number): Promise<number> {
  const start = performance.now();
  const response = await request('POST', '/api/calm', { n });
  const { id } = (await response.json()) as { id: string };
  if (n >= 0) await until(() => state.documents.has(id), `the neighbor receives ${id}`);
  return performance.now() - start;
}

/** A bystander: a bare server in this process. The waiting of its clients shows how slow the machine itself is. */
async function startBystander(t: Test): Promise<() => Promise<number>> {
  const server = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return async () => {
    const start = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    return performance.now() - start;
  };
}
