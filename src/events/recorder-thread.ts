/**
 * The process's side of the thread that records: starts and ends it, and passes on what it says. An error that nobody
 * foresaw ends the process, as it would if it had happened here.
 * Not here: what the thread does (recorder-worker.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Lease, LeaseState } from '../database/lease.ts';
import type { Note } from './note.ts';
import type { Place } from './position.ts';
import type { RecorderState } from './recorder.ts';
import type { FromRecorder, RecorderWork, ToRecorder } from './recorder-worker.ts';
import type { LogRow } from './row.ts';
import { unpackRows } from './row-parcel.ts';

/** The thread may take this long to give back its lease, in milliseconds; a database that is away answers nothing. */
const STOP_MS = 6_000;
/** The thread is told what has been taken in each time it comes to so much: a message takes as long as some rows. */
const TOLD_BYTES = 1024 * 1024;

/** The worker beside this module, in the source or compiled. */
const WORKER = new URL(`./recorder-worker${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url);

export interface RecorderThreadOptions extends RecorderWork {
  /** The lease the thread records by, to look at. */
  readonly lease: Pick<Lease, 'state'>;
  readonly onNote: Note;
  /** Told of rows once a majority has them, in their order; when the process is slow, of some of them only. */
  readonly onRows: (rows: readonly LogRow[]) => void;
  /** Told when recording begins behind the newest row, when rows were left out, and when it ends. */
  readonly onRecording: (recording: boolean) => void;
  /** The highest position this process knows of. */
  readonly known: () => Place | null;
}

export class RecorderThread {
  readonly #options: RecorderThreadOptions;
  readonly #worker: Worker;
  /** Bytes of rows taken in that the thread has not been told of. */
  #taken = 0;
  readonly #released = Promise.withResolvers<void>();
  #stopped: Promise<void> | undefined;
  #state: Pick<RecorderState, 'status' | 'fault'> = { status: 'waiting', fault: null };

  /** Starts the thread. */
  constructor(options: RecorderThreadOptions) {
    const { settings, owner } = options;
    const workerData: RecorderWork = { settings, owner };
    this.#options = options;
    this.#worker = new Worker(WORKER, { name: 'recorder', workerData });
    this.#worker.on('message', (message: FromRecorder) => this.#hear(message));
  }

  get state(): Pick<RecorderState, 'status' | 'fault'> {
    return this.#state;
  }

  /** Who records now, in the whole deployment. */
  async holder(): Promise<LeaseState | null> {
    return await this.#options.lease.state();
  }

  /** Stops recording and gives the lease back at once, so that another recorder goes on. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#say({ kind: 'stop' });
    await Promise.race([this.#released.promise, pause(STOP_MS, undefined, { ref: false })]);
    // Timers of the driver would keep it for a second more.
    await this.#worker.terminate();
    this.#state = { ...this.#state, status: 'stopped' };
  }

  #say(message: ToRecorder): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromRecorder): void {
    const { onRows, onRecording, onNote, known } = this.#options;
    if (message.kind === 'rows') {
      onRows(unpackRows(message.parcel));
      this.#taken += message.parcel.bodies.length;
      if (this.#taken > TOLD_BYTES) {
        this.#say({ kind: 'taken', bytes: this.#taken });
        this.#taken = 0;
      }
    } else if (message.kind === 'recording') onRecording(message.recording);
    else if (message.kind === 'state') this.#state = message.state;
    else if (message.kind === 'note') onNote(...message.note);
    else if (message.kind === 'known?') this.#say({ kind: 'known', place: known() });
    else this.#released.resolve();
  }
}
