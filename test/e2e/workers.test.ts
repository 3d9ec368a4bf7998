/** Several processes behind one port, as `MILLRACE_WORKERS` starts them. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { testMongo } from '../helpers/mongo.ts';
import { startMillrace } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

/** Linux, proc(5). */
const childrenOf = (pid: number): number[] => {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
};
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

interface EventPage {
  readonly position: string;
  readonly events: readonly { readonly documentId: string }[];
}

function assertEventPage(page: unknown): asserts page is EventPage {
  if (page === null || typeof page !== 'object' || !('position' in page)) throw new TypeError(JSON.stringify(page));
}

/** A client with one connection, which its worker keeps. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The status of a response; null if the connection broke. */
  async send(method: string, path: string, body?: object): Promise<number | null> {
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json' };
      const sent = request(this.#url + path, { method, agent: this.#agent, headers }, (response) => {
        response.on('error', () => resolve(null)).on('end', () => resolve(response.statusCode ?? null));
        response.resume();
      });
      sent.on('error', () => resolve(null));
      sent.end(body && JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

t.test('a worker that is killed under load is replaced, and nothing acknowledged is lost', async (t) => {
  const { url: mongo, database } = await testMongo(t);
  const env = { MONGODB_URL: mongo, MILLRACE_DB: database, MILLRACE_WORKERS: '2' };
  const program = await startMillrace(t, { folder: t.testdir(), env });
  const pid = program.child.pid ?? 0;
  const readEvents = async (query: string): Promise<EventPage> => {
    const response = await fetch(`${program.url}/events${query}`);
    const page: unknown = await response.json();
    assertEventPage(page);
    return page;
  };
  await until(() => childrenOf(pid).length === 2, 'both workers run');
  t.equal(program.output().match(/is running/g)?.length, 1, 'one summary');
  const { position: since } = await readEvents('');
  const clients = Array.from({ length: 4 }, () => new Client(program.url));
  t.teardown(() => {
    for (const client of clients) client.close();
  });
  const acknowledged: string[] = [];
  let [isDone, broken] = [false, 0];
  const writing = clients.map(async (client, number) => {
    // Paced, so that the new worker gets the processor.
    for (let count = 0; !isDone; await pause(10), count++) {
      const id = `${number}-${count}`;
      const status = await client.send('POST', '/api/orders', { id });
      if (status === 201) acknowledged.push(id);
      else broken++;
    }
  });
  await until(() => acknowledged.length >= 40, 'writes are acknowledged');
  const [victim = 0, other = 0] = childrenOf(pid);
  process.kill(victim, 'SIGKILL');
  const before = acknowledged.length;
  await until(() => acknowledged.length > before, 'the other worker goes on');
  await until(() => childrenOf(pid).length === 2 && !isAlive(victim), 'a worker has replaced it');
  t.ok(childrenOf(pid).includes(other), 'the other one was left alone');
  await until(() => acknowledged.length >= before + 40, 'writes go on');
  isDone = true;
  await Promise.all(writing);
  t.ok(broken > 0, 'connections of the killed worker broke');
  t.match(program.output(), /Worker \d ended \(SIGKILL\) and starts again in \d+ ms/);

  const created: string[] = [];
  let position: string = since;
  await until(async () => {
    const page = await readEvents(`?since=${position}&types=orders.created&wait=1&limit=1000`);
    created.push(...page.events.map(({ documentId }) => documentId));
    position = page.position;
    return acknowledged.every((id) => created.includes(id));
  }, 'every acknowledged write has an event');
  t.equal(new Set(created).size, created.length, 'each once');

  const workers = childrenOf(pid);
  t.equal(await program.end('SIGTERM'), 0);
  t.notOk(workers.some(isAlive), 'workers end with the program');
});
