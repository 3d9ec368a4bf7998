/**
 * The MongoDB server's error codes that Millrace handles, and the meaning of those that mean the same for every
 * operation. Source: `error_codes.yml` of MongoDB 6.0.
 */
import type { ErrorCode } from '../lib/errors.ts';

/** Server error codes that Millrace acts on. */
export const MONGO_ERROR_CODES = {
  badValue: 2,
  unauthorized: 13,
  authenticationFailed: 18,
  namespaceNotFound: 26,
  cursorNotFound: 43,
  namespaceExists: 48,
  maxTimeExpired: 50,
  cannotCreateIndex: 67,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  writeConflict: 112,
  commandNotSupportedOnView: 166,
  parallelArrays: 171,
  conversionFailure: 241,
  noSuchTransaction: 251,
  /** OperationNotSupportedInTransaction */
  notInTransaction: 263,
  /** CollectionUUIDMismatch: the name now belongs to another collection, or to none. */
  otherCollection: 361,
  duplicateKey: 11000,
  /** A value under a `2dsphere` index that is no geometry. */
  noGeoKeys: 16755,
  /** BackgroundOperationInProgressForNamespace: an index is being built. */
  indexBeingBuilt: 12587,
  /** A step of an indexed path is an array index and a field name at once. */
  ambiguousPath: 16746,
} as const;

/** An error of the server in terms of the closed table. */
export interface MongoErrorMeaning {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  /** When a retry may succeed, in seconds. */
  readonly retryAfter?: number;
}

const TIMEOUT: MongoErrorMeaning = {
  code: 'query-timeout',
  message: 'The database did not finish in time',
  hint: 'Narrow the filter, add an index, or request a page with limit',
  retryAfter: 1,
};
const TOO_LARGE: MongoErrorMeaning = {
  code: 'document-too-large',
  message: 'The document is larger than the database can store',
};
const AWAY: MongoErrorMeaning = {
  code: 'database-unavailable',
  message: 'The database is not reachable at present',
  retryAfter: 1,
};
const INTERRUPTED: MongoErrorMeaning = { ...AWAY, message: 'The database interrupted the operation' };
const FULL: MongoErrorMeaning = { ...AWAY, message: 'The database cannot accept more at present', retryAfter: 5 };
const NOT_INDEXABLE: MongoErrorMeaning = {
  code: 'unsupported-value',
  message: 'An index of the collection cannot contain this document',
  hint: 'An index can include only one array of each document',
};
const NOT_GEO: MongoErrorMeaning = {
  code: 'unsupported-value',
  message: 'A geospatial index of the collection cannot contain this document',
  hint: 'Send valid GeoJSON, such as {"type":"Point","coordinates":[13.4,52.5]}: longitude first, rings closed',
};
const LANGUAGE: MongoErrorMeaning = {
  code: 'unsupported-value',
  message: 'The text index of the collection does not support the language of this document',
  hint: 'A text index takes the language of a document from its field "language", or from another one that the index specifies',
};
const NOT_HASHABLE: MongoErrorMeaning = {
  code: 'unsupported-value',
  message: 'A hashed index of the collection cannot contain this document',
  hint: 'The fields of such an index cannot be arrays',
};
const SORT: MongoErrorMeaning = {
  code: 'sort-not-possible',
  message: 'A document has arrays under two of the sort keys',
  hint: 'Sort by at most one field that has arrays',
};
const MEMORY: MongoErrorMeaning = {
  code: 'sort-not-possible',
  message: 'Sorting so many documents requires more memory than the database is allowed to use',
  hint: 'Narrow the filter, or add an index on the sort keys',
};
const PATTERN: MongoErrorMeaning = {
  code: 'invalid-filter',
  message: 'The filter searches one text for more than the database can process',
  hint: 'Search for shorter texts',
};
const RULED_OUT: MongoErrorMeaning = {
  code: 'unsupported-value',
  message: 'A validation rule of this collection in the database rejects the document',
};
const READ_ONLY: MongoErrorMeaning = {
  code: 'forbidden',
  message: 'Documents of a view or a time series cannot be written here',
};
const ALONE: MongoErrorMeaning = {
  code: 'forbidden',
  message: 'The database writes only one document at a time to a capped collection',
  hint: 'Write single documents, without an Idempotency-Key and outside of batches',
};
const TOO_MUCH: MongoErrorMeaning = {
  code: 'document-too-large',
  message: 'The write is larger than the database accepts at once',
  hint: 'Write it in smaller parts',
};

/** Of geo fields under a `2d` index: not two numbers, out of its bounds, and other invalid points. */
const CODES_OF_2D = [13026, 13027, 13068, 13654, 16804];
/** Of a language that a text index does not know. */
const CODES_OF_TEXT = [17261, 17262];
/** Of an array under a hashed index. */
const CODES_OF_HASHED = [16766];

const MEANINGS: readonly (readonly [meaning: MongoErrorMeaning, codes: readonly number[]])[] = [
  // MaxTimeMSExpired, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit, TransactionExceededLifetimeLimitSeconds
  [TIMEOUT, [MONGO_ERROR_CODES.maxTimeExpired, 202, 262, 290]],
  // BSONObjectTooLarge and similar ones
  [TOO_LARGE, [10334, 17280, 17419, 17420]],
  // HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, FailedToSatisfyReadPreference,
  // ReadConcernMajorityNotAvailableYet, PrimarySteppedDown, UserWritesBlocked, SocketException,
  // (Legacy)NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimary…
  [AWAY, [6, 7, 89, 91, 133, 134, 189, 371, 9001, 10058, 10107, 11600, 11602, 13435, 13436]],
  // WriteConcernFailed, UnknownReplWriteConcern, UnsatisfiableWriteConcern: too few members are available.
  [AWAY, [64, 79, 100]],
  // LockTimeout, CursorNotFound, LockBusy, ConflictingOperationInProgress, QueryPlanKilled, DatabaseDropPending,
  // RetryChangeStream, CursorKilled, SnapshotTooOld, SnapshotUnavailable, StaleChunkHistory, IndexBuildAborted,
  // ClientDisconnect, TransactionCoordinator…, IndexBuildAlreadyInProgress, InterruptedDueToStorageChange, Interrupted
  [
    INTERRUPTED,
    [
      24,
      MONGO_ERROR_CODES.cursorNotFound,
      46,
      117,
      175,
      215,
      234,
      237,
      239,
      246,
      250,
      276,
      279,
      281,
      282,
      285,
      355,
      11601,
    ],
  ],
  // TooManyLogicalSessions, TooManyFilesOpen, TemporarilyUnavailable, OutOfDiskSpace
  [FULL, [261, 264, 365, 14031]],
  // TransactionTooLarge, TransactionTooLargeForCache
  [TOO_MUCH, [257, 388]],
  // ExceededMemoryLimit, QueryExceededMemoryLimitNoDiskUseAllowed
  [MEMORY, [146, 292]],
  // The pattern of several texts in one $elemMatch, which all have to be found.
  [PATTERN, [51091]],
  // DocumentValidationFailure, CannotGrowDocumentInCappedNamespace
  [RULED_OUT, [121, 10003]],
  [READ_ONLY, [MONGO_ERROR_CODES.commandNotSupportedOnView]],
  [ALONE, [MONGO_ERROR_CODES.notInTransaction]],
  [NOT_INDEXABLE, [MONGO_ERROR_CODES.parallelArrays, MONGO_ERROR_CODES.ambiguousPath]],
  [NOT_GEO, [MONGO_ERROR_CODES.noGeoKeys, ...CODES_OF_2D]],
  [LANGUAGE, CODES_OF_TEXT],
  [NOT_HASHABLE, CODES_OF_HASHED],
  // The id of a document in a clustered collection
  [TOO_LARGE, [5894900]],
];

const BY_CODE: ReadonlyMap<number, MongoErrorMeaning> = new Map(
  MEANINGS.flatMap(([meaning, codes]) => codes.map((code): [number, MongoErrorMeaning] => [code, meaning])),
);

/**
 * The meaning of a server error; undefined if that depends on the operation, or the error is unknown here.
 * @param text the server's message: some codes have several meanings
 */
export function mongoErrorMeaning(code: number | undefined, text: string): MongoErrorMeaning | undefined {
  if (code === MONGO_ERROR_CODES.badValue && text.includes('parallel arrays')) return SORT;
  if (code === MONGO_ERROR_CODES.invalidOptions && /\b(?:view|time-series)\b/.test(text)) return READ_ONLY;
  if (code === MONGO_ERROR_CODES.notInTransaction && text.includes(' time-series collection')) return READ_ONLY;
  if (/larger than the maximum size|object to insert too large/i.test(text)) return TOO_LARGE;
  return code === undefined ? undefined : BY_CODE.get(code);
}

const KINDS: readonly (readonly [kind: string, codes: readonly number[]])[] = [
  ['2dsphere', [MONGO_ERROR_CODES.noGeoKeys]],
  ['2d', CODES_OF_2D],
  ['text', CODES_OF_TEXT],
  ['hashed', CODES_OF_HASHED],
];

/** The kind of index that rejects a document with this code; undefined for errors that are not about such an index. */
export function violatedIndexKind(code: number | undefined): string | undefined {
  return code === undefined ? undefined : KINDS.find(([, codes]) => codes.includes(code))?.[0];
}

/** For a server that cannot be reached at all. */
export const SERVER_UNREACHABLE_ERROR = AWAY;

/** For a document that the driver cannot even write. */
export const DOCUMENT_UNWRITABLE = TOO_LARGE;
