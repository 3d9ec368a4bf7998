/**
 * Anonymous attackers with ten sockets, and as many requests as they can send, who make the server read its log from
 * the beginning over and over: without rights they are rejected before anything is read, with rights they get their
 * share and no more. An honest client continues exactly, and the process stays small. MILLRACE_LONG=1 attacks with a
 * longer log and for longer.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { WebSocket } from 'ws';
import { type Attacked, startAttacked } from '../../helpers/programs/neighbour.ts';
import { runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';

const MIB = 1024 * 1024;
const MOST_BYTES = 300 * MIB;
/** A machine under load delays everything; the cost of the attacks on a quiet one is in the comments. Before: 46 s. */
const MOST_WAIT_MS = 4_000;
const SOCKETS = 10;
const SUBSCRIPTIONS = runCount(80, 100);
const DOCUMENTS = runCount(1_000, 4_000);
const DOCUMENT_BYTES = 20_000;
const FIRST = '1-1';

/** Writes a log to read; with MILLRACE_LONG=1 more than the newest rows that are cached in memory. */
async function fill({ data, request }: Attacked): Promise<void> {
  for (let n = 0; n < DOCUMENTS; n += 500) {
    const many = Array.from({ length: 500 }, () => ({ text: randomBytes(DOCUMENT_BYTES / 2).toString('hex') }));
    await data.collection<object>('large').insertMany(many);
  }
  const position = async () => {
    const { position } = (await (await request('GET', '/events')).json()) as { position: string };
    return Number(position.split('-')[1]);
  };
  await until(async () => (await position()) > DOCUMENTS, 'all is recorded', 60_000);
}

/** Subscribes to everything from the beginning, again and again, in every way that reads the log. */
async function attack({ open, program }: Attacked, responses: Map<string, number>): Promise<void> {
  const count = (what: string) => responses.set(what, (responses.get(what) ?? 0) + 1);
  const lines = await Promise.all(Array.from({ length: SOCKETS }, () => open()));
  for (const line of lines) line.on('message', (frame) => count(outcomeOf(String(frame))));
  const request = async (path: string) => count(`HTTP ${(await fetch(program.url + path)).status}`);
  const requested: Promise<unknown>[] = [];
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    for (const line of lines) send(line, { type: 'subscribe', id: `s${n}`, events: ['*'], since: FIRST });
    requested.push(request(`/events?since=${FIRST}`), request(`/api/calm/_changes?since=${FIRST}&limit=1000`));
    await pause(25);
  }
  await Promise.all(requested);
  await pause(2_000);
  for (const line of lines) line.terminate();
}

function send(line: WebSocket, message: object): void {
  if (line.readyState === 1) line.send(JSON.stringify(message));
}

function outcomeOf(frame: string): string {
  const { type, problem } = JSON.parse(frame) as { type: string; problem?: { code: string } };
  return problem?.code ?? type;
}

async function suffer(t: Test, attacked: Attacked): Promise<Map<string, number>> {
  const responses = new Map<string, number>();
  let worstGetMs = 0;
  const figures = await attacked.during(async () => {
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        const start = performance.now();
        await attacked.request('GET', '/api/calm?limit=1');
        worstGetMs = Math.max(worstGetMs, performance.now() - start);
        await pause(20);
      }
    })();
    await attack(attacked, responses);
    isOver = true;
    await reading;
  });
  const { memory, worstWaitMs, probes, issues } = figures;
  t.comment(
    `${Math.round(memory / MIB)} MiB above rest; worst wait for a change ${Math.round(worstWaitMs)} ms of ${probes}, ` +
      `for a GET ${Math.round(worstGetMs)} ms; ${JSON.stringify([...responses])}`,
  );
  t.ok(memory < MOST_BYTES, 'the process stays small');
  t.ok(worstWaitMs < MOST_WAIT_MS, 'the neighbor receives changes in time');
  t.ok(worstGetMs < MOST_WAIT_MS, 'and responses in time');
  t.strictSame(issues, [], 'and its result is exact');
  return responses;
}

t.setTimeout(400_000);
t.test('anonymous clients without rights', { timeout: 180_000 }, async (t) => {
  const attacked = await startAttacked(t);
  await fill(attacked);
  const { policies } = (await (await attacked.request('GET', '/admin/policies')).json()) as {
    policies: { id: string }[];
  };
  for (const { id } of policies) await attacked.request('DELETE', `/admin/policies/${id}`);
  const responses = await suffer(t, attacked);
  t.ok((responses.get('not-authenticated') ?? 0) > 0, 'they are rejected');
  t.strictSame(
    [...responses.keys()].filter(
      (name) => !/^(welcome|ping|not-authenticated|rate-limited|HTTP 401|HTTP 429)$/.test(name),
    ),
    [],
    'and get nothing else',
  );
});

t.test('anonymous clients with all rights', { timeout: 180_000 }, async (t) => {
  const attacked = await startAttacked(t);
  await fill(attacked);
  const responses = await suffer(t, attacked);
  t.ok((responses.get('rate-limited') ?? 0) > 0, 'they request more than they get');
});
