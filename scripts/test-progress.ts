/**
 * The progress of a test run: one line for each process that ended, with their number and the elapsed time; at a
 * terminal also one line below that changes, with what runs; in a log a line about that now and then. At the end the
 * slowest, and the files that took most of the processor. run-tests.ts runs the processes.
 */
import type { Screen } from './progress.ts';
import type { FileCost } from './tap-lines.ts';

/** How one process ended, with one test file or a few. */
export interface FileResult {
  /** Its name. */
  readonly file: string;
  readonly isOk: boolean;
  readonly passed: number;
  readonly seconds: number;
  /** Its processor time, and that of its child processes, without the MongoDB of all files. */
  readonly cpuSeconds: number;
  /** Its test files. */
  readonly files: readonly FileCost[];
  /** Further output: the failures, or what was skipped. */
  readonly lines: readonly string[];
}

/** A log gets a line about what runs when nothing was written for this time, in milliseconds. */
const QUIET_MS = 30_000;
const SLOWEST = 10;
const COSTLIEST = 30;

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

  /** Prints what runs, if that is due. To be called about once per second. */
  tick(): void {
    if (this.#screen.isTTY) this.#drawStatus();
    else if (this.#now() - this.#written >= QUIET_MS) this.#write([`… ${this.#count()}  ${this.#runs()}`]);
  }

  /** The last lines: the slowest processes, and the files that took most of the processor. Empty if only one file ran. */
  close(): void {
    const slowest = this.#ended.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    const files = this.#ended.flatMap(({ files }) => files).sort((a, b) => b.cpuSeconds - a.cpuSeconds);
    const list = (heading: string, all: readonly { readonly file: string }[], text: readonly string[]) =>
      all.length < 2 ? [] : [heading, ...text];
    const line = (seconds: number, file: string) => `${seconds.toFixed(1).padStart(7)} s  ${file}`;
    this.#write(
      [
        ...list(
          `The slowest of ${this.#ended.length} processes in ${this.#clock()}:`,
          this.#ended,
          slowest.map(({ file, seconds }) => line(seconds, file)),
        ),
        ...list(
          'The files that took most of the processor:',
          files,
          files.slice(0, COSTLIEST).map(({ file, cpuSeconds }) => line(cpuSeconds, file)),
        ),
      ],
      false,
    );
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
