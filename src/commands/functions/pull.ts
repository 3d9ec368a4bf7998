/**
 * `millrace functions pull`: writes the version of a plugin that is in force at the server into a folder.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import { isScriptPath } from '../../functions/plugins/manifest/source.ts';
import type { Remote } from '../remote/remote.ts';
import { shownPath, writeFiles } from './plugin-place.ts';

const PLUGIN = Type.Object({
  name: Type.String(),
  version: Type.String(),
  manifest: Type.Object({}, { additionalProperties: true }),
  files: Type.Record(Type.String(), Type.String()),
});

/**
 * @param options.folder in which the folder of the plugin is or is made
 * @param options.force whether files that are there may be replaced
 * @throws Error when there are files and they may not be, or the server names files that no plugin can have
 */
export async function pull(
  { name, folder, force }: { readonly name: string; readonly folder: string; readonly force: boolean },
  remote: Remote,
): Promise<true> {
  const plugin = await remote.ask(PLUGIN, 'GET', `/admin/plugins/${encodeURIComponent(name)}`);
  const scripts = Object.entries(plugin.files);
  const strange = scripts.map(([path]) => path).find((path) => !isScriptPath(path));
  // A server may be somebody else's: it shall not choose where files are written.
  if (plugin.name !== name || strange !== undefined) {
    throw new Error(`${remote.url} answered with files that no plugin can have: ${strange ?? plugin.name}`);
  }
  const place = join(folder, name);
  const there = existsSync(place) ? readdirSync(place, { recursive: true }).map(String) : [];
  if (there.length > 0 && !force) {
    throw new Error(`${shownPath(place)} exists already. --force replaces the files in it that the version has, too`);
  }
  writeFiles(place, new Map([...scripts, ['plugin.json', `${JSON.stringify(plugin.manifest, null, 2)}\n`]]));
  console.log(`Wrote version ${plugin.version} of ${name} to ${shownPath(place)}`);
  const others = there.filter((path) => isScriptPath(path) && !(path in plugin.files));
  if (others.length > 0) console.log(`Not in that version, and still there: ${others.sort().join(', ')}`);
  return true;
}
