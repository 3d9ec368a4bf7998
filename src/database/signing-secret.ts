/**
 * A shared secret that signs texts for clients, such as page cursors (HMAC), and that can be replaced at any time: the
 * old secret still verifies as long as a text that it signed may be valid. Encrypted before it is stored, like all
 * secrets (lib/encryption.ts).
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { Encryption } from '../lib/encryption.ts';
import type { SigningKeys } from '../lib/hmac-signing-keys.ts';
import { withTranslatedErrors } from './errors.ts';
import type { Mongo } from './mongo.ts';
import {
  loadSharedSecret,
  type SharedSecretRow,
  secretEncryptionContext,
  sharedSecretToText,
} from './shared-secret.ts';

/** After this time every process knows a new secret and verifies by it. Only then the secret starts to sign. */
const HAND_OVER_MS = 5_000;
/** Maximum clock difference of processes. */
const OVERLAP_MS = 60_000;
const SECRET_BYTES = 32;

export interface SigningSecretOptions {
  readonly mongo: Pick<Mongo, 'log'>;
  /** Its purpose, such as `cursors`. */
  readonly name: string;
  /** How long a signature is valid, in milliseconds. */
  readonly lifetimeMs: number;
  readonly encryption: Encryption;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface OldKey {
  readonly key: KeyObject;
  /** When its last signature expires, in milliseconds since 1970. */
  readonly until: number;
}

export class SigningSecret implements SigningKeys {
  readonly #options: SigningSecretOptions;
  readonly #rows: Collection<SharedSecretRow>;
  #newest: KeyObject = createSecretKey(randomBytes(SECRET_BYTES));
  #signsFrom = 0;
  #old: readonly OldKey[] = [];

  constructor(options: SigningSecretOptions) {
    this.#options = options;
    this.#rows = options.mongo.log.collection<SharedSecretRow>('secrets');
  }

  /**
   * Reads or generates the secret. A secret that is not encrypted with the newest master key is encrypted again.
   * @throws DecryptionError without the master key that encrypted it
   */
  async start(): Promise<void> {
    const { mongo, name, encryption } = this.#options;
    await loadSharedSecret(mongo, name, encryption);
    const { value, older = [] } = await this.reload();
    if (!older.some((one) => encryption.isStale(one.value))) return;
    const encrypted = older.map((one) => ({ ...one, value: this.#encrypted(this.#opened(one.value)) }));
    await withTranslatedErrors(() => this.#rows.updateOne({ _id: name, value }, { $set: { older: encrypted } }));
  }

  get signing(): KeyObject {
    const [before] = this.#old;
    return before !== undefined && this.#options.now() < this.#signsFrom ? before.key : this.#newest;
  }

  get verifying(): readonly KeyObject[] {
    const now = this.#options.now();
    return [this.#newest, ...this.#old.filter(({ until }) => until > now).map(({ key }) => key)];
  }

  /**
   * Replaces the secret by a new one.
   * @param dropOld removes the old secrets at once, so that all their signatures become invalid: for a leaked secret
   */
  async rotate(dropOld: boolean): Promise<void> {
    const { name, now, lifetimeMs } = this.#options;
    for (let done = false; !done; ) {
      const { value, older = [] } = await this.reload();
      const at = now();
      const until = new Date(at + HAND_OVER_MS + lifetimeMs + OVERLAP_MS);
      const alive = older.filter((one) => one.until.getTime() > at);
      const next = {
        value: this.#encrypted(randomBytes(SECRET_BYTES)),
        signsFrom: new Date(at + HAND_OVER_MS),
        older: dropOld ? [] : [{ value: this.#encrypted(this.#opened(value)), until }, ...alive],
      };
      const { matchedCount } = await withTranslatedErrors(() =>
        this.#rows.updateOne({ _id: name, value }, { $set: next }),
      );
      // Otherwise another process has replaced it in between.
      done = matchedCount === 1;
    }
    await this.reload();
  }

  /** Reads it again, after it was changed elsewhere. */
  async reload(): Promise<SharedSecretRow> {
    const { name } = this.#options;
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: name }));
    if (row === null) throw new Error(`The secret '${name}' is missing`);
    this.#old = (row.older ?? []).map(({ value, until }) => ({ key: this.#key(value), until: until.getTime() }));
    this.#signsFrom = row.signsFrom?.getTime() ?? 0;
    this.#newest = this.#key(row.value);
    return row;
  }

  #key(value: SharedSecretRow['value']): KeyObject {
    return createSecretKey(this.#opened(value));
  }

  #opened(value: SharedSecretRow['value']): Buffer {
    const { name, encryption } = this.#options;
    return Buffer.from(encryption.open(sharedSecretToText(value), secretEncryptionContext(name)), 'base64');
  }

  #encrypted(secret: Buffer): string {
    const { name, encryption } = this.#options;
    return encryption.encrypt(secret.toString('base64'), secretEncryptionContext(name));
  }
}
