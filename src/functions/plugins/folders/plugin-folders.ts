/**
 * The plugins that lie in folders, and where to look for changes of them. Each folder in one of the folders of plugins is one if
 * it has a `plugin.json`. Not here: what a plugin needs (read-plugin.ts), and noticing changes (folder-watch.ts).
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { type FolderPlugin, MANIFEST_FILE, readPlugin } from './read-plugin.ts';

/** Folders of plugins in one folder; what comes after them, in the order of names, is not looked at. */
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
    if (!(await watch(folder))) {
      await watchForIt(folder, watch);
      continue;
    }
    const root = await realpath(folder);
    for (const name of (await readdir(folder).catch(() => [])).sort().slice(0, MOST)) {
      const place = join(folder, name);
      // A name that no plugin can have does not have to be watched, as .git or node_modules.
      if (!/^[\w-]+$/.test(name) || !(await watch(place))) continue;
      if ((await stat(join(place, MANIFEST_FILE)).catch(() => null)) === null) continue;
      plugins.push(await readIn(root, place, name));
      for (const inner of plugins.at(-1)?.places ?? []) await watch(inner);
    }
  }
  return { plugins, watched };
}

async function readIn(root: string, folder: string, name: string): Promise<FolderPlugin> {
  if ((await realpath(folder)).startsWith(root + sep)) return readPlugin(folder, name);
  const message = `${name} is a symbolic link out of the folder of plugins`;
  const faults = [{ file: '', line: null, column: null, message }];
  return { name, folder, manifest: null, files: new Map(), faults, digest: message, places: [] };
}

/** Watches the nearest folder that exists for the next one on the way to a folder that does not. */
async function watchForIt(folder: string, watch: (path: string, only: string) => Promise<boolean>): Promise<void> {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) {
    if (await watch(dirname(path), basename(path))) return;
  }
}
