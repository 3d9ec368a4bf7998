/**
 * Enables pre- and post-images of collections; without them, updates and deletes have no states. Our own collections
 * are created with them. Collections of other programs are changed here, concurrently with the recording, because the
 * change waits for locks and the recording must not. Earlier changes stay without images.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { CollectionInfo, Db } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode } from '../../database/errors.ts';
import type { WriteServerLog } from '../log/server-log-forwarder.ts';

/**
 * How long a change may wait for locks, in milliseconds: as long as it waits, new writes to the collection wait, too.
 */
const LOCK_MS = 1000;

export interface PreImageTask {
  readonly db: Db;
  /** The one collection to change; all collections by default. */
  readonly name?: string;
  /** Time before a failed change is retried, in milliseconds. */
  readonly againMs: number;
  readonly signal: AbortSignal;
  readonly onLog: WriteServerLog | undefined;
}

type Fail = (error: unknown, collection?: string) => void;

/** Enables missing images. Retries after failures, until none is missing or the signal aborts. */
export async function enablePreImages(task: PreImageTask): Promise<void> {
  const { againMs, signal, onLog } = task;
  const reported = new Set<string>();
  const fail: Fail = (error, collection = task.name) => {
    const issue = String(error);
    const line = `${collection} ${issue}`;
    if (!reported.has(line) && !signal.aborted)
      onLog?.('warn', 'Pre- and post-images could not be enabled', { collection, error: issue });
    reported.add(line);
  };
  while (!signal.aborted) {
    try {
      if (await switchOver(task, fail)) return;
    } catch (error) {
      fail(error);
    }
    await pause(againMs, undefined, { signal }).catch(() => {});
  }
}

/** One round over the collections without images; false when some of them stay without. */
async function switchOver({ db, name, signal, onLog }: PreImageTask, fail: Fail): Promise<boolean> {
  const filter = { type: 'collection', ...(name === undefined ? {} : { name }) };
  const found = await db.listCollections<CollectionInfo>(filter, { signal }).toArray();
  const without = found.filter(
    (one) => !one.name.startsWith('system.') && one.options?.['changeStreamPreAndPostImages']?.enabled !== true,
  );
  const switched: string[] = [];
  let whole = true;
  for (const one of without) {
    const command = { collMod: one.name, changeStreamPreAndPostImages: { enabled: true }, maxTimeMS: LOCK_MS };
    try {
      await db.command(command, { signal });
      switched.push(one.name);
    } catch (error) {
      signal.throwIfAborted();
      // A collection that was dropped in between needs no images.
      if (mongoErrorCode(error) === MONGO_ERROR_CODES.namespaceNotFound) continue;
      whole = false;
      fail(error, one.name);
    }
  }
  if (switched.length > 0) onLog?.('info', 'Enabled pre- and post-images of collections', { collections: switched });
  return whole;
}
