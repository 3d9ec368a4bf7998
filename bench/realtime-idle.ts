/**
 * What live data costs while it waits and how fast it is while it works: memory of an idle socket with a subscription,
 * and the time from a write over HTTP to the frame at the last of many subscribers. The clients are in a process of
 * their own. Figures of one machine at one time.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { machine, median } from './rounds.ts';

const SOCKETS = Number(process.argv[2] ?? 2_000);
const WRITES = Number(process.argv[3] ?? 200);

if (process.send === undefined) await measure();
else await clients(process.argv[4] ?? '');

async function measure(): Promise<void> {
  const { startEmbedded } = await import('../src/database/embedded/embedded.ts');
  const { loadConfig } = await import('../src/kernel/config.ts');
  const { makeParts } = await import('../src/parts.ts');
  const { buildApp } = await import('../src/app.ts');
  const { pino } = await import('pino');
  const folder = await mkdtemp(join(tmpdir(), 'realtime-bench-'));
  const database = await startEmbedded({ folder, binary: process.env['MONGOD_BINARY'] });
  const config = loadConfig({ MILLRACE_DB: 'bench', PORT: '0', MILLRACE_CONNECTIONS_PER_ADDRESS: '100000' });
  const parts = await makeParts(config, database.url);
  const app = await buildApp(parts, pino({ level: 'silent' }));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await app.inject({ method: 'POST', url: '/api/todos', payload: { id: 'first' } });
  console.log(machine());
  await pause(1_000);
  const before = process.memoryUsage().rss;
  const child = fork(fileURLToPath(import.meta.url), [String(SOCKETS), String(WRITES), url]);
  await once(child, 'message');
  await pause(2_000);
  const grown = process.memoryUsage().rss - before;
  console.log(`${SOCKETS} idle sockets: ${(grown / SOCKETS / 1024).toFixed(1)} KiB each (target < 60)`);
  const delays: number[] = [];
  const cpu = process.cpuUsage();
  for (let n = 0; n < WRITES; n++) {
    const start = performance.timeOrigin + performance.now();
    const told = once(child, 'message');
    await app.inject({ method: 'PATCH', url: '/api/todos/first', payload: { n } });
    const [message] = await told;
    delays.push(Number(message) - start);
  }
  const used = process.cpuUsage(cpu);
  delays.sort((a, b) => a - b);
  const p99 = delays[Math.floor(delays.length * 0.99)] ?? Number.NaN;
  console.log(
    `write → the last of ${SOCKETS} subscribers: p50 ${median(delays).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  );
  console.log(`  CPU ${((used.user + used.system) / (WRITES * SOCKETS)).toFixed(1)} µs a delivery, the write included`);
  child.kill();
  await app.close();
  await parts.close();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

async function clients(url: string): Promise<void> {
  let live = 0;
  let told = 0;
  for (let n = 0; n < SOCKETS; n++) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime`, { perMessageDeflate: false });
    socket.on('message', (bytes: Buffer) => {
      const text = bytes.toString('utf8', 0, 20);
      if (text.startsWith('{"type":"live"')) live += 1;
      if (text.startsWith('{"type":"ping"')) socket.send('{"type":"pong"}');
      if (!text.startsWith('{"type":"change"')) return;
      told += 1;
      if (told % SOCKETS === 0) process.send?.(performance.timeOrigin + performance.now());
    });
    socket.on('open', () => {
      socket.send('{"type":"hello"}');
      socket.send('{"type":"subscribe","id":"s1","collection":"todos"}');
    });
    if (n % 100 === 99) while (live < n - 50) await pause(10);
  }
  while (live < SOCKETS) await pause(20);
  process.send?.('live');
}
