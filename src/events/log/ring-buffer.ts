/**
 * The newest rows of the log in the memory of one process, limited by count and by bytes, so that readers that lag only
 * slightly do not read the database. Its numbers are gapless: the owner clears it before adding rows after a gap.
 */
import { type LogRow, logRowBytes } from './log-row.ts';

export class RingBuffer {
  readonly #maxRows: number;
  readonly #maxBytes: number;
  #rows: LogRow[] = [];
  #head = 0;
  #bytes = 0;

  constructor(maxRows = 100_000, maxBytes = 64 * 1024 * 1024) {
    this.#maxRows = maxRows;
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#rows.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(row: LogRow): void {
    this.#rows.push(row);
    this.#bytes += logRowBytes(row);
    while (this.size > 1 && (this.size > this.#maxRows || this.#bytes > this.#maxBytes)) this.#drop();
    // Also with only a few rows: each may have megabytes.
    if (this.#head > this.#rows.length / 2) {
      this.#rows = this.#rows.slice(this.#head);
      this.#head = 0;
    }
  }

  clear(): void {
    this.#rows = [];
    this.#head = 0;
    this.#bytes = 0;
  }

  /** Rows above a number, up to a count; null if the buffer does not reach back that far. */
  after(number: number, limit: number): LogRow[] | null {
    const first = this.#rows[this.#head];
    if (first === undefined || number < first.number - 1) return null;
    const from = this.#head + number - first.number + 1;
    return this.#rows.slice(from, from + limit);
  }

  #drop(): void {
    const row = this.#rows[this.#head];
    if (row) this.#bytes -= logRowBytes(row);
    // The slot is emptied by the next compaction; until then it keeps at most half of the array alive.
    this.#head += 1;
  }
}
