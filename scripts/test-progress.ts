/**
 * How far a run of the tests has come: one line for each process that ended, with how many have and the time since the
 * beginning; at a terminal also one line below that changes, with what runs; in a log a line about that now and then. At the
 * end the slowest. It draws, and runs nothing (run-tests.ts).
 */
import type { Screen } from './progress.ts';

/** How one process ended, with one test file or a few. */
export interface FileResult {
  /** What it is called. */
  readonly file: string;
  readonly isOk: boolean;
  readonly passed: number;
  readonly seconds: number;
  /** Its processor time, and that of the processes that it began. Not that of the MongoDB of all files. */
  readonly cpuSeconds: number;
  /** What is said of it besides: the failures, or what was skipped. */
  readonly lines: readonly string[];
}

/** A log hears of what runs when it was told nothing for so long, in milliseconds. */
const QUIET_MS = 30_000;
const SLOWEST = 10;

export class TestProgress {
  readonly #screen: Screen;
  readonly #total: number;
  readonly #now: () => number;
  readonly #started: number;
  readonly #running = new Map<string, number>();
  readonly #ended: FileResult[] = [];
  #written: number;

  /**
   * @param total how many processes there are
   * @param now a clock in milliseconds
   */
  constructor(screen: Screen, total: number, now = () => performance.now()) {
    this.#screen = screen;
    this.#total = total;
    this.#now = now;
    this.#started = now();
    this.#written = now();
  }

  begin(file: string): void {
    this.#running.set(file, this.#now());
    this.#drawStatus();
  }

  end(result: FileResult): void {
    this.#running.delete(result.file);
    this.#ended.push(result);
    const { file, isOk, passed, seconds, cpuSeconds } = result;
    const times = `${seconds.toFixed(1)} s, processor ${cpuSeconds.toFixed(1)} s`;
    const line = `${isOk ? '✓' : '✗'} ${this.#count()}  ${file} (${passed} passed, ${times})`;
    this.#write([...result.lines, line]);
  }

  /** Says what runs, where that is due. To be called about once a second. */
  tick(): void {
    if (this.#screen.isTTY) this.#drawStatus();
    else if (this.#now() - this.#written >= QUIET_MS) this.#write([`… ${this.#count()}  ${this.#runs()}`]);
  }

  /** The last lines: the slowest files, the slowest first. Nothing where one file ran alone. */
  close(): void {
    const slowest = this.#ended.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    const lines = slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
    const heading = `The slowest of ${this.#ended.length} processes in ${this.#clock()}:`;
    this.#write(this.#ended.length < 2 ? [] : [heading, ...lines], false);
  }

  #write(lines: readonly string[], isMore = true): void {
    this.#written = this.#now();
    const clear = this.#screen.isTTY ? '\r\x1b[K' : '';
    this.#screen.write(clear + lines.map((line) => `${line}\n`).join(''));
    if (isMore) this.#drawStatus();
  }

  #drawStatus(): void {
    if (this.#screen.isTTY) this.#screen.write(`\r\x1b[K  ${this.#count()}  ${this.#runs()}`);
  }

  #count(): string {
    return `${String(this.#ended.length).padStart(String(this.#total).length)}/${this.#total}  ${this.#clock()}`;
  }

  #clock(): string {
    const seconds = Math.floor((this.#now() - this.#started) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }

  #runs(): string {
    const files = [...this.#running].map(([file, since]) => `${file} (${Math.floor((this.#now() - since) / 1000)} s)`);
    return files.length === 0 ? 'nothing runs' : `running ${files.join(', ')}`;
  }
}
