/**
 * The writers of the torture test: some through the servers, some directly to the database, alone, in bulk and in
 * transactions, over few documents that change often. Each written state has a unique number, and the acknowledged ones
 * are recorded.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Document, MongoClient } from 'mongodb';
import type { Random } from '../../helpers/random.ts';
import { BOARD, GROUPS, ORDERS } from './questions.ts';

const RESPONSE_MS = 5_000;
const BOARD_IDS = Array.from({ length: 160 }, (_, index) => `b${index}`);
const ORDER_IDS = Array.from({ length: 20 }, (_, index) => `o${index}`);
const SHELF_IDS = Array.from({ length: 12 }, (_, index) => `s${index}`);

interface Stored extends Document {
  _id: string;
}

type Body = Readonly<Record<string, unknown>>;

export interface WriterOptions {
  readonly client: MongoClient;
  readonly database: string;
  readonly servers: () => readonly string[];
  readonly random: Random;
  /** Writes per second of all lanes together. */
  readonly rate: number;
}

export class LiveWriter {
  /** The numbers of acknowledged states. */
  readonly acknowledged = new Set<number>();
  /** Acknowledged writes, deletions too. */
  writes = 0;
  /** Writes whose result is unknown. */
  unknown = 0;
  readonly #options: WriterOptions;
  readonly #lanes: readonly Promise<void>[];
  #ended = false;
  #next = 0;

  constructor(options: WriterOptions, lanes = 4) {
    this.#options = options;
    this.#lanes = Array.from({ length: lanes }, () => this.#lane(lanes));
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#lanes);
  }

  async #lane(lanes: number): Promise<void> {
    while (!this.#ended) {
      const started = performance.now();
      let count = 1;
      try {
        count = await this.#write();
        this.writes += count;
      } catch {
        this.unknown += 1;
        await pause(50);
      }
      const due = (1_000 * lanes * count) / this.#options.rate - (performance.now() - started);
      if (due > 0) await pause(due);
    }
  }

  /** Writes once, in a random way; returns the number of documents. */
  async #write(): Promise<number> {
    const { random } = this.#options;
    const id = random.once(120) ? random.pick(SHELF_IDS) : random.pick(BOARD_IDS);
    const [state] = this.#states(id);
    const board = this.#collection(BOARD);
    switch (random.below(10)) {
      case 0:
      case 1:
        await this.#send('PUT', `/api/${BOARD}/${id}?upsert=true`, state);
        break;
      case 2:
        await this.#send('PATCH', `/api/${BOARD}/${id}`, state);
        break;
      case 3:
        await this.#send('DELETE', `/api/${BOARD}/${random.pick(BOARD_IDS)}`, null);
        return 1;
      case 4:
        return await this.#batch();
      case 5:
        await board.deleteOne({ _id: random.pick(BOARD_IDS) });
        return 1;
      case 6:
        return await this.#transact();
      case 7:
        return await this.#bulk();
      default:
        await board.updateOne({ _id: id }, { $set: state }, { upsert: true });
    }
    this.#note([state]);
    return 1;
  }

  /** Bodies of documents, each with the next number. */
  #states(...ids: readonly string[]): [Body, ...Body[]] {
    const { random } = this.#options;
    const [first, ...rest] = ids.map((id) => {
      this.#next += 1;
      const state = { group: random.below(GROUPS), v: random.below(100), w: this.#next };
      return id.startsWith('s') ? { ...state, shelf: true } : state;
    });
    return [first ?? {}, ...rest];
  }

  #ids(count: number): readonly string[] {
    const { random } = this.#options;
    return [...new Set(Array.from({ length: count }, () => random.pick(BOARD_IDS)))];
  }

  async #bulk(): Promise<number> {
    const ids = this.#ids(6);
    const states = this.#states(...ids);
    const operations = ids.map((_id, index) => {
      return { updateOne: { filter: { _id }, update: { $set: states[index] ?? {} }, upsert: true } };
    });
    await this.#collection(BOARD).bulkWrite(operations, { ordered: false });
    this.#note(states);
    return ids.length;
  }

  async #transact(): Promise<number> {
    const { client, random } = this.#options;
    const [order, ...ids] = [random.pick(ORDER_IDS), ...this.#ids(4)];
    const [ordered, ...states] = this.#states(order, ...ids);
    const away = random.once(3);
    await client.withSession((session) =>
      session.withTransaction(
        async () => {
          for (const [index, _id] of ids.entries()) {
            await this.#collection(BOARD).updateOne({ _id }, { $set: states[index] ?? {} }, { session, upsert: true });
          }
          if (away) await this.#collection(ORDERS).deleteOne({ _id: order }, { session });
          else await this.#collection(ORDERS).updateOne({ _id: order }, { $set: ordered }, { session, upsert: true });
        },
        { timeoutMS: RESPONSE_MS },
      ),
    );
    this.#note(away ? states : [ordered, ...states]);
    return ids.length + 1;
  }

  /** Several operations that a server does in one transaction. */
  async #batch(): Promise<number> {
    const ids = this.#ids(3);
    const states = this.#states(...ids);
    const operations = ids.map((id, index) => {
      return { method: 'PUT', path: `/api/${BOARD}/${id}?upsert=true`, body: states[index] };
    });
    await this.#send('POST', '/batch', { operations });
    this.#note(states);
    return ids.length;
  }

  /** Sends a request to one of the servers. Throws if it failed or its result is unknown. */
  async #send(method: string, path: string, body: object | null): Promise<void> {
    const server = this.#options.random.pick(this.#options.servers());
    const response = await fetch(`${server}${path}`, {
      method,
      signal: AbortSignal.timeout(RESPONSE_MS),
      ...(body === null ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`);
  }

  #note(states: readonly Body[]): void {
    for (const { w } of states) this.acknowledged.add(Number(w));
  }

  #collection(name: string) {
    return this.#options.client.db(this.#options.database).collection<Stored>(name);
  }
}
