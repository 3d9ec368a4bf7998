/** `millrace functions pull`: writes the active version of a plugin on the server into a folder. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import { isScriptPath } from '../../functions/plugins/manifest/script-validation.ts';
import type { RemoteServer } from '../remote/remote.ts';
import { displayPath, writeFiles } from './plugin-folder.ts';

const PLUGIN = Type.Object({
  name: Type.String(),
  version: Type.String(),
  manifest: Type.Object({}, { additionalProperties: true }),
  files: Type.Record(Type.String(), Type.String()),
});

/**
 * @param options.folder the parent of the plugin's folder
 * @param options.force whether existing files may be replaced
 * @throws Error when files exist and must not be replaced, or the server sends paths that a plugin cannot have
 */
export async function pullPlugin(
  { name, folder, force }: { readonly name: string; readonly folder: string; readonly force: boolean },
  remote: RemoteServer,
): Promise<true> {
  const plugin = await remote.request(PLUGIN, 'GET', `/admin/plugins/${encodeURIComponent(name)}`);
  const scripts = Object.entries(plugin.files);
  const strange = scripts.map(([path]) => path).find((path) => !isScriptPath(path));
  // The server is not trusted: it must not choose where files are written.
  if (plugin.name !== name || strange !== undefined) {
    throw new Error(`${remote.url} returned a file name that is not valid in a plugin: ${strange ?? plugin.name}`);
  }
  const path = join(folder, name);
  const there = existsSync(path) ? readdirSync(path, { recursive: true }).map(String) : [];
  if (there.length > 0 && !force) {
    throw new Error(
      `${displayPath(path)} already exists. --force overwrites the files in it that the version contains`,
    );
  }
  writeFiles(path, new Map([...scripts, ['plugin.json', `${JSON.stringify(plugin.manifest, null, 2)}\n`]]));
  console.log(`Wrote version ${plugin.version} of ${name} to ${displayPath(path)}`);
  const others = there.filter((path) => isScriptPath(path) && !(path in plugin.files));
  if (others.length > 0) console.log(`Not in that version, left unchanged: ${others.sort().join(', ')}`);
  return true;
}
