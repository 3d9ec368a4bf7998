/**
 * The files by which editors understand plugins: `millrace.d.ts` with the types of scripts, `tsconfig.json`, and
 * `plugin.schema.json` for manifests. Not here: what stands in them (functions/plugins).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AUTHOR_PROJECT } from '../../functions/plugins/author-types/author-project.ts';
import { authorTypes } from '../../functions/plugins/author-types/author-types.ts';
import { MANIFEST } from '../../functions/plugins/manifest/manifest.ts';
import type { Remote } from '../remote/remote.ts';
import { shownPath, writeFiles } from './plugin-place.ts';

const TYPES = 'millrace.d.ts';
const PROJECT = 'tsconfig.json';
/** What `$schema` of a manifest names, from the folder of its plugin: `../plugin.schema.json`. */
export const SCHEMA_FILE = 'plugin.schema.json';

/**
 * `functions types`: writes the types anew, with the collections that the server has.
 * @throws Error when the server does not answer with them
 */
export async function writeTypes(folder: string, remote: Remote): Promise<true> {
  write(folder, await remote.text('/admin/plugin-types'));
  console.log(`Wrote ${shownPath(join(folder, TYPES))}`);
  return true;
}

/**
 * Writes them if the server answers. Otherwise types without collections, where there are none yet.
 * @returns whether they know the collections of the server
 */
export async function offerTypes(folder: string, remote: Remote): Promise<boolean> {
  const types = await remote.text('/admin/plugin-types').catch(() => null);
  if (types !== null || !existsSync(join(folder, TYPES))) write(folder, types ?? authorTypes([]));
  return types !== null;
}

/** A project that is there already is its owner's. */
function write(folder: string, types: string): void {
  const schema = `${JSON.stringify(MANIFEST, null, 2)}\n`;
  writeFiles(
    folder,
    new Map([
      [TYPES, types],
      [SCHEMA_FILE, schema],
    ]),
  );
  if (!existsSync(join(folder, PROJECT))) writeFiles(folder, new Map([[PROJECT, AUTHOR_PROJECT]]));
}
