/**
 * The two secrets of an embedded MongoDB, stored in its folder and readable by this operating system user only: the key
 * of the replica set, with which a start signs in as the server itself, and the password of the program's database
 * user. The first start creates them; a missing, truncated or widely readable one is created again.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { platform } from 'node:process';
import { MillraceError } from '../../lib/errors.ts';

export interface EmbeddedCredentials {
  /** Path of the key file, which mongod reads itself. */
  readonly keyFile: string;
  readonly key: string;
  readonly password: string;
}

/** The program's user, in the database `admin`. */
export const DATABASE_USER = 'millrace';
const KEY_FILE = 'mongod.key';
const PASSWORD_FILE = 'mongod.password';
const MODE = 0o600;
const OTHERS = 0o077;
const SECRET_BYTES = 32;
/** Hexadecimal, because its digits are allowed both in a key file (base64) and in a connection string. */
const SECRET = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}\\n$`);

/**
 * The secrets of a folder.
 * @throws MillraceError `database-unavailable` if other users could read files of the folder
 */
export async function loadEmbeddedCredentials(folder: string): Promise<EmbeddedCredentials> {
  const keyFile = join(folder, KEY_FILE);
  return { keyFile, key: await ownSecret(keyFile), password: await ownSecret(join(folder, PASSWORD_FILE)) };
}

/** The connection string of a server that runs in a folder. The caller must be able to read its password file. */
export async function runningConnectionString(folder: string, port: string, set: string): Promise<string> {
  return connectionString(port, set, await readOwn(join(folder, PASSWORD_FILE)));
}

/** @param password null for a server that an older version started, which has no authentication */
export function connectionString(port: number | string, set: string, password: string | null): string {
  const who = password === null ? '' : `${DATABASE_USER}:${password}@`;
  const how = password === null ? '' : '&authMechanism=SCRAM-SHA-256';
  return `mongodb://${who}127.0.0.1:${port}/?replicaSet=${set}${how}`;
}

async function ownSecret(file: string): Promise<string> {
  try {
    const secret = (await readOwn(file)) ?? (await make(file));
    if (secret !== null) return secret;
  } catch (error) {
    throw refused(file, error instanceof Error ? error.message : String(error));
  }
  throw refused(file, 'its file system lets others read it');
}

/** The secret; null if it is missing, truncated, or other users may read it. */
async function readOwn(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (!SECRET.test(text)) return null;
  // Windows has no file modes; there the permissions of the folder protect it.
  if (platform !== 'win32' && ((await stat(file)).mode & OTHERS) !== 0) return null;
  return text.trimEnd();
}

/** Creates a complete file in one step. If two programs start at once, both read the file of the first one. */
async function make(file: string): Promise<string | null> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${randomBytes(SECRET_BYTES).toString('hex')}\n`, { mode: MODE, flag: 'wx', flush: true });
  try {
    if ((await readOwn(file)) === null) await rm(file, { force: true });
    await link(draft, file).catch(async (error: NodeJS.ErrnoException) => {
      // A file system without links: there the last file wins.
      if (error.code !== 'EEXIST') await rename(draft, file);
    });
  } finally {
    await rm(draft, { force: true });
  }
  return readOwn(file);
}

function refused(file: string, why: string): MillraceError {
  return new MillraceError('database-unavailable', `The secret ${file} cannot be restricted to this user: ${why}.`, {
    hint: 'Set MILLRACE_DATA_DIR to a folder of this user, on a file system with file modes.',
  });
}
