/**
 * Translates the MongoDB driver's errors into rows of the closed table, where they leave the database layer. The cause
 * goes to the log only; none of its text reaches a client. Predicates here recognize errors whose meaning depends on
 * the operation (a duplicate key of an insert), which that operation words.
 */
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  type WriteError,
} from 'mongodb';
import { MillraceError } from '../lib/errors.ts';
import {
  DOCUMENT_UNWRITABLE,
  MONGO_ERROR_CODES,
  type MongoErrorMeaning,
  mongoErrorMeaning,
  SERVER_UNREACHABLE_ERROR,
} from './mongo-error-codes.ts';
import { publicFieldPath } from './parse-collection-name.ts';

export { MONGO_ERROR_CODES };

/** The server's code of an error, or undefined if it has none. With exact values, the driver returns an Int32. */
export function mongoErrorCode(error: unknown): number | undefined {
  if (!(error instanceof MongoError) || error.code === undefined) return undefined;
  const code = Number(error.code);
  return Number.isInteger(code) ? code : undefined;
}

/** The duplicate key behind an insert or update that failed on a unique index. */
export interface DuplicateKey {
  /** Paths of the index. */
  readonly fields: readonly string[];
  /** The values that it holds already, in the same order. */
  readonly values: readonly unknown[];
  /** Which document of a bulk write, 0-based. */
  readonly index: number;
}

/** Whether a write failed on a unique index, and on which one. */
export function duplicateKey(error: unknown): DuplicateKey | undefined {
  if (mongoErrorCode(error) !== MONGO_ERROR_CODES.duplicateKey) return undefined;
  const first = error instanceof MongoBulkWriteError ? [error.writeErrors].flat()[0] : undefined;
  const details: unknown = first?.err ?? error;
  const pattern = details !== null && typeof details === 'object' && 'keyPattern' in details ? details.keyPattern : {};
  const value = details !== null && typeof details === 'object' && 'keyValue' in details ? details.keyValue : {};
  const fields = Object.keys(pattern ?? {});
  return { fields, values: Object.values(value ?? {}), index: first?.index ?? 0 };
}

/**
 * The failed writes of an unordered bulk write, if the others are known to have succeeded.
 * @throws the error if it is not about single writes, or if a majority did not acknowledge the others
 */
export function bulkWriteErrors(error: unknown): readonly WriteError[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failed = [error.writeErrors].flat();
  if (failed.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
  return failed;
}

/** The error for a value that a unique index already contains. @param fields stored paths of the index */
export function uniqueViolation(
  fields: readonly string[],
  cause: unknown,
  says = 'Another document has the same',
): MillraceError {
  const names = fields.map(publicFieldPath);
  return new MillraceError('unique-violation', `${says} ${names.join(' and ')}`, {
    issues: names.map((name) => ({
      pointer: pointerOf(name),
      code: 'unique-violation',
      detail: 'This value must be unique in the collection',
    })),
    cause,
  });
}

/** JSON Pointer of a path with dots. */
function pointerOf(path: string): string {
  return `/${publicFieldPath(path).replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('.', '/')}`;
}

interface RefusingIndex {
  readonly name: string;
  /** Stored paths; empty if the index has all. */
  readonly fields: readonly string[];
}

const refusing = new WeakMap<Error, RefusingIndex>();

/** Records which index rejected a write, for the error message. @param fields stored paths of the index */
export function attachViolatedIndex(error: Error, name: string, fields: readonly string[]): void {
  refusing.set(error, { name, fields });
}

/** The fields of the index that rejected the write, also after the error was translated; none for another error. */
export function rejectingIndexFields(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  return refusing.get(error)?.fields ?? rejectingIndexFields(error.cause);
}

/** Turns any error of the driver, and an expired deadline, into a Millrace error; others are returned unchanged. */
export function translateError(error: unknown): unknown {
  // For many documents, the driver wraps the error that prevented sending; only the original error has the type.
  if (error instanceof MongoBulkWriteError && error.errorResponse instanceof Error) {
    return translateError(error.errorResponse);
  }
  if (isDeadline(error)) return reported(SERVER_UNREACHABLE_ERROR, error);
  if (isFull(error)) return reported(DOCUMENT_UNWRITABLE, error);
  if (!(error instanceof MongoError)) return error;
  const unique = duplicateKey(error)?.fields ?? [];
  // A second document with the same `_id` has a different meaning for each operation.
  if (unique.length > 0 && unique[0] !== '_id') return uniqueViolation(unique, error);
  const meaning = isAway(error) ? SERVER_UNREACHABLE_ERROR : mongoErrorMeaning(mongoErrorCode(error), error.message);
  return meaning === undefined ? error : reported(meaning, error);
}

/** With the fields of the index that rejected the write, if known. */
function withFields(error: MillraceError, { name, fields }: RefusingIndex): MillraceError {
  const { code, message } = error;
  const issues = fields.map((path) => ({ pointer: pointerOf(path), code, detail: `It is in the index '${name}'` }));
  return error.with({
    message: `${message}: '${name}' on ${fields.map(publicFieldPath).join(' and ') || 'all fields'}`,
    issues,
  });
}

function reported({ code, message, hint, retryAfter }: MongoErrorMeaning, cause: unknown): MillraceError {
  const error = new MillraceError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }),
    cause,
  });
  const index = cause instanceof Error ? refusing.get(cause) : undefined;
  return index === undefined ? error : withFields(error, index);
}

/**
 * Whether a command was abandoned before it was sent (lib/concurrency/deadline.ts). After it was sent, the driver
 * throws an error of its own.
 */
function isDeadline(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** Whether the driver wrote beyond the end of its buffer, which is slightly larger than what the database accepts. */
function isFull(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
}

/** Whether the server was unreachable, or disconnected before it replied. */
function isAway(error: MongoError): boolean {
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoOperationTimeoutError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError ||
    error.name === 'MongoPoolClosedError' ||
    error.name === 'MongoWaitQueueTimeoutError'
  );
}

/**
 * Whether an error comes from the database, also after it was translated and reworded: such an error has ended a
 * surrounding transaction.
 */
export function isDatabaseError(error: unknown): boolean {
  if (error instanceof MongoError) return true;
  return error instanceof MillraceError && error.cause !== undefined && isDatabaseError(error.cause);
}

/** Runs one database operation and translates its errors. */
export async function withTranslatedErrors<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw translateError(error);
  }
}
