/**
 * What all system collections in `<db>` have in common: they keep both states of a change for their events, and each
 * document names in `_meta` the actor of its last change. Not here: their contents; secrets are in `<db>_log`.
 */
import type { CollectionInfo, Db, IndexDescription } from 'mongodb';
import type { SystemCollection } from '../kernel/event-types.ts';
import { CODE, serverCode, translated } from './errors.ts';

const IMAGES = { enabled: true } as const;

/** The actor of a change, as its event names it. */
export interface Stamp {
  /** The principal, as `user:u1`; null when no principal requested the change. */
  readonly by: string | null;
  /** Id of the request; null for what the program does by itself. */
  readonly request: string | null;
}

/** How an actor is stored with its changes and named in events: `user:u1`. */
export function actorText(kind: string, id: string): string {
  return `${kind}:${id}`;
}

/** The actor of a change that a request makes. */
export interface RequestStamp extends Stamp {
  readonly request: string;
}

/** What a document keeps of its last change. */
export interface OwnMeta {
  readonly revision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
  readonly by: string | null;
  readonly request: string | null;
}

/** What the program does by itself. */
export const ITSELF: Stamp = { by: null, request: null };

/**
 * Makes sure that a collection exists and keeps the state before and after each change for its events. One that does so
 * already is left alone: a needless `collMod` would be an event of its own.
 * @param lockMs how long switching the states on may wait for the locks of others, in milliseconds
 * @returns whether it was made now
 * @throws MongoServerError of `collMod`: 50 while others hold it, 12587 while an index is being built
 */
export async function ensureCollection(data: Db, name: string, lockMs?: number): Promise<boolean> {
  if (await keepsImages(data, name)) return false;
  try {
    await data.createCollection(name, { changeStreamPreAndPostImages: IMAGES });
    return true;
  } catch (error) {
    if (serverCode(error) !== CODE.namespaceExists) throw error;
    // It was there without images, or another process was faster.
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

/** Makes sure that a collection of the system exists, keeps images and has its indexes. */
export async function makeOwnCollection(
  { data }: { readonly data: Db },
  name: SystemCollection,
  indexes: readonly IndexDescription[] = [],
): Promise<void> {
  await translated(async () => {
    await ensureCollection(data, name);
    if (indexes.length > 0) await data.collection(name).createIndexes([...indexes]);
  });
}

/** `_meta` of a new document. */
export function newMeta({ by, request }: Stamp, now: Date): OwnMeta {
  const who = idOfActor(by);
  return { revision: 1, createdAt: now, updatedAt: now, createdBy: who, updatedBy: who, by, request };
}

/** The `$set` of a change that leaves its stamp; increase `_meta.revision` with it. */
export function stamped(
  { by, request }: Stamp,
  now: Date,
): {
  '_meta.updatedAt': Date;
  '_meta.updatedBy': string | null;
  '_meta.by': string | null;
  '_meta.request': string | null;
} {
  return { '_meta.updatedAt': now, '_meta.updatedBy': idOfActor(by), '_meta.by': by, '_meta.request': request };
}

/** The `$set` that leaves a stamp on a document which is deleted next; alone it is no event. */
export function stampedForDeletion({ by, request }: Stamp): {
  '_meta.by': string | null;
  '_meta.request': string | null;
} {
  return { '_meta.by': by, '_meta.request': request };
}

/** The id in {@link actorText}: `u1` of `user:u1`. */
export function idOfActor(by: string | null): string | null {
  return by === null ? null : by.slice(by.indexOf(':') + 1);
}
