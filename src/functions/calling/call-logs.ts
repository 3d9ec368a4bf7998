/** The lines that one call logs: bounded, and without secrets. Not here: keeping them with the run (runs/). */
import type { Blank } from '../plugins/blanking.ts';
import { MAX_LOG_BYTES, MAX_LOG_LINES } from '../sandbox/host-shapes.ts';
import type { LogLine } from '../sandbox/sandbox.ts';

const CUT = `More was logged than is kept: ${MAX_LOG_LINES} lines and ${MAX_LOG_BYTES / 1024} KB`;

export class CallLogs {
  readonly #lines: LogLine[] = [];
  readonly #blank: Blank;
  readonly #onLog: ((line: LogLine) => void) | undefined;
  #bytes = 0;
  #full = false;

  /** @param onLog told of each line at once */
  constructor(blank: Blank, onLog: ((line: LogLine) => void) | undefined) {
    this.#blank = blank;
    this.#onLog = onLog;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  readonly add = ({ at, level, text }: LogLine): void => {
    if (this.#full) return;
    const shown = this.#blank(text);
    this.#bytes += Buffer.byteLength(shown);
    // The last place is kept for the line that says so.
    this.#full = this.#bytes > MAX_LOG_BYTES || this.#lines.length >= MAX_LOG_LINES - 1;
    this.#keep(this.#full ? { at, level: 'warn', text: CUT } : { at, level, text: shown });
  };

  #keep(line: LogLine): void {
    this.#lines.push(line);
    this.#onLog?.(line);
  }
}
