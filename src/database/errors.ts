/**
 * Translates the MongoDB driver's errors into rows of the closed table, at the database's door. The cause is kept for
 * the log; nothing of its text reaches a client. Errors that mean something only to one operation (a duplicate key of
 * an insert) are told apart here by predicates and worded by that operation.
 */
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';
import { MillraceError } from '../kernel/errors.ts';

/** Server error codes that Millrace acts on. Source: MongoDB `error_codes.yml`. */
export const CODE = {
  namespaceNotFound: 26,
  cursorNotFound: 43,
  namespaceExists: 48,
  maxTimeExpired: 50,
  cannotCreateIndex: 67,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  writeConflict: 112,
  parallelArrays: 171,
  noSuchTransaction: 251,
  duplicateKey: 11000,
  /** A step of an indexed path is a position in an array and a member's name at once. */
  ambiguousPath: 16746,
} as const;

const TIMEOUTS: ReadonlySet<number> = new Set([CODE.maxTimeExpired, 262]);
const TOO_LARGE: ReadonlySet<number> = new Set([10334, 17419, 17420, 17280]);
/** Not primary, shutting down, stepping down, interrupted at shutdown, network: another moment may help. */
const AWAY: ReadonlySet<number> = new Set([6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** The server's code of an error, or undefined when it has none. */
export function serverCode(error: unknown): number | undefined {
  return error instanceof MongoError && typeof error.code === 'number' ? error.code : undefined;
}

/** The duplicate key behind an insert or update that failed on a unique index. */
export interface DuplicateKey {
  /** Paths of the index. */
  readonly fields: readonly string[];
  /** Which document of a bulk write, 0-based. */
  readonly index: number;
}

/** Tells whether a write failed on a unique index, and on which one. */
export function duplicateKey(error: unknown): DuplicateKey | undefined {
  if (serverCode(error) !== CODE.duplicateKey) return undefined;
  const first = error instanceof MongoBulkWriteError ? [error.writeErrors].flat()[0] : undefined;
  const details: unknown = first?.err ?? error;
  const pattern = details !== null && typeof details === 'object' && 'keyPattern' in details ? details.keyPattern : {};
  return { fields: Object.keys(pattern ?? {}), index: first?.index ?? 0 };
}

/**
 * The refusal of a value that a unique index has already.
 * @param fields stored paths of the index
 */
export function uniqueViolation(
  fields: readonly string[],
  cause: unknown,
  says = 'Another document has the same',
): MillraceError {
  const names = fields.map((field) => field.replace(/^_id(?=\.|$)/, 'id'));
  return new MillraceError('unique-violation', `${says} ${names.join(' and ')}`, {
    faults: names.map((name) => ({
      pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('.', '/')}`,
      code: 'unique-violation',
      detail: 'This value must be unique in the collection',
    })),
    cause,
  });
}

/** Turns any error of the driver into a Millrace error; others are returned as they are. */
export function translateError(error: unknown): unknown {
  if (!(error instanceof MongoError)) return error;
  const code = serverCode(error);
  if (code !== undefined && TIMEOUTS.has(code)) {
    return new MillraceError('query-timeout', 'The database did not finish in time', {
      hint: 'Narrow the filter, add an index, or ask for a page with limit',
      cause: error,
    });
  }
  if (
    (code !== undefined && TOO_LARGE.has(code)) ||
    /larger than the maximum size|object to insert too large/i.test(error.message)
  ) {
    return new MillraceError('document-too-large', 'The document is larger than the database can hold', {
      cause: error,
    });
  }
  const unique = duplicateKey(error)?.fields ?? [];
  // A second document with the same `_id` means something else to each operation.
  if (unique.length > 0 && unique[0] !== '_id') return uniqueViolation(unique, error);
  if (code === CODE.parallelArrays || code === CODE.ambiguousPath) {
    return new MillraceError('unsupported-value', 'An index of the collection cannot hold this document', {
      hint: 'An index reaches into one array of a document at most',
      cause: error,
    });
  }
  if (isAway(error, code)) {
    return new MillraceError('database-unavailable', 'The database is not reachable at the moment', {
      headers: { 'retry-after': '1' },
      cause: error,
    });
  }
  return error;
}

function isAway(error: MongoError, code: number | undefined): boolean {
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error.name === 'MongoWaitQueueTimeoutError' ||
    (error instanceof MongoServerError && code !== undefined && AWAY.has(code))
  );
}

/** Runs one database operation and translates what it throws. */
export async function translated<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw translateError(error);
  }
}
