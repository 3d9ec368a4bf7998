/** The newest events of documents and files in the log. */
import { eventType } from '../../events/log/event.ts';
import { type LogRow, rowBytesWithDocument } from '../../events/log/log-row.ts';
import type { LogTail } from '../../events/log/log-tail.ts';

/** Rows per read, and their bytes. */
const READ_ROWS = 200;
const READ_BYTES = 4 * 1024 * 1024;
/** The maximum of rows that are read; most of them may concern the system. */
const MAX_ROWS = 10_000;
const MAX_EVENTS = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;

export interface NewestEvents {
  /** The newest first. */
  readonly rows: readonly LogRow[];
  /** False if a limit of bytes or time cut the list. */
  readonly complete: boolean;
}

/**
 * Up to 1,000 of them.
 * @param until when to stop, on the clock of `performance.now`
 */
export async function newestEvents(tail: Pick<LogTail, 'position' | 'read'>, until: number): Promise<NewestEvents> {
  const rows: LogRow[] = [];
  let bytes = 0;
  const newest = tail.position.number;
  for (let through = newest; through > 0 && newest - through < MAX_ROWS; through -= READ_ROWS) {
    if (performance.now() > until) return { rows, complete: false };
    const after = Math.max(0, through - READ_ROWS);
    const read = await tail.read(after, through - after, READ_BYTES);
    if (read.length === 0) break;
    for (const row of read.toReversed()) {
      if (row.key === null || eventType(row) === null) continue;
      bytes += rowBytesWithDocument(row);
      if (bytes > MAX_BYTES) return { rows, complete: false };
      rows.push(row);
      if (rows.length >= MAX_EVENTS) return { rows, complete: true };
    }
  }
  return { rows, complete: true };
}
