/**
 * Makes collections keep pre- and post-images; without them, updates and deletes have no states. Our own collections
 * are created with them. Collections of other programs are switched here, next to the recording, because a switch waits
 * for locks and the recording must not. Changes before the switch stay without images.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { CollectionInfo, Db } from 'mongodb';
import { CODE, serverCode } from '../../database/errors.ts';
import type { Note } from '../log/note.ts';

/**
 * How long a switch may wait for locks, in milliseconds: as long as it waits, new writes to the collection wait, too.
 */
const LOCK_MS = 1000;

export interface ImageTask {
  readonly db: Db;
  /** The one collection to switch; when left out, all collections. */
  readonly name?: string;
  /** After how long what failed is tried again, in milliseconds. */
  readonly againMs: number;
  readonly signal: AbortSignal;
  readonly onNote: Note | undefined;
}

type Fail = (error: unknown, collection?: string) => void;

/** Switches images on where they are off. Tries again after failures, until none is left or the signal aborts. */
export async function keepImages(task: ImageTask): Promise<void> {
  const { againMs, signal, onNote } = task;
  const told = new Set<string>();
  const fail: Fail = (error, collection = task.name) => {
    const fault = String(error);
    const line = `${collection} ${fault}`;
    if (!told.has(line) && !signal.aborted)
      onNote?.('warn', 'Pre- and post-images could not be switched on', { collection, fault });
    told.add(line);
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
async function switchOver({ db, name, signal, onNote }: ImageTask, fail: Fail): Promise<boolean> {
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
      // A collection that went away meanwhile needs no images.
      if (serverCode(error) === CODE.namespaceNotFound) continue;
      whole = false;
      fail(error, one.name);
    }
  }
  if (switched.length > 0)
    onNote?.('info', 'Collections keep pre- and post-images from now on', { collections: switched });
  return whole;
}
