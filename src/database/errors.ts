/**
 * Translates the MongoDB driver's errors into rows of the closed table, at the database's door. The cause is kept for
 * the log; nothing of its text reaches a client. Errors that mean something only to one operation (a duplicate key of
 * an insert) are told apart here by predicates and worded by that operation.
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
import { MillraceError } from '../kernel/errors.ts';
import { wirePath } from './names.ts';
import { CODE, type Meaning, meaningOf, UNREACHABLE, UNWRITABLE } from './server-codes.ts';

export { CODE };

/** The server's code of an error, or undefined when it has none. Asked for exact values, the driver gives an Int32. */
export function serverCode(error: unknown): number | undefined {
  if (!(error instanceof MongoError) || error.code === undefined) return undefined;
  const code = Number(error.code);
  return Number.isInteger(code) ? code : undefined;
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
 * The writes of an unordered bulk write that failed, when the others are known to have been made.
 * @throws the error when it says nothing about single writes, or that a majority did not acknowledge the others
 */
export function failuresOf(error: unknown): readonly WriteError[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failed = [error.writeErrors].flat();
  if (failed.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
  return failed;
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
  const names = fields.map(wirePath);
  return new MillraceError('unique-violation', `${says} ${names.join(' and ')}`, {
    faults: names.map((name) => ({
      pointer: pointerOf(name),
      code: 'unique-violation',
      detail: 'This value must be unique in the collection',
    })),
    cause,
  });
}

/** JSON Pointer of a path with dots. */
function pointerOf(path: string): string {
  return `/${wirePath(path).replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('.', '/')}`;
}

interface RefusingIndex {
  readonly name: string;
  /** Stored paths; empty where the index holds all. */
  readonly fields: readonly string[];
}

const refusing = new WeakMap<Error, RefusingIndex>();

/** Notes which index refused a write, for the words of the refusal. @param fields stored paths of the index */
export function noteRefusingIndex(error: Error, name: string, fields: readonly string[]): void {
  refusing.set(error, { name, fields });
}

/** The members of the index that refused a write, also after the error was translated; none if it was another error. */
export function refusedFields(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  return refusing.get(error)?.fields ?? refusedFields(error.cause);
}

/** Turns any error of the driver, and the end of a deadline, into a Millrace error; others are returned as they are. */
export function translateError(error: unknown): unknown {
  // For many documents, the driver wraps the error that kept it from sending them; only the original error says what it
  // is.
  if (error instanceof MongoBulkWriteError && error.errorResponse instanceof Error) {
    return translateError(error.errorResponse);
  }
  if (isDeadline(error)) return told(UNREACHABLE, error);
  if (isFull(error)) return told(UNWRITABLE, error);
  if (!(error instanceof MongoError)) return error;
  const unique = duplicateKey(error)?.fields ?? [];
  // A second document with the same `_id` means something else to each operation.
  if (unique.length > 0 && unique[0] !== '_id') return uniqueViolation(unique, error);
  const meaning = isAway(error) ? UNREACHABLE : meaningOf(serverCode(error), error.message);
  return meaning === undefined ? error : told(meaning, error);
}

/** With the members of the index that refused the write, where it is known. */
function withFields(error: MillraceError, { name, fields }: RefusingIndex): MillraceError {
  const { code, message } = error;
  const faults = fields.map((path) => ({ pointer: pointerOf(path), code, detail: `It is in the index '${name}'` }));
  return error.with({
    message: `${message}: '${name}' on ${fields.map(wirePath).join(' and ') || 'all members'}`,
    faults,
  });
}

function told({ code, message, hint, retryAfter }: Meaning, cause: unknown): MillraceError {
  const error = new MillraceError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }),
    cause,
  });
  const index = cause instanceof Error ? refusing.get(cause) : undefined;
  return index === undefined ? error : withFields(error, index);
}

/**
 * Whether a command was given up before it was sent (kernel/concurrency/deadline.ts). After it was sent, the driver
 * throws an error of its own.
 */
function isDeadline(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** Whether the driver wrote beyond the end of its buffer, which is a little larger than what the database takes. */
function isFull(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
}

/** Whether the server was not reached, or went away before it answered. */
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
 * Whether an error comes from the database, also after it was translated and reworded: inside a transaction, such an error has
 * ended it.
 */
export function isOfDatabase(error: unknown): boolean {
  if (error instanceof MongoError) return true;
  return error instanceof MillraceError && error.cause !== undefined && isOfDatabase(error.cause);
}

/** Runs one database operation and translates what it throws. */
export async function translated<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw translateError(error);
  }
}
