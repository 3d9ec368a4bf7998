/** The time from which a process follows the log: that of a read with read concern majority. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Db, Timestamp } from 'mongodb';
import { requireTimestamp } from '../../database/bson/raw-bson.ts';
import { withTimeout } from '../../lib/concurrency/deadline.ts';

const RESPONSE_MS = 10_000;
/** Milliseconds before a server that returned no time is queried again. */
const AGAIN_MS = 50;

/**
 * The cluster time from which a change stream has to return rows: earlier rows are majority-committed, so that every
 * later read here finds them. By default a stream starts later, after rows that are not yet committed. A MongoDB that
 * has just started returns no time at first, so the query is repeated.
 * @param db the log's own database
 */
export async function changeStreamStartTime(db: Pick<Db, 'command'>, signal: AbortSignal): Promise<Timestamp> {
  const command = { find: 'log', limit: 1, projection: { _id: 1 }, readConcern: { level: 'majority' } };
  const timed = async (end: AbortSignal): Promise<unknown> => {
    for (;;) {
      const { operationTime } = await db.command(command, { signal: end });
      if (operationTime !== undefined) return operationTime;
      await pause(AGAIN_MS, undefined, { signal: end });
    }
  };
  const { t, i } = requireTimestamp(await withTimeout(RESPONSE_MS, timed, signal));
  return new Timestamp({ t, i: i + 1 });
}
