/**
 * The writers of the test: some through the servers, some directly to the database, over documents that change often.
 * Each state has a unique number. Acknowledged writes are recorded.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Random } from '../../helpers/random.ts';

export const TODOS = 'todos';
const IDS = Array.from({ length: 40 }, (_, index) => `d${index}`);
const RESPONSE_MS = 5_000;
/**
 * A lane rests this many times as long as its write took, and this long at most: on a slow machine the nemesis needs
 * longer, and the run would write several times as much, which makes the machine slower still.
 */
const SLOWED = 5;
const SLOWEST_MS = 1_000;

export interface WritersOptions {
  readonly folder: string;
  readonly data: Db;
  readonly servers: () => readonly string[];
  readonly random: Random;
  /** Writes per second of all lanes together. */
  readonly rate: number;
}

export class Writers {
  acknowledged = 0;
  unknown = 0;
  readonly #options: WritersOptions;
  readonly #file: number;
  readonly #lanes: readonly Promise<void>[];
  #next = 0;
  #ended = false;

  constructor(options: WritersOptions, lanes = 6) {
    this.#options = options;
    this.#file = openSync(`${options.folder}/acks.jsonl`, 'a');
    this.#lanes = Array.from({ length: lanes }, (_, lane) => this.#lane(lane, lanes));
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#lanes);
  }

  async #lane(lane: number, lanes: number): Promise<void> {
    while (!this.#ended) {
      const started = performance.now();
      try {
        // Half of the lanes bypass Millrace.
        const written = lane % 2 === 0 ? await this.#send(lane) : await this.#foreign();
        for (const w of written) writeSync(this.#file, `${w}\n`);
        this.acknowledged += written.length;
      } catch {
        this.unknown += 1;
        await pause(50);
      }
      const took = performance.now() - started;
      const due = (1_000 * lanes) / this.#options.rate - took;
      await pause(Math.max(0, due, Math.min(SLOWED * took, SLOWEST_MS)));
    }
  }

  /** A state with a unique number. */
  #state() {
    const { random } = this.#options;
    this.#next += 1;
    return { w: this.#next, n: random.below(100), team: random.pick(['red', 'blue']), secret: `s${this.#next}` };
  }

  async #send(lane: number): Promise<readonly number[]> {
    const { random, servers } = this.#options;
    const server = servers()[(lane / 2) % servers().length];
    const id = random.pick(IDS);
    const state = this.#state();
    const isDeletion = random.once(10);
    const response = await fetch(`${server}/api/${TODOS}/${id}${isDeletion ? '' : '?upsert=true'}`, {
      method: isDeletion ? 'DELETE' : 'PUT',
      headers: { 'content-type': 'application/json' },
      ...(isDeletion ? {} : { body: JSON.stringify(state) }),
      signal: AbortSignal.timeout(RESPONSE_MS),
    });
    await response.arrayBuffer();
    if (!response.ok && response.status !== 404) throw new Error(`Answered ${response.status}`);
    return isDeletion ? [] : [state.w];
  }

  async #foreign(): Promise<readonly number[]> {
    const { random, data } = this.#options;
    const todos = data.collection<{ _id: string }>(TODOS);
    const _id = random.pick(IDS);
    const [one, other] = [this.#state(), this.#state()];
    switch (random.below(10)) {
      case 0:
        await todos.deleteOne({ _id }, { maxTimeMS: RESPONSE_MS });
        return [];
      case 1:
        await data.client.withSession((session) =>
          session.withTransaction(async () => {
            await todos.updateOne({ _id }, { $set: one }, { upsert: true, session });
            await todos.updateOne({ _id: random.pick(IDS) }, { $set: other }, { upsert: true, session });
            await data.collection('others').insertOne({ w: one.w }, { session });
          }),
        );
        return [one.w, other.w];
      default:
        await todos.updateOne({ _id }, { $set: one }, { upsert: true });
        return [one.w];
    }
  }
}
