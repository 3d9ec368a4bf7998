/**
 * The newest rows of the log in the memory of one process, bounded by count and by bytes, so that readers that lag only
 * a little do not read the database. Numbers in it are gapless: its owner clears it before it adds rows after a gap.
 */
import { type LogRow, rowBytes } from './row.ts';

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
    this.#bytes += rowBytes(row);
    while (this.size > 1 && (this.size > this.#maxRows || this.#bytes > this.#maxBytes)) this.#drop();
    // Also when there are only a few rows: each may hold megabytes.
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

  /** Rows above a number, up to a count; null when the buffer does not reach back that far. */
  after(number: number, limit: number): LogRow[] | null {
    const first = this.#rows[this.#head];
    if (first === undefined || number < first.number - 1) return null;
    const from = this.#head + number - first.number + 1;
    return this.#rows.slice(from, from + limit);
  }

  #drop(): void {
    const row = this.#rows[this.#head];
    if (row) this.#bytes -= rowBytes(row);
    // The slot is emptied by the next compaction; until then it keeps at most half of the array alive.
    this.#head += 1;
  }
}
