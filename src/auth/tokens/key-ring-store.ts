/**
 * Where the keys that sign tokens are kept, and the issuer name: one document in `<db>_log`, so that creating and
 * rotating them is one atomic write, however many processes try. Only this folder calls this file.
 */
import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Sealer } from '../../kernel/sealer.ts';
import type { TokenKey } from './jwt.ts';

/** A key as it is kept; the first of the ring signs, the others only verify. */
export interface RingKey extends TokenKey {
  readonly madeAt: Date;
  /** When the last token that it signed has expired; null while it signs. */
  readonly until: Date | null;
}

export interface StoredKeyRing {
  readonly keys: readonly RingKey[];
  /** The unique issuer name of the installation, shared by all its processes. */
  readonly issuer: string;
}

interface RingRow {
  _id: string;
  keys: RingKey[];
  issuer: string;
}

const ID = 'access-tokens';

export class KeyRingStore {
  readonly #rings: Collection<RingRow>;
  readonly #sealer: Sealer;

  constructor({ log }: Pick<Mongo, 'log'>, sealer: Sealer) {
    this.#rings = log.collection<RingRow>('keyring');
    this.#sealer = sealer;
  }

  /**
   * Returns the ring. If there is none yet, it is made with the given key and sealed with the newest master key.
   * @throws SealBroken without the master key that sealed it
   */
  async open(first: RingKey): Promise<StoredKeyRing> {
    const begin = (member: string, value: unknown) => ({ $ifNull: [`$${member}`, { $literal: value }] });
    const keys = begin('keys', this.#sealed([first]));
    const ring = await translated(() =>
      this.#rings.findOneAndUpdate(
        { _id: ID },
        [{ $set: { keys, issuer: begin('issuer', `urn:uuid:${randomUUID()}`) } }],
        { upsert: true, returnDocument: 'after' },
      ),
    );
    if (ring === null) throw new Error('The key ring could not be made');
    return { keys: await this.#freshlySealed(ring.keys), issuer: ring.issuer };
  }

  async #freshlySealed(stored: readonly RingKey[]): Promise<readonly RingKey[]> {
    const keys = this.#opened(stored);
    const [signing] = keys;
    const stale = stored.some(({ privateKey }) => this.#sealer.isStale(privateKey));
    if (stale && signing !== undefined) await this.replace(signing.kid, keys);
    return keys;
  }

  /** @throws SealBroken without the master key that sealed them */
  async read(): Promise<readonly RingKey[]> {
    return this.#opened((await translated(() => this.#rings.findOne({ _id: ID })))?.keys ?? []);
  }

  /** Replaces the ring whose first key is named; false when another process replaced it before. */
  async replace(signing: string, keys: readonly RingKey[]): Promise<boolean> {
    const { matchedCount } = await translated(() =>
      this.#rings.updateOne({ _id: ID, 'keys.0.kid': signing }, { $set: { keys: this.#sealed(keys) } }),
    );
    return matchedCount === 1;
  }

  #sealed(keys: readonly RingKey[]): RingKey[] {
    return keys.map((key) => ({ ...key, privateKey: this.#sealer.seal(key.privateKey, contextOf(key)) }));
  }

  #opened(keys: readonly RingKey[]): RingKey[] {
    return keys.map((key) => ({ ...key, privateKey: this.#sealer.open(key.privateKey, contextOf(key)) }));
  }
}

function contextOf({ kid }: TokenKey): string {
  return `signing key ${kid}`;
}
