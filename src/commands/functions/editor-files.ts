/**
 * The files by which editors understand plugins: `millrace.d.ts` with typings for scripts, `tsconfig.json`, and
 * `plugin.schema.json` for manifests.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST_SCHEMA } from '../../functions/plugins/manifest/manifest.ts';
import { TSCONFIG_TEMPLATE } from '../../functions/plugins/typings/tsconfig-template.ts';
import { generateTypings } from '../../functions/plugins/typings/typings.ts';
import type { RemoteServer } from '../remote/remote.ts';
import { displayPath, writeFiles } from './plugin-folder.ts';

const TYPES = 'millrace.d.ts';
const PROJECT = 'tsconfig.json';
/** The `$schema` of a manifest, relative to the folder of its plugin: `../plugin.schema.json`. */
export const PLUGIN_SCHEMA_FILE = 'plugin.schema.json';

/**
 * `functions types`: regenerates the typings, with the collections of the server.
 * @throws Error when the server does not return them
 */
export async function writePluginTypes(folder: string, remote: RemoteServer): Promise<true> {
  write(folder, await remote.text('/admin/plugin-types'));
  console.log(`Wrote ${displayPath(join(folder, TYPES))}`);
  return true;
}

/**
 * Writes them if the server responds. Otherwise writes typings without collections, unless the file exists.
 * @returns whether they contain the collections of the server
 */
export async function tryWritePluginTypes(folder: string, remote: RemoteServer): Promise<boolean> {
  const types = await remote.text('/admin/plugin-types').catch(() => null);
  if (types !== null || !existsSync(join(folder, TYPES))) write(folder, types ?? generateTypings([]));
  return types !== null;
}

/** An existing project is never overwritten. */
function write(folder: string, types: string): void {
  const schema = `${JSON.stringify(MANIFEST_SCHEMA, null, 2)}\n`;
  writeFiles(
    folder,
    new Map([
      [TYPES, types],
      [PLUGIN_SCHEMA_FILE, schema],
    ]),
  );
  if (!existsSync(join(folder, PROJECT))) writeFiles(folder, new Map([[PROJECT, TSCONFIG_TEMPLATE]]));
}
