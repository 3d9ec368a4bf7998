/**
 * The plugins that lie in folders, and where to look for changes of them. Each folder in one of the folders of plugins is one if
 * it has a `plugin.json`. Not here: what a plugin needs (read-plugin.ts), and noticing changes (folder-watch.ts).
 */
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { type FolderPlugin, MANIFEST_FILE, readPlugin, unreadablePlugin } from './read-plugin.ts';

/** Folders of plugins in one folder; with more of them nothing after these is looked at, and the next one is a fault. */
const MOST = 500;

/** A folder to watch. */
export interface WatchedFolder {
  /** Tells a folder from another one that took its place. */
  readonly inode: bigint;
  /** The one name that matters in it; null for any. */
  readonly only: string | null;
}

export interface FoundPlugins {
  /** In the order of the folders and of their names. */
  readonly plugins: readonly FolderPlugin[];
  readonly watched: ReadonlyMap<string, WatchedFolder>;
}

/** @param folders relative to the working directory; one that is missing holds none */
export async function findPlugins(folders: readonly string[]): Promise<FoundPlugins> {
  const plugins: FolderPlugin[] = [];
  const watched = new Map<string, WatchedFolder>();
  const watch = async (path: string, only: string | null = null): Promise<boolean> => {
    const found = await stat(path, { bigint: true }).catch(() => null);
    if (found?.isDirectory() !== true) return false;
    // Of a folder that matters as a whole, also because of another folder, every name matters.
    if (only === null || !watched.has(path)) watched.set(path, { inode: found.ino, only });
    return true;
  };
  for (const folder of folders.map((one) => resolve(one))) {
    try {
      // Asked apart: a folder that exists and cannot be read is a fault.
      await stat(folder);
      if (await watch(folder)) plugins.push(...(await pluginsIn(folder, watch)));
    } catch (error) {
      await watchForIt(folder, watch);
      if (isMissing(error)) continue;
      // A check of writes that is in there must not be overlooked. No plugin of the database can have this name.
      const name = `folder:${basename(folder)}`;
      plugins.push(unreadablePlugin(folder, name, `The folder cannot be read (${codeOf(error)})`));
    }
  }
  return { plugins, watched };
}

async function pluginsIn(folder: string, watch: (path: string) => Promise<boolean>): Promise<readonly FolderPlugin[]> {
  const plugins: FolderPlugin[] = [];
  const root = await realpath(folder);
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  for (const name of names.slice(0, MOST)) {
    const place = join(folder, name);
    await watch(place);
    const found = await pluginIn(root, place, name);
    if (found === null) continue;
    plugins.push(found);
    for (const inner of found.places) await watch(inner);
  }
  const [next] = names.slice(MOST);
  const message = `Nothing is read after the first ${MOST} folders`;
  return next === undefined ? plugins : [...plugins, unreadablePlugin(join(folder, next), next, message)];
}

/** The plugin at a path; null where there is certainly none. */
async function pluginIn(root: string, place: string, name: string): Promise<FolderPlugin | null> {
  try {
    // A link of which the target is missing may lead to a plugin, too.
    const isLink = (await lstat(place)).isSymbolicLink();
    const target = await stat(place).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));
    if (target === null) return isLink ? unreadablePlugin(place, name, `${name} is a symbolic link to nothing`) : null;
    if (!target.isDirectory()) return null;
    await lstat(join(place, MANIFEST_FILE));
    if ((await realpath(place)).startsWith(root + sep)) return await readPlugin(place, name);
    return unreadablePlugin(place, name, `${name} is a symbolic link out of the folder of plugins`);
  } catch (error) {
    return isMissing(error) ? null : unreadablePlugin(place, name, `${name} cannot be read (${codeOf(error)})`);
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/** Watches the nearest folder that exists for the next one on the way to a folder that does not. */
async function watchForIt(folder: string, watch: (path: string, only: string) => Promise<boolean>): Promise<void> {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) {
    if (await watch(dirname(path), basename(path))) return;
  }
}
