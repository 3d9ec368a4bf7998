/**
 * Classifies the errors of the recorder by how to continue. After an error that is not listed, the recorder closes,
 * waits, and restarts from the log's newest row.
 */
import { mongoErrorCode } from '../../database/errors.ts';
import { MillraceError } from '../../lib/errors.ts';
import { LogNumberConflict, UnusableLog } from './event-log.ts';

export type ErrorClass =
  /** Another recorder wrote first: read the newest row again. */
  | 'behind'
  /** The resume token is not in the oplog, though its time may be. */
  | 'token-unknown'
  /** The oplog no longer holds the changes since the newest row. */
  | 'history-lost'
  /** An oplog entry does not fit into a reply. */
  | 'too-large'
  /** The database denies access: an operator has to act. */
  | 'refused'
  /** One row cannot be stored as it is. */
  | 'row-refused'
  /** The server is unavailable or changing: it may respond in a moment. */
  | 'away'
  | 'unknown';

const BY_CODE: ReadonlyMap<number, ErrorClass> = new Map([
  [280, 'token-unknown'],
  [286, 'history-lost'],
  [40576, 'history-lost'],
  [40615, 'history-lost'],
  [10334, 'too-large'],
  [13, 'refused'],
  [18, 'refused'],
  [8000, 'refused'],
]);

/** Our own messages for a database that does not respond. */
const AWAY: ReadonlySet<string> = new Set(['database-unavailable', 'policies-unavailable']);

const NETWORK =
  /^(MongoNetwork|MongoServerSelection|MongoNotConnected|MongoPoolCleared|MongoTopologyClosed|MongoOperationTimeout|AbortError|TimeoutError)/;

/** The class of an error of the stream, the log, the lease, or the work of a consumer. */
export function classifyError(error: unknown): ErrorClass {
  if (error instanceof LogNumberConflict) return 'behind';
  if (error instanceof UnusableLog) return 'refused';
  if (error instanceof MillraceError && AWAY.has(error.code)) return 'away';
  if (error instanceof Error && 'index' in error) return 'row-refused';
  const code = mongoErrorCode(error);
  const known = code === undefined ? undefined : BY_CODE.get(code);
  if (known !== undefined) return known;
  return error instanceof Error && NETWORK.test(error.name) ? 'away' : 'unknown';
}

/** Time before the next attempt, in milliseconds: 0.1 s doubling to 5 s, to 1 s while the server is unavailable. */
export function backoffDelayMs(verdict: ErrorClass, failures: number, random: number): number {
  if (verdict === 'behind') return 5 + random * 45;
  if (verdict === 'too-large' || verdict === 'token-unknown' || verdict === 'row-refused')
    return failures > 3 ? 1000 : 0;
  return Math.min(100 * 2 ** Math.min(failures, 10), verdict === 'away' ? 1000 : 5000) * (0.75 + random / 4);
}
