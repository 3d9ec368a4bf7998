/** What a start takes from the settings of sign-in: the master key of stored secrets, and the first administrator. */
import { readFile } from 'node:fs/promises';
import { type AuthConfig, ConfigError } from '../config/config.ts';
import { UnusableDatabase } from '../database/startup-error.ts';
import { DecryptionError, Encryption, parseMasterKeys } from '../lib/encryption.ts';
import { MillraceError } from '../lib/errors.ts';
import type { FirstAdmin } from './sign-in/first-admin.ts';

/** @throws ConfigError when the master key cannot be read or is no key */
export async function loadEncryption(masterKey: string | null): Promise<Encryption> {
  if (masterKey === null) return new Encryption([]);
  const [, path] = /^file:(.*)$/.exec(masterKey) ?? [];
  const text = path === undefined ? masterKey : await readSecret('MILLRACE_MASTER_KEY', path);
  const keys = parseMasterKeys(text);
  if (keys === null) throw new ConfigError([`MILLRACE_MASTER_KEY=file:${path}: a key must be 32 bytes as base64`]);
  return new Encryption(keys);
}

/** Says which setting is wrong when the secrets in the database cannot be decrypted. */
export function explainDecryptionError(error: unknown): never {
  if (!(error instanceof DecryptionError)) throw error;
  throw new UnusableDatabase(
    `The secrets in the database cannot be read: ${error.message}. Set MILLRACE_MASTER_KEY to its previous value.`,
  );
}

/** Reads a secret from a file, without the line break at its end. */
async function readSecret(setting: string, path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ConfigError([`${setting}: ${error instanceof Error ? error.message : String(error)}`]);
  });
  return text.replace(/\r?\n$/, '');
}

/**
 * Creates the administrator of the settings, if there is none. If another user has the e-mail address, a start without
 * any administrator fails; if there is one, an error is logged.
 * @throws ConfigError
 */
export async function createConfiguredAdmin(
  firstAdmin: FirstAdmin,
  requested: AuthConfig['owner'],
  onError: (error: unknown) => void,
): Promise<void> {
  if (requested === null) return;
  const password = await readSecret('MILLRACE_ADMIN_PASSWORD_FILE', requested.passwordFile);
  try {
    await firstAdmin.ensure(requested.email, password);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'email-taken') {
      const taken = `MILLRACE_ADMIN_EMAIL=${requested.email}: this e-mail address belongs to a user who is not an administrator; no administrator was created`;
      if (!(await firstAdmin.exists()))
        throw new ConfigError([`${taken}; use another e-mail address, or create an administrator with millrace admin`]);
      onError(new Error(taken));
      return;
    }
    if (!(error instanceof MillraceError) || error.code !== 'weak-password') throw error;
    throw new ConfigError([`MILLRACE_ADMIN_PASSWORD_FILE=${requested.passwordFile}: ${error.message}`]);
  }
}
