/**
 * Watches the free space of the file system of the embedded database. Below one limit new documents and files are
 * rejected, below a second one deletions as well, so that MongoDB, which ends on a full disk, never meets one. The
 * limits cover what MongoDB still writes after the last acknowledged write: its journal, its cache, and the event log.
 */
import { statfs } from 'node:fs/promises';
import { MillraceError } from './errors.ts';

/** Free bytes below which nothing new is stored. */
export const LOW_DISK_BYTES = 256 * 1_048_576;
/** Free bytes below which nothing is deleted either: a deletion writes to the event log. */
export const FULL_DISK_BYTES = 96 * 1_048_576;
/** Assumed maximum rate at which space is used, in bytes per second; decides when to measure again. */
const FASTEST = 1_024 * 1_048_576;
const SOONEST_MS = 50;
const LATEST_MS = 5_000;
const LATEST_LOW_MS = 250;

export type DiskSpaceLevel = 'enough' | 'low' | 'full';

export interface DiskSpaceState {
  readonly level: DiskSpaceLevel;
  /** Null before the first measurement, and if the system does not report it. */
  readonly freeBytes: number | null;
  /** Free bytes below which nothing new is stored. */
  readonly neededBytes: number;
}

export interface DiskSpaceOptions {
  readonly folder: string;
  /** Free bytes of the file system of a folder; for tests. */
  readonly measure?: (folder: string) => Promise<number>;
  /** Called when the level has changed. */
  readonly onChange?: (state: DiskSpaceState) => void;
}

/** Bytes that a program without special rights may still write into a folder. */
export async function freeDiskBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export class DiskSpaceMonitor {
  readonly #options: DiskSpaceOptions;
  #level: DiskSpaceLevel = 'enough';
  #free: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
  }

  /** Measures now, and from now on repeatedly, more often when less is left. */
  async start(): Promise<void> {
    await this.look();
    if (this.#isStopped) return;
    const above =
      (this.#free ?? Number.POSITIVE_INFINITY) - (this.#level === 'enough' ? LOW_DISK_BYTES : FULL_DISK_BYTES);
    const latest = this.#level === 'enough' ? LATEST_MS : LATEST_LOW_MS;
    const wait = Math.max(SOONEST_MS, Math.min(latest, (above / FASTEST) * 1_000));
    this.#timer = setTimeout(() => void this.start(), wait).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Measures once. */
  async look(): Promise<void> {
    const { folder, measure = freeDiskBytes, onChange } = this.#options;
    // Without a report nothing is rejected.
    this.#free = await measure(folder).catch(() => null);
    const before = this.#level;
    this.#level = levelOf(this.#free);
    if (this.#level !== before) onChange?.(this.state);
  }

  get state(): DiskSpaceState {
    return { level: this.#level, freeBytes: this.#free, neededBytes: LOW_DISK_BYTES };
  }

  /** @throws MillraceError `storage-full` if nothing new may be stored */
  requireRoom(): void {
    if (this.#level !== 'enough') throw this.#error('new documents and files are rejected');
  }

  /** @throws MillraceError `storage-full` if not even deletions may be written */
  requireRoomToDelete(): void {
    if (this.#level === 'full') throw this.#error('deletions are rejected as well');
  }

  #error(what: string): MillraceError {
    return new MillraceError('storage-full', `The disk of the embedded database is almost full: ${what}`, {
      hint: `${formatMegabytes(this.#free ?? 0)} are free, and ${formatMegabytes(LOW_DISK_BYTES)} are needed; reading still works`,
    });
  }
}

function levelOf(free: number | null): DiskSpaceLevel {
  if (free === null || free >= LOW_DISK_BYTES) return 'enough';
  return free >= FULL_DISK_BYTES ? 'low' : 'full';
}

/** A number of bytes for display, such as `256 MB`. */
export function formatMegabytes(bytes: number): string {
  return `${Math.floor(bytes / 1_048_576)} MB`;
}
