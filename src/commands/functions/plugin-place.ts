/**
 * Where the plugins of this machine lie, and files that are written there. Not here: which files.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Environment, loadConfig } from '../../kernel/config/config.ts';

/** How this command is called: only a clone has npm's scripts. */
export const FUNCTIONS = import.meta.url.endsWith('.ts') ? 'npm run functions --' : 'millrace functions';

/** The folder in which each folder is a plugin: the first that the server reads, too. */
export function pluginsFolder(env: Environment, given: string | undefined): string {
  return resolve(given ?? loadConfig(env).functions.folders[0] ?? 'plugins');
}

/**
 * The folder of one plugin, which has the plugin's name.
 * @param word a name of a plugin, or the path of its folder, as a person has typed it
 * @throws Error when there is no such folder
 */
export function pluginPlace(word: string, folder: string): { readonly place: string; readonly name: string } {
  const isName = !/[\\/]|^\.+$/.test(word);
  const place = isName ? join(folder, word) : resolve(word);
  if (existsSync(join(place, 'plugin.json'))) return { place, name: basename(place) };
  throw new Error(`There is no ${shownPath(join(place, 'plugin.json'))}. ${FUNCTIONS} new makes a plugin`);
}

/** A path as it is shown: from where the command runs. */
export function shownPath(path: string): string {
  return relative('', path) || '.';
}

/** Writes files into a folder, and makes the folders that they need. @param files texts by path */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
