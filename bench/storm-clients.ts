/**
 * The child program that holds the clients of reconnect-storm.ts. It executes one command at a time. Snapshots are
 * recognized by their hash and parsed once, so that a thousand clients do not need a thousand times the work.
 */
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LiveSocket } from './live-socket.ts';

export type StormCommand =
  | { readonly do: 'open'; readonly base: string; readonly lists: number; readonly count: number }
  /** All connections break at once, and all clients come back at once. */
  | { readonly do: 'storm'; readonly isResuming: boolean; readonly limitMs: number }
  | { readonly do: 'check'; readonly expected: readonly (readonly (readonly [id: string, n: number])[])[] };

export interface StormReport {
  readonly live: number;
  /** Until the last client was live, in milliseconds. */
  readonly ms: number;
  readonly closes: Readonly<Record<string, number>>;
  readonly resets: Readonly<Record<string, number>>;
  readonly issues: readonly string[];
}

interface Frame {
  readonly type: string;
  readonly from?: string;
  readonly op?: string;
  readonly documentId?: string;
  readonly document?: { readonly id: string; readonly n: number };
  readonly documents?: readonly { readonly id: string; readonly n: number }[];
  readonly event?: string;
  readonly position?: string;
  readonly reason?: string;
  readonly problem?: object;
}

interface Part {
  readonly documents: readonly (readonly [id: string, n: number])[];
  readonly position: string | undefined;
}

/** How many clients are opened concurrently at the beginning. */
const AT_ONCE = 50;
/** How long a refused client waits. */
const AGAIN_MS = 500;

const parts = new Map<string, Part>();

function partOf(json: Buffer): Part {
  const key = hash('sha1', json, 'base64');
  const known = parts.get(key);
  if (known !== undefined) return known;
  const { documents = [], position }: Frame = JSON.parse(json.toString());
  const part = { documents: documents.map(({ id, n }) => [id, n] as const), position };
  parts.set(key, part);
  return part;
}

let closes: Record<string, number> = {};
let resets: Record<string, number> = {};
let issues: string[] = [];

const SNAPSHOT = Buffer.from('{"type":"snapshot"');

class StormClient {
  readonly #base: string;
  readonly list: number;
  #socket: LiveSocket | null = null;
  #snapshot: Part[] = [];
  readonly #changes = new Map<string, number | null>();
  #position: string | undefined;
  live = false;

  constructor(base: string, list: number) {
    this.#base = base;
    this.list = list;
  }

  async open(): Promise<void> {
    try {
      const socket = await LiveSocket.open(this.#base);
      this.#socket = socket;
      socket.onMessage = (json) => this.#take(json, socket);
      socket.onClose = (code) => {
        if (this.#socket === socket) this.#comeBack(String(code));
      };
      socket.send({ type: 'hello' });
      const since = this.#position === undefined ? {} : { since: this.#position };
      socket.send({ type: 'subscribe', id: 's', collection: `list${this.list}`, query: {}, ...since });
    } catch (error) {
      this.#comeBack(String(error));
    }
  }

  /** @param isResuming whether it remembers its position */
  drop(isResuming: boolean): void {
    this.live = false;
    if (!isResuming) this.#position = undefined;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  get documents(): Map<string, number> {
    const found = new Map(this.#snapshot.flatMap(({ documents }) => documents));
    for (const [id, n] of this.#changes) {
      if (n === null) found.delete(id);
      else found.set(id, n);
    }
    return found;
  }

  #comeBack(code: string): void {
    this.live = false;
    this.#position = undefined;
    closes[code] = (closes[code] ?? 0) + 1;
    void pause(AGAIN_MS).then(() => this.open());
  }

  #take(json: Buffer, socket: LiveSocket): void {
    if (json.subarray(0, SNAPSHOT.length).equals(SNAPSHOT)) {
      const part = partOf(json);
      this.#snapshot.push(part);
      this.#position = part.position ?? this.#position;
      return;
    }
    const frame: Frame = JSON.parse(json.toString());
    switch (frame.type) {
      case 'subscribed':
        if (frame.from === 'snapshot') this.#forget();
        return;
      case 'change':
        this.#position = frame.event;
        this.#changes.set(frame.documentId ?? '', frame.op === 'leave' ? null : (frame.document?.n ?? null));
        return;
      case 'reset':
        this.live = false;
        resets[frame.reason ?? ''] = (resets[frame.reason ?? ''] ?? 0) + 1;
        this.#forget();
        return;
      case 'live':
        this.#position = frame.position;
        this.live = true;
        return;
      case 'ping':
        socket.send({ type: 'pong' });
        return;
      case 'unsubscribed':
        issues.push(JSON.stringify(frame.problem));
        socket.close();
        return;
      case 'transaction':
      case 'error':
        issues.push(json.toString('utf8', 0, 200));
    }
  }

  #forget(): void {
    this.#snapshot = [];
    this.#changes.clear();
  }
}

let clients: StormClient[] = [];

async function whenLive(begun: number, limitMs: number): Promise<StormReport> {
  while (clients.some(({ live }) => !live) && performance.now() - begun < limitMs) await pause(5);
  const report = {
    live: clients.filter(({ live }) => live).length,
    ms: performance.now() - begun,
    ...{ closes, resets, issues: issues.slice(0, 5) },
  };
  closes = {};
  resets = {};
  issues = [];
  return report;
}

async function execute(command: StormCommand): Promise<unknown> {
  const begun = performance.now();
  switch (command.do) {
    case 'open': {
      const { base, lists, count } = command;
      clients = Array.from({ length: count }, (_, n) => new StormClient(base, n % lists));
      for (let at = 0; at < count; at += AT_ONCE)
        await Promise.all(clients.slice(at, at + AT_ONCE).map((client) => client.open()));
      return await whenLive(begun, 60_000);
    }
    case 'storm':
      for (const client of clients) client.drop(command.isResuming);
      for (const client of clients) void client.open();
      return await whenLive(begun, command.limitMs);
    case 'check': {
      const lists = command.expected.map((documents) => new Map(documents));
      const isExact = ({ list, documents }: StormClient) =>
        documents.size === lists[list]?.size && [...documents].every(([id, n]) => lists[list]?.get(id) === n);
      return clients.filter((client) => !isExact(client)).length;
    }
  }
}

process.on('message', (command: StormCommand) => {
  execute(command).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
