/** The plugins folder of this machine, and writing files into it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Environment, loadConfig } from '../../config/config.ts';

/** How this command is called: only a clone has npm's scripts. */
export const FUNCTIONS_COMMAND = import.meta.url.endsWith('.ts') ? 'npm run functions --' : 'millrace functions';

/** The folder with a subfolder per plugin: the first one that the server reads, too. */
export function pluginsFolder(env: Environment, given: string | undefined): string {
  return resolve(given ?? loadConfig(env).functions.folders[0] ?? 'plugins');
}

/**
 * The folder of one plugin, which has the plugin's name.
 * @param word the name of a plugin, or the path of its folder, as typed
 * @throws Error when there is no such folder
 */
export function findPluginFolder(word: string, folder: string): { readonly path: string; readonly name: string } {
  const isName = !/[\\/]|^\.+$/.test(word);
  const path = isName ? join(folder, word) : resolve(word);
  if (existsSync(join(path, 'plugin.json'))) return { path, name: basename(path) };
  throw new Error(`There is no ${displayPath(join(path, 'plugin.json'))}. ${FUNCTIONS_COMMAND} new creates a plugin`);
}

/** A path for display, relative to the working directory. */
export function displayPath(path: string): string {
  return relative('', path) || '.';
}

/**
 * Writes files into a folder, and creates missing folders.
 * @param files texts by path
 */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
