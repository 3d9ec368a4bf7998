/**
 * Stores idempotency keys and their responses in `<db>_log.idempotency` for 24 hours (a TTL index, which may remove
 * them a minute later).
 */
import type { Binary, ClientSession, Collection } from 'mongodb';
import { duplicateKey, MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { ERRORS, type ErrorCode, type Issue, MillraceError } from '../../lib/errors.ts';
import { idempotencyKeyInUse } from '../document-errors.ts';
import type { WriteResponse } from './write-response.ts';

const RETENTION_SECONDS = 24 * 60 * 60;
/**
 * Maximum size of a stored body: a document of the database holds 16 MB, and the row has other fields besides the body.
 */
const MAX_BODY_BYTES = 15 * 1024 * 1024;

/** One request with a key. */
export interface IdempotentRequest {
  /** Identifies the key by principal, method and path. */
  readonly id: string;
  /**
   * What the client may read of the collections it writes to, as text; null if it may read too little to get a stored
   * response.
   */
  readonly view: string | null;
  /** Whether the request is anonymous: another client of the same network may have used the key before. */
  readonly anonymous: boolean;
  /** Distinguishes requests with the same key: the query and the raw bytes of the body. */
  readonly fingerprint: string;
}

/** A rejection as stored: everything of the error except its cause. */
export interface StoredRejection {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly issues: readonly Issue[];
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, unknown>>;
}

export type IdempotentOutcome = { readonly response: WriteResponse } | { readonly refusal: StoredRejection };

export interface StoredIdempotentOutcome {
  readonly fingerprint: string;
  /** What the client could read when the response was stored, as text; null if that was too little for a repetition. */
  readonly view: string | null;
  readonly outcome: IdempotentOutcome;
}

/** Another request has used this key since it was looked up. */
export class IdempotencyKeyTaken extends Error {
  override readonly name = 'IdempotencyKeyTaken';
}

interface KeyRow {
  _id: string;
  fingerprint: string;
  at: Date;
  /** Absent where too little could be read, and in rows of earlier versions. */
  view?: string;
  /** Pairs instead of an object, so that a dot or a dollar in a header name is safe. */
  response?: { status: number; headers: [string, string][]; body: Binary | Buffer | null };
  /** JSON, since the names inside are arbitrary. */
  refusal?: string;
}

export class IdempotencyStore {
  readonly #rows: Collection<KeyRow>;
  readonly #now: () => Date;

  constructor(mongo: Pick<Mongo, 'log'>, now: () => Date = () => new Date()) {
    this.#rows = mongo.log.collection<KeyRow>('idempotency');
    this.#now = now;
  }

  /** Creates the collection and its TTL index. */
  async start(): Promise<void> {
    await this.#rows.createIndex({ at: 1 }, { expireAfterSeconds: RETENTION_SECONDS });
  }

  async find(id: string): Promise<StoredIdempotentOutcome | null> {
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: id }));
    return row === null ? null : toKept(row);
  }

  /**
   * Claims the key in the transaction of its write.
   * @throws IdempotencyKeyTaken when its first request has finished meanwhile, MillraceError `idempotency-key-in-use` when it has
   * not
   */
  async reserve({ id, fingerprint }: IdempotentRequest, session: ClientSession): Promise<void> {
    try {
      await this.#rows.insertOne({ _id: id, fingerprint, at: this.#now() }, { session });
    } catch (error) {
      if (duplicateKey(error)) throw new IdempotencyKeyTaken('The key is in use');
      // Another open transaction holds the row; a retry of this one would only get the same conflict.
      if (mongoErrorCode(error) === MONGO_ERROR_CODES.writeConflict) throw idempotencyKeyInUse();
      throw error;
    }
  }

  /**
   * Stores the response with the key, in the same transaction.
   * @throws MillraceError `response-too-large`
   */
  async storeResponse(
    { id, view }: IdempotentRequest,
    { status, headers, body }: WriteResponse,
    session: ClientSession,
  ): Promise<void> {
    if (body !== null && body.length > MAX_BODY_BYTES) {
      throw new MillraceError('response-too-large', 'The response is too large to be stored for its Idempotency-Key', {
        hint: 'Send Prefer: return=minimal',
      });
    }
    const response = { status, headers: Object.entries(headers), body };
    await this.#rows.updateOne({ _id: id }, { $set: { response, ...(view === null ? {} : { view }) } }, { session });
  }

  /** Stores a rejection, which wrote nothing; false when another request has used the key meanwhile. */
  async storeRejection({ id, fingerprint }: IdempotentRequest, error: MillraceError): Promise<boolean> {
    const { code, message, hint, issues, headers, extensions } = error;
    const refusal = JSON.stringify({ code, message, hint, issues, headers, extensions });
    try {
      await withTranslatedErrors(() => this.#rows.insertOne({ _id: id, fingerprint, at: this.#now(), refusal }));
      return true;
    } catch (failed) {
      if (duplicateKey(failed)) return false;
      throw failed;
    }
  }
}

function toKept({ fingerprint, view: readable, response, refusal }: KeyRow): StoredIdempotentOutcome {
  const view = readable ?? null;
  if (refusal !== undefined) return { fingerprint, view, outcome: { refusal: parseRefusal(refusal) } };
  if (response === undefined) throw new MillraceError('internal', 'A stored idempotency key has no outcome');
  const { status, headers, body } = response;
  const bytes = body === null ? null : Buffer.from(Buffer.isBuffer(body) ? body : body.value());
  return { fingerprint, view, outcome: { response: { status, headers: Object.fromEntries(headers), body: bytes } } };
}

function parseRefusal(text: string): StoredRejection {
  const refusal: StoredRejection = JSON.parse(text);
  // Another version of Millrace stored the code, and this version does not know it.
  if (!Object.hasOwn(ERRORS, refusal.code)) throw new MillraceError('internal', 'A stored error code is unknown');
  return refusal;
}
