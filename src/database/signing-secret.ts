/**
 * A shared secret that signs texts for clients, such as page cursors (HMAC), and that can be replaced at any time: the
 * old secret still verifies as long as a text that it signed may be valid. Encrypted before it is stored, like all
 * secrets (kernel/sealer.ts). Not here: what is signed, and the keys of tokens (auth/tokens/key-ring.ts).
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { Sealer } from '../kernel/sealer.ts';
import type { SigningKeys } from '../kernel/signing-keys.ts';
import { translated } from './errors.ts';
import type { Mongo } from './mongo.ts';
import { contextOf, type SecretRow, secretText, sharedSecret } from './secrets.ts';

/** After this time every process knows a new secret and verifies by it. Only then the secret begins to sign. */
const HAND_OVER_MS = 5_000;
/** How far the clocks of processes may differ. */
const OVERLAP_MS = 60_000;
const SECRET_BYTES = 32;

export interface SigningSecretOptions {
  readonly mongo: Pick<Mongo, 'log'>;
  /** What it is for, such as `cursors`. */
  readonly name: string;
  /** How long what it signs is valid, in milliseconds. */
  readonly lifetimeMs: number;
  readonly sealer: Sealer;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface OldKey {
  readonly key: KeyObject;
  /** When the last thing it signed is no longer valid, in milliseconds since 1970. */
  readonly until: number;
}

export class SigningSecret implements SigningKeys {
  readonly #options: SigningSecretOptions;
  readonly #rows: Collection<SecretRow>;
  #newest: KeyObject = createSecretKey(randomBytes(SECRET_BYTES));
  #signsFrom = 0;
  #old: readonly OldKey[] = [];

  constructor(options: SigningSecretOptions) {
    this.#options = options;
    this.#rows = options.mongo.log.collection<SecretRow>('secrets');
  }

  /**
   * Reads the secret or makes it. A secret that is not sealed with the newest master key is sealed anew.
   * @throws SealBroken without the master key that sealed it
   */
  async start(): Promise<void> {
    const { mongo, name, sealer } = this.#options;
    await sharedSecret(mongo, name, sealer);
    const { value, older = [] } = await this.reload();
    if (!older.some((one) => sealer.isStale(one.value))) return;
    const sealed = older.map((one) => ({ ...one, value: this.#sealed(this.#opened(one.value)) }));
    await translated(() => this.#rows.updateOne({ _id: name, value }, { $set: { older: sealed } }));
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
   * @param dropOld forgets the old secrets at once, so that everything they signed becomes invalid: for a leaked secret
   */
  async rotate(dropOld: boolean): Promise<void> {
    const { name, now, lifetimeMs } = this.#options;
    for (let done = false; !done; ) {
      const { value, older = [] } = await this.reload();
      const at = now();
      const until = new Date(at + HAND_OVER_MS + lifetimeMs + OVERLAP_MS);
      const alive = older.filter((one) => one.until.getTime() > at);
      const next = {
        value: this.#sealed(randomBytes(SECRET_BYTES)),
        signsFrom: new Date(at + HAND_OVER_MS),
        older: dropOld ? [] : [{ value: this.#sealed(this.#opened(value)), until }, ...alive],
      };
      const { matchedCount } = await translated(() => this.#rows.updateOne({ _id: name, value }, { $set: next }));
      // Otherwise another process has replaced it meanwhile.
      done = matchedCount === 1;
    }
    await this.reload();
  }

  /** Reads it again, after it was changed elsewhere. */
  async reload(): Promise<SecretRow> {
    const { name } = this.#options;
    const row = await translated(() => this.#rows.findOne({ _id: name }));
    if (row === null) throw new Error(`The secret '${name}' is gone`);
    this.#old = (row.older ?? []).map(({ value, until }) => ({ key: this.#key(value), until: until.getTime() }));
    this.#signsFrom = row.signsFrom?.getTime() ?? 0;
    this.#newest = this.#key(row.value);
    return row;
  }

  #key(value: SecretRow['value']): KeyObject {
    return createSecretKey(this.#opened(value));
  }

  #opened(value: SecretRow['value']): Buffer {
    const { name, sealer } = this.#options;
    return Buffer.from(sealer.open(secretText(value), contextOf(name)), 'base64');
  }

  #sealed(secret: Buffer): string {
    const { name, sealer } = this.#options;
    return sealer.seal(secret.toString('base64'), contextOf(name));
  }
}
