/**
 * `npm start` as a user has it: the program's arguments, exit code and signals are those of the starter.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { findDataFolderHolder } from '../../src/database/embedded/data-dir-lock.ts';
import { findFreePort } from '../../src/database/embedded/port.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { onlyLong } from '../helpers/long-profile.ts';
import { testMongo } from '../helpers/mongo.ts';
import { withoutSettings } from '../helpers/programs/millrace.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE = process.execPath;
const START = 'scripts/start.mjs';
const LIMIT_MS = 60_000;
const END_LIMIT_MS = 15_000;

// A start waits more than it computes.
t.jobs = 3;

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  output(): string;
}

function start(
  t: Test,
  command: string,
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
): Started {
  const env = { ...withoutSettings(process.env), ...(command !== 'sh' && { MILLRACE_START: 'sources' }), ...settings };
  const child = spawn(command, words, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  t.teardown(() => {
    child.kill('SIGKILL');
    // A program that does not end with its starter would keep this process alive.
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  });
  return { child, ended: once(child, 'close'), output: () => output };
}

/** Settings by which a program uses the MongoDB of the tests, and starts none of its own. */
async function inTestMongo(t: Test): Promise<Record<string, string>> {
  const { url, database } = await testMongo(t);
  return { MONGODB_URL: url, MILLRACE_DB: database };
}

/** Waits until the program answers; throws what it said when it ends before. */
async function serving({ child, output }: Started, port: number): Promise<void> {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await delay(50)) {
    if (child.exitCode !== null) break;
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
    if (response?.ok === true) return;
  }
  throw new Error(`It does not serve: ${output()}`);
}

/** Whether the program itself has ended, which is not the process that was started here. */
async function hasGone(t: Test, { ended }: Started, port: number): Promise<void> {
  // Streams close when the last process has ended that writes to them.
  t.ok(await Promise.race([ended, delay(END_LIMIT_MS, false, { ref: false })]), 'the program has gone');
  await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`), 'and nobody answers');
}

t.test('arguments reach the program, and its exit code comes back', async (t) => {
  const help = start(t, NODE, [START, '--help'], {});
  t.strictSame(await help.ended, [0, null]);
  t.match(help.output(), /Usage: npm start/);
  const wrong = start(t, NODE, [START, '--nonsense'], {});
  t.strictSame(await wrong.ended, [1, null]);
  t.match(wrong.output(), /--nonsense/);
});

t.test('a port that is taken is one clear line', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? String(address.port) : '';
  const program = start(t, NODE, [START], { PORT: port, ...(await inTestMongo(t)) });
  t.strictSame(await program.ended, [1, null]);
  t.match(program.output(), new RegExp(`PORT=${port}: another program listens there`));
});

t.test('so is an address that is not of this machine', onlyLong, async (t) => {
  // TEST-NET-1 (RFC 5737) is nobody's.
  const settings = { HOST: '192.0.2.1', MILLRACE_MODE: 'production', ...(await inTestMongo(t)) };
  const program = start(t, NODE, [START], settings);
  t.strictSame(await program.ended, [1, null]);
  t.match(program.output(), /HOST=192\.0\.2\.1, PORT=3000: cannot listen there/);
  t.notMatch(program.output(), /^ +at /m);
});

t.test('a start that waits for a database can be ended', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const address = silent.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const program = start(t, NODE, [START], { MONGODB_URL: `mongodb://127.0.0.1:${port}/?directConnection=true` });
  await once(silent, 'connection');
  program.child.kill('SIGINT');
  t.strictSame(await program.ended, [0, null]);
  t.equal(program.output(), '', 'without a complaint');
});

t.test('SIGINT ends the program and its MongoDB cleanly', async (t) => {
  const [port, folder] = [await findFreePort(), await dataFolder(t)];
  const program = start(t, NODE, [START], { PORT: String(port), MILLRACE_DATA_DIR: folder });
  await serving(program, port);
  const holder = await findDataFolderHolder(`${folder}/data`);
  t.ok(holder?.owner, 'MongoDB runs and belongs to the program');
  program.child.kill('SIGINT');
  t.strictSame(await program.ended, [0, null]);
  t.equal(await findDataFolderHolder(`${folder}/data`), null);
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  // SIGTERM takes the way of npx below, without a shell.
  const options = signal === 'SIGTERM' ? onlyLong : {};
  t.test(`${signal} to npm ends the program`, options, async (t) => {
    const port = await findFreePort();
    const program = start(t, 'npm', ['start'], { PORT: String(port), ...(await inTestMongo(t)) });
    await serving(program, port);
    program.child.kill(signal);
    await hasGone(t, program, port);
  });
}

t.test('SIGTERM to npx ends the program', async (t) => {
  const port = await findFreePort();
  // As npx runs it: in a shell that waits for it and passes no signal on.
  const words = ['-c', `"${NODE}" --disable-warning=ExperimentalWarning src/main.ts; :`];
  const settings = { PORT: String(port), npm_lifecycle_event: 'npx', ...(await inTestMongo(t)) };
  const program = start(t, 'sh', words, settings);
  await serving(program, port);
  program.child.kill('SIGTERM');
  await hasGone(t, program, port);
});

t.test('SIGTERM to npm ends the day of the board', async (t) => {
  // A server that never answers: the board waits for it, and its connection ends with it.
  const silent = createServer().listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const address = silent.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const connected = once(silent, 'connection');
  const program = start(t, 'npm', ['run', 'board', '--', '--url', `http://127.0.0.1:${port}`], {});
  const [socket]: Socket[] = await connected;
  t.teardown(() => socket?.destroy());
  const closed = new Promise((resolve) =>
    socket
      ?.on('error', () => undefined)
      .once('close', resolve)
      .resume(),
  );
  program.child.kill('SIGTERM');
  const late = delay(15_000, 'it goes on', { ref: false });
  t.not(await Promise.race([closed, late]), 'it goes on');
});
