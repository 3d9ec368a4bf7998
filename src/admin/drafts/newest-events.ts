/** The newest events of the log that are about documents or files. Not here: reading them in their order (events/read/feed.ts). */
import { eventType } from '../../events/log/event.ts';
import { type LogRow, wholeBytes } from '../../events/log/row.ts';
import type { Tail } from '../../events/log/tail.ts';

/** Rows that are read at one time, and the bytes of them that are read from the database at one time. */
const READ_ROWS = 200;
const READ_BYTES = 4 * 1024 * 1024;
/** The most rows that are looked at; most of them may be about the system. */
const MAX_ROWS = 10_000;
const MAX_EVENTS = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;

export interface NewestEvents {
  /** The newest first. */
  readonly rows: readonly LogRow[];
  /** False if there are not as many as asked for, because of the limits of bytes and time. */
  readonly complete: boolean;
}

/**
 * Up to 1,000 of them.
 * @param until when to stop, as `performance.now` tells the time
 */
export async function newestEvents(tail: Pick<Tail, 'position' | 'read'>, until: number): Promise<NewestEvents> {
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
      bytes += wholeBytes(row);
      if (bytes > MAX_BYTES) return { rows, complete: false };
      rows.push(row);
      if (rows.length >= MAX_EVENTS) return { rows, complete: true };
    }
  }
  return { rows, complete: true };
}
