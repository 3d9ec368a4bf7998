/**
 * Reads the state of the event log for an operator: the recording process, the newest row, the lag of readers, and how
 * long a pause of recording the oplog would cover.
 */
import type { Db, Document } from 'mongodb';
import type { EventLog } from './log/event-log.ts';
import type { LogTail } from './log/log-tail.ts';
import { formatPosition } from './log/position.ts';
import type { Recorder } from './record/recorder.ts';

export interface EventLogState {
  readonly recorder: {
    /** The state of this process's recorder. */
    readonly status: string;
    readonly error: string | null;
    /** The process that holds the lease in the whole deployment. */
    readonly holder: string | null;
    readonly term: number | null;
    readonly until: string | null;
  };
  readonly log: {
    readonly newest: string | null;
    readonly floor: number;
    readonly rows: number;
    readonly bytes: number;
    /** Age of the newest row, in milliseconds. */
    readonly newestAgeMs: number | null;
  };
  readonly tail: { readonly position: string; readonly behind: number; readonly following: boolean };
  readonly consumers: readonly { readonly name: string; readonly position: string; readonly behind: number }[];
  /** The span of the oplog, in seconds; null without access to it. */
  readonly oplogSeconds: number | null;
}

/** The same in one line. */
export interface EventLogSummary {
  readonly recorder: string;
  readonly holder: string | null;
  readonly newest: string | null;
  readonly position: string;
  readonly behind: number;
  readonly oplogSeconds: number | null;
}

export function summarizeEventLog({ recorder, log, tail, oplogSeconds }: EventLogState): EventLogSummary {
  return {
    recorder: recorder.status,
    holder: recorder.holder,
    newest: log.newest,
    position: tail.position,
    behind: tail.behind,
    oplogSeconds,
  };
}

interface Watched {
  readonly data: Db;
  readonly log: EventLog;
  readonly tail: LogTail;
  readonly recorder: Recorder;
}

export async function readEventLogState({ data, log, tail, recorder }: Watched): Promise<EventLogState> {
  const [lease, newest, floor, size, cursors, oplogSeconds] = await Promise.all([
    recorder.holder(),
    log.newest(),
    log.floor(),
    log.size(),
    log.db.collection<Document & { _id: string }>('consumers').find().toArray(),
    oplogSpan(data),
  ]);
  const last = newest?.number ?? 0;
  const holder = lease !== null && lease.until > new Date() ? lease.owner : null;
  return {
    recorder: {
      status: recorder.state.status,
      error: recorder.state.error,
      holder,
      term: lease?.term ?? null,
      until: lease?.until.toISOString() ?? null,
    },
    log: {
      newest: newest && formatPosition(newest),
      floor,
      ...size,
      newestAgeMs: newest && Date.now() - newest.wall.getTime(),
    },
    tail: {
      position: formatPosition(tail.position),
      behind: Math.max(0, last - tail.position.number),
      following: tail.healthy,
    },
    consumers: cursors.map((one) => ({
      name: one._id,
      position: formatPosition({ epoch: Number(one['epoch']), number: Number(one['number']) }),
      behind: Math.max(0, last - Number(one['number'])),
    })),
    oplogSeconds,
  };
}

/** Seconds between the oldest and the newest entry of the oplog. */
async function oplogSpan(data: Db): Promise<number | null> {
  const oplog = data.client.db('local').collection('oplog.rs');
  const at = async (direction: 1 | -1): Promise<number> => {
    const [entry] = await oplog
      .find({}, { projection: { ts: 1 }, limit: 1 })
      .sort({ $natural: direction })
      .toArray();
    return Number(entry?.['ts']?.t);
  };
  try {
    const span = (await at(-1)) - (await at(1));
    return Number.isFinite(span) ? span : null;
  } catch {
    // An application's database user often lacks the right to read `local`.
    return null;
  }
}
