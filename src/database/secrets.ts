/**
 * Secrets that an installation makes for itself and all its processes share. They stand in `<db>_log`, whose changes are
 * no events.
 */
import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { Mongo } from './mongo.ts';

/**
 * The secret of this name, 32 random bytes, made at first use.
 * @param name what it is for, such as `cursors`
 */
export async function sharedSecret(mongo: Mongo, name: string): Promise<Buffer> {
  const secrets = mongo.log.collection<{ _id: string; value: Binary }>('secrets');
  const stored = await secrets.findOneAndUpdate(
    { _id: name },
    { $setOnInsert: { value: new Binary(randomBytes(32)) } },
    { upsert: true, returnDocument: 'after' },
  );
  if (stored === null) throw new Error(`The secret '${name}' could not be made`);
  return Buffer.from(stored.value.buffer);
}
