/**
 * Secrets that an instance generates for itself and that all its processes share. They are stored in `<db>_log`, where
 * changes make no events.
 */
import { randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import type { Encryption } from '../lib/encryption.ts';
import type { Mongo } from './mongo.ts';

export interface SharedSecretRow {
  _id: string;
  /** The bytes, or base64 that a master key encrypted. */
  value: Binary | string;
  /** When `value` begins to sign; only of signing secrets (signing-secret.ts), as is `older`. */
  signsFrom?: Date;
  /** The previous secrets, newest first, each with the time from which its signatures are invalid. */
  older?: { value: string; until: Date }[];
}

/**
 * The secret of this name, 32 random bytes, generated on first use.
 * @param name its purpose, such as `cursors`
 * @param encryption encrypts it before it is stored. A plaintext secret, or one encrypted by an older master key, is
 * encrypted again
 * @throws DecryptionError without the master key that encrypted it
 */
export async function loadSharedSecret(
  mongo: Pick<Mongo, 'log'>,
  name: string,
  encryption: Encryption,
): Promise<Buffer> {
  const secrets = mongo.log.collection<SharedSecretRow>('secrets');
  const context = secretEncryptionContext(name);
  const stored = await secrets.findOneAndUpdate(
    { _id: name },
    { $setOnInsert: { value: encryption.encrypt(randomBytes(32).toString('base64'), context) } },
    { upsert: true, returnDocument: 'after' },
  );
  if (stored === null) throw new Error(`The secret '${name}' could not be created`);
  const { value } = stored;
  const text = sharedSecretToText(value);
  const opened = encryption.open(text, context);
  if (encryption.isStale(text)) {
    await secrets.updateOne({ _id: name, value }, { $set: { value: encryption.encrypt(opened, context) } });
  }
  return Buffer.from(opened, 'base64');
}

/** The encryption context of a secret: a value stored for one purpose does not decrypt for another. */
export function secretEncryptionContext(name: string): string {
  return `secret ${name}`;
}

/** A stored secret as text: base64, or base64 that a master key encrypted. */
export function sharedSecretToText(value: SharedSecretRow['value']): string {
  return typeof value === 'string' ? value : Buffer.from(value.buffer).toString('base64');
}
