/**
 * The keys that sign tokens, and the issuer name: one document in `<db>_log`, so that creating and rotating them is one
 * atomic write, however many processes try. Only this folder calls this file.
 */
import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Encryption } from '../../lib/encryption.ts';
import type { TokenKey } from './jwt.ts';

/** A stored key; the first of the ring signs, the others only verify. */
export interface StoredSigningKey extends TokenKey {
  readonly createdAt: Date;
  /** When the last token that it signed has expired; null while it signs. */
  readonly until: Date | null;
}

export interface StoredSigningKeys {
  readonly keys: readonly StoredSigningKey[];
  /** The unique issuer name of the instance, shared by all its processes. */
  readonly issuer: string;
}

interface RingRow {
  _id: string;
  keys: StoredSigningKey[];
  issuer: string;
}

const ID = 'access-tokens';

export class SigningKeyStore {
  readonly #rings: Collection<RingRow>;
  readonly #encryption: Encryption;

  constructor({ log }: Pick<Mongo, 'log'>, encryption: Encryption) {
    this.#rings = log.collection<RingRow>('signing_keys');
    this.#encryption = encryption;
  }

  /**
   * Returns the ring. If there is none yet, it is created with the given key and encrypted with the newest master key.
   * @throws DecryptionError without the master key that encrypted it
   */
  async open(first: StoredSigningKey): Promise<StoredSigningKeys> {
    const begin = (field: string, value: unknown) => ({ $ifNull: [`$${field}`, { $literal: value }] });
    const keys = begin('keys', this.#encrypted([first]));
    const ring = await withTranslatedErrors(() =>
      this.#rings.findOneAndUpdate(
        { _id: ID },
        [{ $set: { keys, issuer: begin('issuer', `urn:uuid:${randomUUID()}`) } }],
        { upsert: true, returnDocument: 'after' },
      ),
    );
    if (ring === null) throw new Error('The signing keys could not be created');
    return { keys: await this.#freshlyEncrypted(ring.keys), issuer: ring.issuer };
  }

  async #freshlyEncrypted(stored: readonly StoredSigningKey[]): Promise<readonly StoredSigningKey[]> {
    const keys = this.#opened(stored);
    const [signing] = keys;
    const stale = stored.some(({ privateKey }) => this.#encryption.isStale(privateKey));
    if (stale && signing !== undefined) await this.replace(signing.kid, keys);
    return keys;
  }

  /** @throws DecryptionError without the master key that encrypted them */
  async read(): Promise<readonly StoredSigningKey[]> {
    return this.#opened((await withTranslatedErrors(() => this.#rings.findOne({ _id: ID })))?.keys ?? []);
  }

  /** Replaces the ring whose first key is given; false when another process replaced it before. */
  async replace(signing: string, keys: readonly StoredSigningKey[]): Promise<boolean> {
    const { matchedCount } = await withTranslatedErrors(() =>
      this.#rings.updateOne({ _id: ID, 'keys.0.kid': signing }, { $set: { keys: this.#encrypted(keys) } }),
    );
    return matchedCount === 1;
  }

  #encrypted(keys: readonly StoredSigningKey[]): StoredSigningKey[] {
    return keys.map((key) => ({ ...key, privateKey: this.#encryption.encrypt(key.privateKey, contextOf(key)) }));
  }

  #opened(keys: readonly StoredSigningKey[]): StoredSigningKey[] {
    return keys.map((key) => ({ ...key, privateKey: this.#encryption.open(key.privateKey, contextOf(key)) }));
  }
}

function contextOf({ kid }: TokenKey): string {
  return `signing key ${kid}`;
}
