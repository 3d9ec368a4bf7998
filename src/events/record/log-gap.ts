/**
 * How a history begins and how it breaks: the first resume token, the rows that mark the changes between two times as
 * unknown, and the id of the replica set, by which a log that was moved to another one is recognized. After a gap all
 * state of readers is invalid, and the rows say so.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import {
  CHANGE_STREAM_TIMEOUT_MS,
  type ChangeStreamReply,
  readChangeStream,
} from '../../database/cursors/change-stream.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../log/log-row.ts';

/** Milliseconds before a server that returned no time is queried again. */
const AGAIN_MS = 50;

/** The position at which a stream opened now begins. */
async function start(data: Db, signal: AbortSignal): Promise<Pick<LogRow, 'token' | 'time'>> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(CHANGE_STREAM_TIMEOUT_MS)]);
  for (;;) {
    const { token, time } = await firstReply(data, signal);
    // A MongoDB that has just started returns no time at first.
    if (time !== null) return { token, time };
    await pause(AGAIN_MS, undefined, { signal: limit });
  }
}

async function firstReply(
  data: Db,
  signal: AbortSignal,
): Promise<Pick<ChangeStreamReply, 'time'> & Pick<LogRow, 'token'>> {
  const stream = readChangeStream({ db: data, full: true, signal });
  try {
    const first = await stream.next();
    if (first.done || first.value.token === null) throw new Error('The change stream ended at its start');
    return { token: first.value.token, time: first.value.time };
  } finally {
    await stream.return();
  }
}

/** The rows of a gap after the newest row: one `gap` in a new epoch, and a `reset` for each collection. */
async function rows(data: Db, newest: LogRow, epoch: number, signal: AbortSignal): Promise<LogRow[]> {
  // The token is read first: a change before the rows are written is then recorded and not lost.
  const position = await start(data, signal);
  const names = (await data.listCollections({ type: 'collection' }, { nameOnly: true }).toArray())
    .map((one) => one.name)
    .filter((name) => !name.startsWith('system.'));
  const wall = new Date();
  const common = { ...LOG_ROW_DEFAULTS, ...position, epoch, wall };
  const ends = { from: newest.wall.toISOString(), to: wall.toISOString() };
  const gap: LogRow = { ...common, ...ends, number: newest.number + 1, operation: 'gap' };
  const resets = names.map(
    (collection, index): LogRow => ({ ...common, collection, number: newest.number + 2 + index, operation: 'reset' }),
  );
  return [gap, ...resets];
}

/** Epochs derived from the time count milliseconds from here. */
const FIRST_MOMENT = Date.UTC(2026, 0, 1);

/**
 * A new log begins above this epoch: 0 in an empty database. Existing data may have been restored without its log, and
 * clients may still have positions of that log. No position has an epoch as high as the time, so the time is used.
 */
async function former(data: Db): Promise<number> {
  const [found] = await data.listCollections({ name: /^(?!_|system\.)/ }, { nameOnly: true }).toArray();
  const files = found ?? (await data.collection('_files').findOne({}, { projection: { _id: 1 } }));
  return files === null ? 0 : Math.max(0, Date.now() - FIRST_MOMENT);
}

export const logGapRecovery = { start, rows, former };

/** Identity of the replica set, or null without access to it or without one (a sharded cluster). */
export async function readReplicaSetId(data: Db): Promise<string | null> {
  try {
    const reply = await data.client.db('admin').command({ replSetGetConfig: 1 });
    const id: unknown = reply['config']?.settings?.replicaSetId;
    return id === undefined ? null : String(id);
  } catch (error) {
    // Unauthorized, or a command that mongos does not have: then only the oplog itself decides.
    if (error instanceof Error && 'code' in error && (error.code === 13 || error.code === 59)) return null;
    throw error;
  }
}
