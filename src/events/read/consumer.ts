/**
 * A consumer: a named durable reader of the log with a cursor. It works in one process at a time. It writes its outputs
 * first, under ids made from the event, and moves its cursor afterwards, by compare-and-set. When a process dies in
 * between, the second try finds the outputs. A row that keeps failing becomes a dead letter and can be replayed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Collection, Db } from 'mongodb';
import type { EventLog } from '../log/event-log.ts';
import type { LogRow } from '../log/log-row.ts';
import type { LogTail } from '../log/log-tail.ts';
import { formatPosition, type LogPosition } from '../log/position.ts';
import { backoffDelayMs, classifyError } from '../log/recorder-errors.ts';
import type { WriteServerLog } from '../log/server-log-forwarder.ts';

const BATCH_ROWS = 200;
/** How often a process that must not consume checks again, in milliseconds; it needs no database command. */
const ALLOWED_POLL_MS = 250;
/** How many unrelated rows may pass before the cursor is stored. */
const PASSED_MS = 1000;

interface Cursor extends LogPosition {
  readonly _id: string;
}

export interface DeadLetter extends LogPosition {
  readonly _id: string;
  readonly consumer: string;
  readonly error: string;
  readonly at: Date;
}

export interface ConsumerOptions {
  readonly name: string;
  readonly log: EventLog;
  readonly tail: LogTail;
  /**
   * Processes rows, in order; may be called again for the same rows. The ids of outputs are `consumerOutputId`s.
   * `allowed` returns whether this process is still the consuming one; call it right before an effect, because the
   * process may have been frozen.
   */
  readonly handle: (rows: readonly LogRow[], allowed: () => boolean) => Promise<void>;
  /**
   * Called whenever this process starts to consume, and when it did not receive the rows before the next ones: another
   * process has moved the cursor, or retention has deleted them.
   */
  readonly begin?: (cursor: LogPosition) => Promise<void>;
  /** Whether a row concerns the consumer; pure and cheap. Other rows only move the cursor. If absent, all rows do. */
  readonly concerns?: (row: LogRow) => boolean;
  /**
   * Whether this process may consume: it holds the recorder's lease. This only saves work: two processes that consume
   * at once produce the same result as one.
   */
  readonly allowed: () => boolean;
  /** How often a single row is tried before it becomes a dead letter. */
  readonly attempts?: number;
  readonly onLog?: WriteServerLog;
}

/** The id of a consumer's output for an event: the same on every attempt. */
export function consumerOutputId(consumer: string, row: LogPosition, target?: string): string {
  return `${consumer}:${formatPosition(row)}${target === undefined ? '' : `:${target}`}`;
}

export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #cursors: Collection<Cursor>;
  readonly #deadLetters: Collection<DeadLetter>;
  readonly #end = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #detach: () => void = () => {};
  #wake: () => void = () => {};
  /** The stored cursor. The cursor in memory may be ahead of it, by rows that do not concern the consumer. */
  #stored: LogPosition = { epoch: 0, number: 0 };
  #storedAt = 0;

  constructor(options: ConsumerOptions) {
    const db: Db = options.log.db;
    this.#options = options;
    this.#cursors = db.collection('consumers');
    this.#deadLetters = db.collection('dead_letters');
  }

  /** Starts reading after the cursor, or from now on if there is none yet. */
  start(): void {
    this.#detach = this.#options.tail.attach({ rows: () => this.#wake() });
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#detach();
    this.#end.abort();
    this.#wake();
    await this.#loop;
  }

  /** The consumer's progress, in any process; null before its first start. */
  async cursor(): Promise<LogPosition | null> {
    return await this.#cursors.findOne({ _id: this.#options.name });
  }

  /** The dead letters, oldest first. */
  async deadLetters(limit = 100): Promise<DeadLetter[]> {
    return await this.#deadLetters.find({ consumer: this.#options.name }).sort({ at: 1 }).limit(limit).toArray();
  }

  /** Tries a dead letter again; false when there is none of this id or its row is gone. Throws what the work throws. */
  async replay(id: string): Promise<boolean> {
    const email = await this.#deadLetters.findOne({ _id: id, consumer: this.#options.name });
    const [row] = email === null ? [] : await this.#options.log.read(email.number - 1, 1);
    if (row === undefined || row.number !== email?.number || row.epoch !== email.epoch) return false;
    await this.#options.handle([row], () => true);
    await this.#deadLetters.deleteOne({ _id: id });
    return true;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (!this.#options.allowed()) await pause(ALLOWED_POLL_MS, undefined, { signal });
        else await this.#consume();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#options.onLog?.('warn', `Consumer '${this.#options.name}' continues after an error`, {
          error: String(error),
        });
        const wait = backoffDelayMs(classifyError(error), failures, Math.random());
        failures += 1;
        await pause(wait, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Consumes until this process must stop, or until the next rows do not follow those that it received. */
  async #consume(): Promise<void> {
    let cursor = await this.#opened();
    await this.#options.begin?.(cursor);
    const { tail } = this.#options;
    while (this.#allowed()) {
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const rows = await tail.read(cursor.number, BATCH_ROWS);
      const next = await this.#fit(cursor, rows);
      if (next !== null) {
        await this.#move(next);
        return;
      }
      const last: LogPosition = rows.at(-1) ?? cursor;
      const mine = rows.filter(this.#options.concerns ?? (() => true));
      if (rows.length === 0) await Promise.race([news, pause(PASSED_MS)]);
      if (mine.length > 0) await this.#work(mine);
      cursor = mine.length > 0 ? await this.#move(last) : await this.#pass(last);
      if (cursor.number !== last.number || cursor.epoch !== last.epoch) return;
    }
  }

  #allowed(): boolean {
    return this.#options.allowed() && !this.#end.signal.aborted;
  }

  /**
   * Moves the cursor over rows without outputs. It is stored only now and then, so few rows are read twice after a
   * restart.
   */
  async #pass(to: LogPosition): Promise<LogPosition> {
    const here = to.number === this.#stored.number && to.epoch === this.#stored.epoch;
    if (here || performance.now() - this.#storedAt < PASSED_MS) return { epoch: to.epoch, number: to.number };
    return await this.#move(to);
  }

  async #opened(): Promise<LogPosition> {
    const { name, tail } = this.#options;
    const cursor = await this.#cursors.findOneAndUpdate(
      { _id: name },
      { $setOnInsert: { ...tail.position } },
      { upsert: true, returnDocument: 'after', writeConcern: { w: 'majority' } },
    );
    this.#stored = cursor ?? tail.position;
    this.#storedAt = performance.now();
    return this.#stored;
  }

  /** Where to continue if the rows do not follow the cursor: after a new history, or rows that retention deleted. */
  async #fit(cursor: LogPosition, rows: readonly LogRow[]): Promise<LogPosition | null> {
    const { log, tail, name, onLog } = this.#options;
    const first = rows[0];
    const newer = (first?.epoch ?? tail.position.epoch) > cursor.epoch;
    if (newer && !(first?.operation === 'gap' && first.number === cursor.number + 1)) {
      const gap = await log.firstAbove(cursor.epoch);
      if (gap !== null && gap.number <= cursor.number) return { epoch: gap.epoch, number: gap.number - 1 };
    }
    if (first === undefined || first.number === cursor.number + 1) return null;
    onLog?.('error', `Consumer '${name}' lost rows: they were deleted before it read them`, {
      from: cursor.number + 1,
      to: first.number - 1,
    });
    const issue = `Rows ${cursor.number + 1} to ${first.number - 1} were deleted before they were read`;
    await this.#setAside({ epoch: first.epoch, number: cursor.number + 1 }, issue);
    return { epoch: first.epoch, number: first.number - 1 };
  }

  async #work(rows: readonly LogRow[]): Promise<void> {
    const allowed = () => this.#allowed();
    try {
      await this.#options.handle(rows, allowed);
    } catch (error) {
      if (classifyError(error) === 'away' || !allowed()) throw error;
      for (const row of rows) await this.#single(row, allowed);
    }
  }

  async #single(row: LogRow, allowed: () => boolean): Promise<void> {
    const attempts = this.#options.attempts ?? 5;
    for (let count = 1; ; count += 1) {
      try {
        await this.#options.handle([row], allowed);
        return;
      } catch (error) {
        if (classifyError(error) === 'away' || !allowed()) throw error;
        if (count >= attempts) {
          this.#options.onLog?.(
            'error',
            `Consumer '${this.#options.name}' could not handle an event and moved it to the dead letters`,
            {
              position: formatPosition(row),
              error: String(error),
            },
          );
          await this.#setAside(row, String(error));
          return;
        }
        await pause(backoffDelayMs('unknown', count - 1, Math.random()), undefined, { signal: this.#end.signal });
      }
    }
  }

  async #setAside(position: LogPosition, error: string): Promise<void> {
    const { name } = this.#options;
    const email = { consumer: name, epoch: position.epoch, number: position.number, error, at: new Date() };
    await this.#deadLetters.updateOne({ _id: consumerOutputId(name, position) }, { $set: email }, { upsert: true });
  }

  async #move(to: LogPosition): Promise<LogPosition> {
    const { name } = this.#options;
    const from = this.#stored;
    const position = { epoch: to.epoch, number: to.number };
    const moved = await this.#cursors.updateOne(
      { _id: name, epoch: from.epoch, number: from.number },
      { $set: position },
      { writeConcern: { w: 'majority' } },
    );
    if (moved.matchedCount !== 1) return await this.#opened();
    this.#stored = position;
    this.#storedAt = performance.now();
    return position;
  }
}
