/**
 * Secrets that an installation makes for itself and all its processes share. They stand in `<db>_log`, whose changes are
 * no events.
 */
import { randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import { Sealer } from '../kernel/sealer.ts';
import type { Mongo } from './mongo.ts';

interface SecretRow {
  _id: string;
  /** The bytes, or base64 that a master key sealed. */
  value: Binary | string;
}

const PLAIN = new Sealer([]);

/**
 * The secret of this name, 32 random bytes, made at first use.
 * @param name what it is for, such as `cursors`
 * @param sealer encrypts it at rest
 * @throws SealBroken without the master key that sealed it
 */
export async function sharedSecret(mongo: Pick<Mongo, 'log'>, name: string, sealer = PLAIN): Promise<Buffer> {
  const secrets = mongo.log.collection<SecretRow>('secrets');
  const context = `secret ${name}`;
  const stored = await secrets.findOneAndUpdate(
    { _id: name },
    { $setOnInsert: { value: sealer.seal(randomBytes(32).toString('base64'), context) } },
    { upsert: true, returnDocument: 'after' },
  );
  if (stored === null) throw new Error(`The secret '${name}' could not be made`);
  const { value } = stored;
  const text = typeof value === 'string' ? value : Buffer.from(value.buffer).toString('base64');
  const opened = sealer.open(text, context);
  if (sealer.isStale(text)) {
    await secrets.updateOne({ _id: name, value }, { $set: { value: sealer.seal(opened, context) } });
  }
  return Buffer.from(opened, 'base64');
}
