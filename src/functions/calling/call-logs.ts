/** Bounded, redacted log lines of one call. */
import type { Redactor } from '../plugins/redaction.ts';
import { MAX_LOG_BYTES, MAX_LOG_LINES } from '../sandbox/host-schemas.ts';
import type { LogLine } from '../sandbox/sandbox.ts';

const CUT = `The log was truncated: a call keeps at most ${MAX_LOG_LINES} lines and ${MAX_LOG_BYTES / 1024} KB`;

export class CallLogs {
  readonly #lines: LogLine[] = [];
  readonly #blank: Redactor;
  readonly #onLog: ((line: LogLine) => void) | undefined;
  #bytes = 0;
  #full = false;

  /** @param onLog receives each line immediately */
  constructor(blank: Redactor, onLog: ((line: LogLine) => void) | undefined) {
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
    // The last slot is reserved for the line that reports the truncation.
    this.#full = this.#bytes > MAX_LOG_BYTES || this.#lines.length >= MAX_LOG_LINES - 1;
    this.#keep(this.#full ? { at, level: 'warn', text: CUT } : { at, level, text: shown });
  };

  #keep(line: LogLine): void {
    this.#lines.push(line);
    this.#onLog?.(line);
  }
}
