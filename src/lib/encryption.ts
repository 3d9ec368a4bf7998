/**
 * Encrypts secrets before they are stored (AES-256-GCM), with master keys outside of the database. The first key
 * encrypts and all of them decrypt, so that a key can be replaced. Without a master key, secrets are stored as they
 * are.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const MARK = 'enc1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A secret was encrypted with a master key that is not configured, or was changed after it was encrypted. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

interface MasterKey {
  readonly id: string;
  readonly bytes: Buffer;
}

export class Encryption {
  readonly #keys: readonly MasterKey[];

  /** @param keys 32 bytes each; the first one encrypts. None: no encryption */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((bytes) => ({
      id: createHash('sha256').update('millrace master key').update(bytes).digest('base64url').slice(0, 8),
      bytes,
    }));
  }

  /** @param context the purpose of the secret; it decrypts only with the same text */
  encrypt(secret: string, context: string): string {
    const [key] = this.#keys;
    if (key === undefined) return secret;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(context));
    const encrypted = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${MARK}.${key.id}.${encrypted.toString('base64url')}`;
  }

  /** @throws DecryptionError */
  open(stored: string, context: string): string {
    const [mark, id, text = ''] = stored.split('.');
    if (mark !== MARK) return stored;
    const key = this.#keys.find((one) => one.id === id);
    if (key === undefined)
      throw new DecryptionError(`they were encrypted with the master key ${id}, which is not configured`);
    const bytes = Buffer.from(text, 'base64url');
    const end = bytes.length - TAG_BYTES;
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(end));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()]).toString('utf8');
    } catch (error) {
      throw new DecryptionError('they were changed after they were encrypted', { cause: error });
    }
  }

  /** The prefix of values that the newest key encrypted; null without a key. */
  get prefix(): string | null {
    const [key] = this.#keys;
    return key === undefined ? null : `${MARK}.${key.id}.`;
  }

  /** Whether a stored secret should be encrypted again: it is plaintext, or an older key encrypted it. */
  isStale(stored: string): boolean {
    const { prefix } = this;
    return prefix !== null && !stored.startsWith(prefix);
  }
}

/** Reads master keys: base64, separated by commas. @returns null if one of them is not 32 bytes */
export function parseMasterKeys(text: string): Buffer[] | null {
  const parts = text.split(',').map((part) => part.trim());
  // Checked here, because the decoder ignores characters that are not base64.
  if (!parts.every((part) => /^[A-Za-z0-9+/_-]{43}=?$/.test(part))) return null;
  return parts.map((part) => Buffer.from(part, 'base64'));
}
