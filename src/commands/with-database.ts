/**
 * The configured database, opened for a command: a deployment, the embedded MongoDB of the running program, or an embedded
 * MongoDB started for this command.
 */
import { join, resolve } from 'node:path';
import { type AuthServices, createAuthServices } from '../auth/services.ts';
import type { Config } from '../config/config.ts';
import { runningConnectionString } from '../database/embedded/credentials.ts';
import { findDataFolderHolder } from '../database/embedded/data-dir-lock.ts';
import { startEmbeddedDatabase } from '../database/embedded/embedded.ts';
import { connectMongo, type Mongo, missingPrivilegesError } from '../database/mongo.ts';

/** Opens the database, runs the work and closes everything that was opened. */
export async function withDatabase<T>(config: Config, work: (mongo: Mongo) => Promise<T>): Promise<T> {
  const { binary, name } = config.database;
  const known = config.database.url ?? (await runningEmbedded(config.folder));
  const embedded =
    known === undefined
      ? await startEmbeddedDatabase({ folder: config.folder, binary, onProgress: console.error })
      : undefined;
  try {
    const settings = { url: known ?? embedded?.url ?? '', database: name };
    const mongo = await connectMongo(settings);
    try {
      return await work(mongo);
    } catch (error) {
      throw missingPrivilegesError(error, settings) ?? error;
    } finally {
      await mongo.close();
    }
  } finally {
    await embedded?.stop();
  }
}

/** The same, with the services for users and keys. It does not create the configured administrator. */
export function withAuth<T>(config: Config, work: (auth: AuthServices) => Promise<T>): Promise<T> {
  const { mode, auth } = config;
  return withDatabase(config, async (mongo) => {
    await using cleanup = new AsyncDisposableStack();
    return await work(
      await createAuthServices({ mongo, mode, config: { ...auth, owner: null }, onError: console.error, cleanup }),
    );
  });
}

/** How to reach the embedded MongoDB of a running program: the port from its command line, the password from its folder. */
async function runningEmbedded(folder: string): Promise<string | undefined> {
  const holder = await findDataFolderHolder(join(resolve(folder), 'data'));
  if (holder?.owner == null) return undefined;
  const word = (name: string) => new RegExp(`--${name}[\\0 ]([^\\0 ]+)`).exec(holder.mongod.command)?.[1];
  const [port, set] = [word('port'), word('replSet')];
  return port === undefined || set === undefined ? undefined : runningConnectionString(resolve(folder), port, set);
}
