/**
 * The base of all system collections in `<db>`: they keep both states of a change for their events, and each document
 * has in `_meta` the actor of its last change.
 */
import type { CollectionInfo, Db, IndexDescription } from 'mongodb';
import type { SystemCollection } from '../lib/event-types.ts';
import { MONGO_ERROR_CODES, mongoErrorCode, withTranslatedErrors } from './errors.ts';

const IMAGES = { enabled: true } as const;

/** The collection of settings that administrators change at run time, in `<db>`. */
export const SETTINGS_COLLECTION = '_settings';

/** The actor of a change, as in its event. */
export interface ChangeStamp {
  /** The principal, as `user:u1`; null if no principal requested the change. */
  readonly by: string | null;
  /** Id of the request; null for background work. */
  readonly request: string | null;
}

/** The text of an actor in stored changes and events: `user:u1`. */
export function actorText(kind: string, id: string): string {
  return `${kind}:${id}`;
}

/** The actor of a change by a request. */
export interface RequestStamp extends ChangeStamp {
  readonly request: string;
}

/** The stored stamp of a document's last change. */
export interface SystemDocumentMeta {
  readonly revision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
  readonly by: string | null;
  readonly request: string | null;
}

/** Background work of the program. */
export const SYSTEM_CHANGE_STAMP: ChangeStamp = { by: null, request: null };

/**
 * Creates a collection if missing, and enables pre- and post-images for its events. One that has them is left alone: a
 * needless `collMod` would be an event of its own.
 * @param lockMs how long enabling may wait for locks, in milliseconds
 * @returns whether it was created now
 * @throws MongoServerError of `collMod`: 50 while others hold the lock, 12587 while an index is being built
 */
export async function ensureCollection(data: Db, name: string, lockMs?: number): Promise<boolean> {
  if (await keepsImages(data, name)) return false;
  try {
    await data.createCollection(name, { changeStreamPreAndPostImages: IMAGES });
    return true;
  } catch (error) {
    if (mongoErrorCode(error) !== MONGO_ERROR_CODES.namespaceExists) throw error;
    // It existed without images, or another process was faster.
    if (await keepsImages(data, name)) return false;
    const limit = lockMs === undefined ? {} : { maxTimeMS: lockMs };
    await data.command({ collMod: name, changeStreamPreAndPostImages: IMAGES, ...limit });
    return false;
  }
}

async function keepsImages(data: Db, name: string): Promise<boolean> {
  const [found] = await data.listCollections<CollectionInfo>({ name }, { nameOnly: false }).toArray();
  return found?.options?.['changeStreamPreAndPostImages']?.enabled === true;
}

/** Creates a system collection with images and indexes, as far as they are missing. */
export async function ensureSystemCollection(
  { data }: { readonly data: Db },
  name: SystemCollection,
  indexes: readonly IndexDescription[] = [],
): Promise<void> {
  await withTranslatedErrors(async () => {
    await ensureCollection(data, name);
    if (indexes.length > 0) await data.collection(name).createIndexes([...indexes]);
  });
}

/** `_meta` of a new document. */
export function newDocumentMeta({ by, request }: ChangeStamp, now: Date): SystemDocumentMeta {
  const who = actorIdWithoutKind(by);
  return { revision: 1, createdAt: now, updatedAt: now, createdBy: who, updatedBy: who, by, request };
}

/** The `$set` of a change that writes its stamp; increment `_meta.revision` with it. */
export function stampUpdate(
  { by, request }: ChangeStamp,
  now: Date,
): {
  '_meta.updatedAt': Date;
  '_meta.updatedBy': string | null;
  '_meta.by': string | null;
  '_meta.request': string | null;
} {
  return {
    '_meta.updatedAt': now,
    '_meta.updatedBy': actorIdWithoutKind(by),
    '_meta.by': by,
    '_meta.request': request,
  };
}

/** The `$set` that stamps a document which is deleted next; it is no event of its own. */
export function stampDeletion({ by, request }: ChangeStamp): {
  '_meta.by': string | null;
  '_meta.request': string | null;
} {
  return { '_meta.by': by, '_meta.request': request };
}

/** The id in {@link actorText}: `u1` of `user:u1`. */
export function actorIdWithoutKind(by: string | null): string | null {
  return by === null ? null : by.slice(by.indexOf(':') + 1);
}
