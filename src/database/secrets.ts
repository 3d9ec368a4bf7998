/**
 * Secrets that an installation makes for itself and that all its processes share. They are stored in `<db>_log`, where
 * changes make no events. Not here: replacing a secret that signs (signing-secret.ts).
 */
import { randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import type { Sealer } from '../kernel/sealer.ts';
import type { Mongo } from './mongo.ts';

export interface SecretRow {
  _id: string;
  /** The bytes, or base64 that a master key sealed. */
  value: Binary | string;
  /** When `value` begins to sign; only of secrets that sign (signing-secret.ts), as is `older`. */
  signsFrom?: Date;
  /** The secrets before it, the newest first, each with the time from which nothing that it signed is valid. */
  older?: { value: string; until: Date }[];
}

/**
 * The secret of this name, 32 random bytes, made at first use.
 * @param name what it is for, such as `cursors`
 * @param sealer encrypts it before it is stored. A secret stored in clear, or sealed by an older master key, is sealed
 * anew
 * @throws SealBroken without the master key that sealed it
 */
export async function sharedSecret(mongo: Pick<Mongo, 'log'>, name: string, sealer: Sealer): Promise<Buffer> {
  const secrets = mongo.log.collection<SecretRow>('secrets');
  const context = contextOf(name);
  const stored = await secrets.findOneAndUpdate(
    { _id: name },
    { $setOnInsert: { value: sealer.seal(randomBytes(32).toString('base64'), context) } },
    { upsert: true, returnDocument: 'after' },
  );
  if (stored === null) throw new Error(`The secret '${name}' could not be made`);
  const { value } = stored;
  const text = secretText(value);
  const opened = sealer.open(text, context);
  if (sealer.isStale(text)) {
    await secrets.updateOne({ _id: name, value }, { $set: { value: sealer.seal(opened, context) } });
  }
  return Buffer.from(opened, 'base64');
}

/** What a secret is sealed for: it opens as no other. */
export function contextOf(name: string): string {
  return `secret ${name}`;
}

/** A stored secret as text: base64, or base64 that a master key sealed. */
export function secretText(value: SecretRow['value']): string {
  return typeof value === 'string' ? value : Buffer.from(value.buffer).toString('base64');
}
