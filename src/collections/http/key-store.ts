/**
 * Where idempotency keys and their answers are kept: `<db>_log.idempotency`, for 24 hours (a TTL index, whose sweeper may
 * leave them a minute longer). Not here: what a key means (idempotency.ts).
 */
import type { Binary, ClientSession, Collection } from 'mongodb';
import { CODE, duplicateKey, serverCode, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { ERRORS, type ErrorCode, type Fault, MillraceError } from '../../kernel/errors.ts';
import { keyInUse } from '../refusals.ts';
import type { WriteResponse } from './write-response.ts';

const KEPT_SECONDS = 24 * 60 * 60;
/**
 * Largest body that is kept: a document of the database holds 16 MB, and the row has other members besides the body.
 */
const MAX_BODY_BYTES = 15 * 1024 * 1024;

/** One request under a key. */
export interface IdempotencyKey {
  /** Names the key of this principal for this method and path. */
  readonly id: string;
  /**
   * What the client may read of the collections it writes to, as a text; null if it may read too little to be shown an
   * answer again.
   */
  readonly view: string | null;
  /** Whether the request is anonymous: another client of the same network may have used the key before. */
  readonly anonymous: boolean;
  /** Tells one request under the key from another: its query and the raw bytes of its body. */
  readonly fingerprint: string;
}

/** A refusal as it is kept: everything of the error but its cause. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, unknown>>;
}

export type KeyedOutcome = { readonly answer: WriteResponse } | { readonly refusal: Refusal };

export interface Kept {
  readonly fingerprint: string;
  /** What the client could read when the answer was kept, as a text; null if that was too little to show it again. */
  readonly view: string | null;
  readonly outcome: KeyedOutcome;
}

/** Another request has used this key since it was looked up. */
export class KeyTaken extends Error {
  override readonly name = 'KeyTaken';
}

interface KeyRow {
  _id: string;
  fingerprint: string;
  at: Date;
  /** Absent where too little could be read, and in rows of earlier versions. */
  view?: string;
  /** Pairs instead of an object, so that a dot or a dollar in a header's name does no harm. */
  answer?: { status: number; headers: [string, string][]; body: Binary | Buffer | null };
  /** JSON, since the names inside are free. */
  refusal?: string;
}

export class KeyStore {
  readonly #rows: Collection<KeyRow>;
  readonly #now: () => Date;

  constructor(mongo: Pick<Mongo, 'log'>, now: () => Date = () => new Date()) {
    this.#rows = mongo.log.collection<KeyRow>('idempotency');
    this.#now = now;
  }

  /** Makes the collection and lets its rows expire. */
  async start(): Promise<void> {
    await this.#rows.createIndex({ at: 1 }, { expireAfterSeconds: KEPT_SECONDS });
  }

  async find(id: string): Promise<Kept | null> {
    const row = await translated(() => this.#rows.findOne({ _id: id }));
    return row === null ? null : toKept(row);
  }

  /**
   * Takes the key within the transaction of its write.
   * @throws KeyTaken when its first request has ended meanwhile, MillraceError `key-in-use` when it has not
   */
  async reserve({ id, fingerprint }: IdempotencyKey, session: ClientSession): Promise<void> {
    try {
      await this.#rows.insertOne({ _id: id, fingerprint, at: this.#now() }, { session });
    } catch (error) {
      if (duplicateKey(error)) throw new KeyTaken('The key is taken');
      // Another open transaction holds the row; running this one again would only get the same conflict.
      if (serverCode(error) === CODE.writeConflict) throw keyInUse();
      throw error;
    }
  }

  /**
   * Keeps the answer with the key, in the same transaction.
   * @throws MillraceError `answer-too-large`
   */
  async keep(
    { id, view }: IdempotencyKey,
    { status, headers, body }: WriteResponse,
    session: ClientSession,
  ): Promise<void> {
    if (body !== null && body.length > MAX_BODY_BYTES) {
      throw new MillraceError('answer-too-large', 'The answer is too large to be kept for its Idempotency-Key', {
        hint: 'Send Prefer: return=minimal',
      });
    }
    const answer = { status, headers: Object.entries(headers), body };
    await this.#rows.updateOne({ _id: id }, { $set: { answer, ...(view === null ? {} : { view }) } }, { session });
  }

  /** Keeps a refusal, which wrote nothing; false when another request has used the key meanwhile. */
  async keepRefusal({ id, fingerprint }: IdempotencyKey, error: MillraceError): Promise<boolean> {
    const { code, message, hint, faults, headers, extensions } = error;
    const refusal = JSON.stringify({ code, message, hint, faults, headers, extensions });
    try {
      await translated(() => this.#rows.insertOne({ _id: id, fingerprint, at: this.#now(), refusal }));
      return true;
    } catch (failed) {
      if (duplicateKey(failed)) return false;
      throw failed;
    }
  }
}

function toKept({ fingerprint, view: readable, answer, refusal }: KeyRow): Kept {
  const view = readable ?? null;
  if (refusal !== undefined) return { fingerprint, view, outcome: { refusal: parseRefusal(refusal) } };
  if (answer === undefined) throw new MillraceError('internal', 'A kept idempotency key has no outcome');
  const { status, headers, body } = answer;
  const bytes = body === null ? null : Buffer.from(Buffer.isBuffer(body) ? body : body.value());
  return { fingerprint, view, outcome: { answer: { status, headers: Object.fromEntries(headers), body: bytes } } };
}

function parseRefusal(text: string): Refusal {
  const refusal: Refusal = JSON.parse(text);
  // The code was written by another version of Millrace, and this version does not know it.
  if (!Object.hasOwn(ERRORS, refusal.code)) throw new MillraceError('internal', 'A kept refusal is not known here');
  return refusal;
}
