/** The plugins in folders, and where to watch for their changes. Each subfolder with a `plugin.json` is a plugin. */
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { type FolderPlugin, MANIFEST_FILE, readPlugin, unreadablePlugin } from './read-plugin.ts';

/** Maximum plugin folders in one folder; the rest are ignored, and the first of them is reported as an error. */
const MOST = 500;

/** A folder to watch. */
export interface WatchedFolder {
  /** Distinguishes a folder from another one that replaced it. */
  readonly inode: bigint;
  /** The only relevant name in it; null for any. */
  readonly only: string | null;
}

export interface PluginFolderContents {
  /** In the order of the folders and of their names. */
  readonly plugins: readonly FolderPlugin[];
  readonly watched: ReadonlyMap<string, WatchedFolder>;
}

/** @param folders relative to the working directory; a missing one has no plugins */
export async function findPlugins(folders: readonly string[]): Promise<PluginFolderContents> {
  const plugins: FolderPlugin[] = [];
  const watched = new Map<string, WatchedFolder>();
  const watch = async (path: string, only: string | null = null): Promise<boolean> => {
    const found = await stat(path, { bigint: true }).catch(() => null);
    if (found?.isDirectory() !== true) return false;
    // If a folder is relevant as a whole, also because of another folder, every name in it is.
    if (only === null || !watched.has(path)) watched.set(path, { inode: found.ino, only });
    return true;
  };
  for (const folder of folders.map((one) => resolve(one))) {
    try {
      // Checked separately: a folder that exists and cannot be read is an error.
      await stat(folder);
      if (await watch(folder)) plugins.push(...(await pluginsIn(folder, watch)));
    } catch (error) {
      await watchForIt(folder, watch);
      if (isMissing(error)) continue;
      // A write hook in it must not be overlooked. No plugin of the database can have this name.
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
    const path = join(folder, name);
    await watch(path);
    const found = await pluginIn(root, path, name);
    if (found === null) continue;
    plugins.push(found);
    for (const inner of found.folders) await watch(inner);
  }
  const [next] = names.slice(MOST);
  const message = `Only the first ${MOST} folders are read`;
  return next === undefined ? plugins : [...plugins, unreadablePlugin(join(folder, next), next, message)];
}

/** The plugin at a path; null if there certainly is none. */
async function pluginIn(root: string, path: string, name: string): Promise<FolderPlugin | null> {
  try {
    // A dangling link may be meant for a plugin.
    const isLink = (await lstat(path)).isSymbolicLink();
    const target = await stat(path).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));
    if (target === null)
      return isLink ? unreadablePlugin(path, name, `${name} is a symbolic link to a missing target`) : null;
    if (!target.isDirectory()) return null;
    await lstat(join(path, MANIFEST_FILE));
    if ((await realpath(path)).startsWith(root + sep)) return await readPlugin(path, name);
    return unreadablePlugin(path, name, `${name} is a symbolic link that leaves the plugins folder`);
  } catch (error) {
    return isMissing(error) ? null : unreadablePlugin(path, name, `${name} cannot be read (${codeOf(error)})`);
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/** Watches the nearest existing ancestor of a missing folder. */
async function watchForIt(folder: string, watch: (path: string, only: string) => Promise<boolean>): Promise<void> {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) {
    if (await watch(dirname(path), basename(path))) return;
  }
}
