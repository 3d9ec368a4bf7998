/**
 * The cost of realtime, compared with references in the same run: one event sent to many sockets (the references:
 * `JSON.stringify` and `send` for each client, and one prepared frame written to all), bursts in one write, and
 * matching an event with many subscriptions. All ways send the same fields. Measured is CPU time of this process, as
 * medians of rounds; the ways alternate event by event. `--sockets 1000`.
 */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BSON, Timestamp } from 'mongodb';
import { type WebSocket, WebSocketServer } from 'ws';
import { parseCollectionName } from '../src/database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../src/events/log/log-row.ts';
import { ByteBudget, byteBudgetLimits, MemoryAccount } from '../src/lib/memory/byte-budget.ts';
import { Policies } from '../src/policies/policies.ts';
import { parseQueryJson } from '../src/query/parse/parse-query.ts';
import { indexKeyOfFilter } from '../src/realtime/hub/filter-index-key.ts';
import { LogRowBatch } from '../src/realtime/hub/log-row-batch.ts';
import type { SubscriptionGroupMember } from '../src/realtime/hub/subscription-group.ts';
import { SubscriptionGroupIndex } from '../src/realtime/hub/subscription-group-index.ts';
import { LiveQuery } from '../src/realtime/result/live-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../src/realtime/result/live-query-spec.ts';
import { LogRowView } from '../src/realtime/result/log-row-view.ts';
import type { SnapshotReader } from '../src/realtime/result/snapshot-reader.ts';
import { encodeTextFrame } from '../src/realtime/wire/encode-frames.ts';
import { FlushScheduler, SendQueue } from '../src/realtime/wire/send-queue.ts';
import { machine, median } from './rounds.ts';

const { values } = parseArgs({ options: { sockets: { type: 'string', default: '1000' } } });
const SOCKETS = Number(values.sockets);
const EVENTS = 10;
const BURST = 10;
/** An equal number of rounds before is a warm-up, here and below. */
const ROUNDS = 21;
const MATCH_EVENTS = 200;

const policies = new Policies('development');
const scope = policies.scope({ kind: 'anonymous' }, 'read', parseCollectionName('todos'));
const account = new MemoryAccount(new ByteBudget(byteBudgetLimits({ bytes: null, bytesPerClient: null })), 'bench');
const noStore = {} as SnapshotReader;
const live = (query: object) =>
  new LiveQuery(
    toLiveQuerySpec(parseCollectionName('todos'), toSubscriptionQuery(parseQueryJson(query), false, new Date()), scope),
    noStore,
    account,
  );

function rowOf(number: number): LogRow {
  const document = { _id: `d${number % 100}`, n: number % 10_000, title: `Title ${number}`, text: 'x'.repeat(300) };
  const raw = (value: object) => Buffer.from(BSON.serialize(value));
  return {
    ...LOG_ROW_DEFAULTS,
    number,
    epoch: 1,
    token: '',
    time: new Timestamp({ t: 1, i: number }),
    wall: new Date(0),
    operation: 'update',
    collection: 'todos',
    key: raw({ _id: document._id }),
    before: raw({ ...document, title: 'before' }),
    after: raw(document),
  };
}

/** CPU microseconds of a piece of work, including what it leaves for the end of the event loop's turn. */
async function cpu(work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  await turn();
  const used = process.cpuUsage(before);
  return used.user + used.system;
}

/** Sockets whose other ends a child process reads, so that only the writing is measured here. */
async function lines(): Promise<{ sockets: Socket[]; clients: WebSocket[]; close: () => void }> {
  const { spawn } = await import('node:child_process');
  const http = createHttpServer();
  const sockets: Socket[] = [];
  const clients: WebSocket[] = [];
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  server.on('connection', (client, request) => {
    clients.push(client);
    sockets.push(request.socket);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const program =
    `const { connect } = require('node:net');` +
    `for (let n = 0; n < ${SOCKETS}; n++) { const s = connect(${port}, '127.0.0.1');` +
    `s.write('GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n');` +
    `s.resume(); s.on('error', () => {}); }`;
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  while (clients.length < SOCKETS) await new Promise((resolve) => setTimeout(resolve, 10));
  return {
    sockets,
    clients,
    close: () => {
      child.kill();
      http.closeAllConnections();
      for (const client of clients) client.terminate();
      http.close();
    },
  };
}

/** Waits until the other side has read everything. That is not part of the measured time. */
const drained = async (sockets: readonly Socket[]) => {
  do await new Promise((resolve) => setTimeout(resolve, 2));
  while (sockets.some(({ writableLength }) => writableLength > 0));
};

async function fanOut(): Promise<void> {
  const { sockets, clients, close } = await lines();
  const turns = new FlushScheduler();
  const book = new SubscriptionGroupIndex();
  const response = live({});
  for (const socket of sockets) {
    const field: SubscriptionGroupMember = {
      id: 's1',
      queue: new SendQueue(socket, turns, account),
      after: 0,
      until: null,
      absent: null,
      reset: () => {},
      lag: () => {},
    };
    book.join(field, response, null);
  }
  let number = 1;
  const ours = async (burst: number) => {
    const batch = new LogRowBatch(book, console.error);
    await batch.judge(Array.from({ length: burst }, () => rowOf(++number)));
    batch.report();
  };
  /** The message that a simple implementation would send for a row. */
  const message = () => {
    const row = rowOf(++number);
    const { _id: documentId, ...fields } = BSON.deserialize(row.after ?? Buffer.alloc(0));
    const document = { id: documentId, ...fields };
    const reported = { type: 'change', id: 's1', op: 'update', documentId, document, changed: ['title'] };
    return { ...reported, event: `${row.epoch}-${row.number}`, at: row.wall.toISOString() };
  };
  const ways = {
    ours: () => ours(1),
    burst: () => ours(BURST),
    each: () => {
      const reported = message();
      for (const client of clients) client.send(JSON.stringify(reported));
    },
    shared: () => {
      const frame = encodeTextFrame([Buffer.from(JSON.stringify(message()))]);
      for (const socket of sockets) socket.write(frame);
    },
  };
  const names = ['ours', 'each', 'shared'] as const;
  const rounds: Record<keyof typeof ways, number>[] = [];
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const used = { ours: 0, each: 0, shared: 0, burst: 0 };
    const add = async (name: keyof typeof ways) => {
      used[name] += await cpu(ways[name]);
      await drained(sockets);
    };
    // Alternating, event by event: other work of the machine disturbs all ways equally.
    for (let event = 0; event < EVENTS; event++) {
      for (const name of names) await add(name);
      if (event % BURST === 0) await add('burst');
    }
    if (round >= ROUNDS) rounds.push(used);
  }
  close();
  const ratio = (of: (used: (typeof rounds)[number]) => number) => median(rounds.map(of)).toFixed(2);
  console.log(
    `fan-out to ${SOCKETS} sockets, CPU a delivery: ours ${ratio(({ ours }) => ours / (EVENTS * SOCKETS))} µs`,
  );
  console.log(`  of stringify and send for each client: ${ratio(({ ours, each }) => ours / each)} (target ≤ 0.6)`);
  console.log(`  of one shared frame written to all:    ${ratio(({ ours, shared }) => ours / shared)} (target ≤ 1.4)`);
  console.log(`  ten events in one write, of ten writes: ${ratio(({ ours, burst }) => burst / ours)} (target ≤ 0.4)`);
}

async function matching(name: string, queries: readonly object[], target: string): Promise<void> {
  const book = new SubscriptionGroupIndex();
  const queue = { push: () => {} } as unknown as SendQueue;
  for (const query of queries) {
    const response = live(query);
    const field: SubscriptionGroupMember = {
      id: 's',
      queue,
      after: 0,
      until: null,
      absent: null,
      reset: () => {},
      lag: () => {},
    };
    book.join(field, response, indexKeyOfFilter(response.query.filter));
  }
  let number = 1;
  let hits = 0;
  const times: number[] = [];
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const views = Array.from({ length: MATCH_EVENTS }, () => new LogRowView(rowOf(++number * 37)));
    // Decoded once for each event, however many subscriptions need it.
    for (const view of views) if (view.before === null || view.after === null) throw new Error('No document');
    const used = await cpu(() => {
      for (const view of views) {
        book.concerned(view, ({ live }) => {
          const { match } = (live as LiveQuery).query;
          if (match(view.before ?? {}) !== match(view.after ?? {})) hits += 1;
        });
      }
    });
    if (round >= ROUNDS) times.push(used / views.length);
  }
  console.log(
    `matching, ${queries.length} ${name}: ${median(times).toFixed(1)} µs an event (${target}; ${hits} moved)`,
  );
}

console.log(machine());
await fanOut();
const ten = 10_000;
await matching(
  'indexable',
  Array.from({ length: ten }, (_, n) => ({ filter: { n } })),
  '≤ 10 µs',
);
await matching(
  'mixed',
  Array.from({ length: ten }, (_, n) => {
    const filters = [
      { n },
      { title: `T${n}` },
      { n: { $gt: 10_000 + n } },
      { title: { $startsWith: `Q${n}` }, n: { $lt: n } },
    ];
    return { filter: filters[n % 4] };
  }),
  '≤ 500 µs',
);
process.exit(0);
