/**
 * The recorder: reads the change stream of the data database and appends its changes as rows, as long as it holds the
 * lease. Every row has the resume token of its change, so there is no separate cursor that could differ from the log. A
 * second recorder that wakes up late finds its numbers used.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Timestamp } from 'mongodb';
import { CHANGE_STREAM_TIMEOUT_MS } from '../../database/cursors/change-stream.ts';
import type { Lease, LeaseState } from '../../database/lease.ts';
import { type EventLog, UnusableLog } from '../log/event-log.ts';
import type { LogRow } from '../log/log-row.ts';
import type { LogPosition } from '../log/position.ts';
import { backoffDelayMs, classifyError, type ErrorClass } from '../log/recorder-errors.ts';
import type { WriteServerLog } from '../log/server-log-forwarder.ts';
import { logGapRecovery, readReplicaSetId } from './log-gap.ts';
import { recordChanges, type StreamStartOptions } from './recorder-run.ts';

const LEASE_POLL_MS = 250;
const STOP_MS = 300;
/**
 * How long no recording process may be known before recording counts as ended, in milliseconds; a takeover takes five
 * seconds.
 */
const PATIENCE_MS = 15_000;

/** How long an empty reply of the stream counts as up to date, in milliseconds: one comes every 1,000, perhaps late. */
const UP_TO_DATE_MS = 1_250;

export interface RecorderOptions {
  readonly data: Db;
  readonly log: EventLog;
  readonly lease: Lease;
  /** Called with rows, in order, once a majority has acknowledged them. */
  readonly onRows?: (rows: readonly LogRow[]) => void;
  readonly onLog?: WriteServerLog;
  /** Called once when the database denies recording and an operator has to act. */
  readonly onRefused?: (error: unknown) => void;
  /** The highest position that this process has received: a log that ends below it was restored to an older state. */
  readonly known?: () => LogPosition | null;
  /** Called when recording starts after the newest row, and when it ends. */
  readonly onRecording?: (recording: boolean) => void;
  readonly markMs?: number;
  readonly imagesMs?: number;
  readonly responseMs?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

export interface RecorderState {
  readonly status: 'standby' | 'recording' | 'failing' | 'stopped';
  /** The newest row that this recorder knows. */
  readonly newest: LogPosition | null;
  /** When the last reply of the stream arrived, as epoch milliseconds; null before the first one. */
  readonly heardAt: number | null;
  readonly error: string | null;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #end = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #approach: StreamStartOptions;
  #failures = 0;
  /** When the last empty reply arrived, after all earlier changes had been passed on. */
  #upToDateAt = Number.NEGATIVE_INFINITY;
  /** When this recorder last wrote a row, got an empty reply, or learned that another recorder holds the lease. */
  #fineAt = 0;
  #state: RecorderState = { status: 'stopped', newest: null, heardAt: null, error: null };

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#approach = this.#usual();
  }

  get state(): RecorderState {
    return this.#state;
  }

  /** Whether changes are being recorded, here or elsewhere, as far as this process knows without a query. */
  get working(): boolean {
    return this.#state.status !== 'stopped' && this.#now() - this.#fineAt < PATIENCE_MS;
  }

  /** Whether the stream has just returned an empty reply; it returns one every second while nothing changes. */
  get upToDate(): boolean {
    return this.#state.status === 'recording' && this.#now() - this.#upToDateAt < UP_TO_DATE_MS;
  }

  /**
   * Whether every change up to a cluster time has been recorded and passed to the readers of this process. False if
   * this process does not record.
   */
  hasPassed(time: Timestamp): boolean {
    const token = this.#approach.seen?.token ?? '';
    return this.#state.status === 'recording' && token >= firstToken(time);
  }

  #now(): number {
    return (this.#options.now ?? performance.now.bind(performance))();
  }

  /** The process that records now, in the whole deployment. */
  async holder(): Promise<LeaseState | null> {
    return await this.#options.lease.state();
  }

  start(): void {
    this.#fineAt = this.#now();
    this.#state = { ...this.#state, status: 'standby' };
    this.#loop = this.#run();
  }

  /** Stops recording and releases the lease at once, so that another recorder continues. */
  async stop(): Promise<void> {
    this.#end.abort();
    await Promise.race([this.#loop, pause(STOP_MS)]);
    await this.#options.lease.release().catch(() => {});
    this.#state = { ...this.#state, status: 'stopped' };
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (!(await this.#options.lease.acquire())) {
          this.#fineAt = this.#now();
          this.#state = { ...this.#state, status: 'standby' };
          this.#options.onRecording?.(false);
          await pause(LEASE_POLL_MS * (0.8 + Math.random() * 0.4), undefined, { signal });
          continue;
        }
        await this.#record();
      } catch (error) {
        if (signal.aborted) return;
        if (!(await this.#recover(error))) return;
      }
    }
  }

  async #record(): Promise<void> {
    const { data, log, lease, onRows, onLog, known, onRecording } = this.#options;
    await log.open();
    const newest = await log.newest();
    const origin = await readReplicaSetId(data);
    if (newest === null) {
      await this.#begin(origin);
      return;
    }
    const recorded = await log.origin();
    const last = known?.() ?? null;
    const foreign = origin !== null && recorded !== null && recorded !== origin;
    if (foreign || (last !== null && (last.epoch > newest.epoch || last.number > newest.number))) {
      const epoch = Math.max(newest.epoch, last?.epoch ?? 0);
      await this.#break(
        { ...newest, epoch },
        foreign ? 'written on another replica set' : 'restored to an older state',
      );
      return;
    }
    if (recorded === null && origin !== null) await log.setOrigin(origin);
    this.#state = { ...this.#state, status: 'recording', newest: { number: newest.number, epoch: newest.epoch } };
    onRecording?.(true);
    this.#approach = await recordChanges({
      data,
      log,
      newest,
      approach: this.#approach,
      markMs: this.#options.markMs ?? 10_000,
      imagesMs: this.#options.imagesMs ?? 10_000,
      responseMs: this.#options.responseMs ?? CHANGE_STREAM_TIMEOUT_MS,
      allowed: () => lease.held() && !this.#end.signal.aborted,
      signal: this.#end.signal,
      onRows: (rows) => {
        this.#failures = 0;
        this.#fineAt = this.#now();
        const row = rows.at(-1);
        if (row) this.#state = { ...this.#state, newest: { number: row.number, epoch: row.epoch }, error: null };
        onRows?.(rows);
      },
      onReply: (empty) => {
        if (empty) {
          this.#failures = 0;
          this.#fineAt = this.#now();
          this.#upToDateAt = this.#now();
        }
        this.#state = { ...this.#state, status: 'recording', heardAt: Date.now(), error: null };
      },
      onApproach: (approach) => {
        this.#approach = approach;
      },
      onLog,
    });
  }

  #usual(): StreamStartOptions {
    return {
      kind: 'normal',
      seen: null,
      big: new Set(),
      responseMs: this.#options.responseMs ?? CHANGE_STREAM_TIMEOUT_MS,
    };
  }

  async #begin(origin: string | null): Promise<void> {
    const { data, log } = this.#options;
    const above = await logGapRecovery.former(data);
    await log.begin(await logGapRecovery.start(data, this.#end.signal), above);
    if (origin !== null) await log.setOrigin(origin);
  }

  async #break(newest: LogRow, reason: string): Promise<void> {
    const { data, log, onLog, onRows, lease } = this.#options;
    const epoch = await log.nextEpoch(newest.epoch);
    onLog?.('error', 'The event log has a gap: a new epoch starts', { reason, epoch });
    const rows = await logGapRecovery.rows(data, newest, epoch, this.#end.signal);
    await log.append(
      rows,
      () => lease.held(),
      (written) => onRows?.(written),
    );
    const origin = await readReplicaSetId(data);
    if (origin !== null) await log.setOrigin(origin);
    this.#approach = this.#usual();
  }

  /** Chooses how to continue after an error; false if an operator has to act. */
  async #recover(error: unknown): Promise<boolean> {
    const verdict: ErrorClass = classifyError(error);
    const issue = error instanceof Error ? error.message : String(error);
    if (verdict === 'refused') {
      this.#options.onLog?.('error', 'Recording has stopped: the database rejects it', { error: issue });
      await this.#options.lease.release().catch(() => {});
      this.#options.onRecording?.(false);
      this.#state = { ...this.#state, status: 'stopped', error: issue };
      this.#options.onRefused?.(error);
      return false;
    }
    try {
      await this.#turn(verdict);
    } catch (next) {
      if (next instanceof UnusableLog || classifyError(next) === 'refused') return await this.#recover(next);
    }
    if (verdict !== 'behind') {
      this.#state = { ...this.#state, status: 'failing', error: issue };
      this.#options.onLog?.('warn', 'Recording continues after an error', { verdict, error: issue });
    }
    const wait = backoffDelayMs(verdict, this.#failures, Math.random());
    this.#failures += 1;
    await pause(wait, undefined, { signal: this.#end.signal }).catch(() => {});
    return true;
  }

  async #turn(verdict: ErrorClass): Promise<void> {
    const { kind } = this.#approach;
    const lost = verdict === 'history-lost' || (verdict === 'token-unknown' && kind === 'by-time');
    if (lost) {
      const newest = await this.#options.log.newest();
      if (newest !== null) await this.#break(newest, 'the oplog does not reach back to the newest row');
    } else if (verdict === 'token-unknown') {
      this.#approach = { ...this.#approach, kind: 'by-time', seen: null };
    } else if (verdict === 'too-large') {
      this.#approach = { ...this.#approach, kind: kind === 'single' ? 'bodiless' : 'single' };
    }
  }
}

/** The prefix of every resume token of a cluster time: the type of its first value, then the time. */
function firstToken({ high, low }: Timestamp): string {
  const hex = (part: number) => (part >>> 0).toString(16).padStart(8, '0');
  return `82${hex(high)}${hex(low)}`.toUpperCase();
}
