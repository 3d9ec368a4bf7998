/**
 * The time from which a process follows the log: the moment of a read that sees what a majority holds. Not here: following it
 * (tail.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Db, Timestamp } from 'mongodb';
import { timestamp } from '../../database/bson/raw.ts';
import { within } from '../../kernel/concurrency/deadline.ts';

const ANSWER_MS = 10_000;
/** Milliseconds until a server that named no time is asked again. */
const AGAIN_MS = 50;

/**
 * The cluster time from which on a change stream has to tell of rows: what was written before it is held by a majority, so that
 * every later read here finds it. A stream that begins by itself begins later, after rows that no majority holds yet. A MongoDB
 * that was started a moment ago names no time at first, so it is asked until it does.
 * @param db the log's own database
 */
export async function nextTime(db: Pick<Db, 'command'>, signal: AbortSignal): Promise<Timestamp> {
  const command = { find: 'log', limit: 1, projection: { _id: 1 }, readConcern: { level: 'majority' } };
  const timed = async (end: AbortSignal): Promise<unknown> => {
    for (;;) {
      const { operationTime } = await db.command(command, { signal: end });
      if (operationTime !== undefined) return operationTime;
      await pause(AGAIN_MS, undefined, { signal: end });
    }
  };
  const { t, i } = timestamp(await within(ANSWER_MS, timed, signal));
  return new Timestamp({ t, i: i + 1 });
}
