/**
 * Looks at a version of a plugin, from the database or from a folder: what it can be in force as, or everything that is wrong
 * with it. Not here: which versions there are, and putting one in force (plugin-loader.ts).
 */
import type { Sandbox } from '../sandbox/sandbox.ts';
import { compileChecked } from './compile/compile.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import { type DeclaredHook, declaredHooks, EVERY_WRITE } from './manifest/declared-hooks.ts';
import type { Manifest } from './manifest/manifest.ts';
import { readManifest } from './manifest/manifest-rules.ts';
import type { PluginFault } from './manifest/plugin-fault.ts';
import { routesOf } from './manifest/routes.ts';
import type { PluginRow } from './store/plugin-row.ts';
import type { StoredVersion } from './store/version-store.ts';
import type { UsablePlugin } from './to-plugin.ts';

export interface LookedPlugin {
  /** Names what was looked at. Empty when it has to be looked at again with the next reading. */
  readonly key: string;
  /** Null when it cannot be read. */
  readonly manifest: Manifest | null;
  readonly version: string;
  /** Null when there are faults. */
  readonly usable: UsablePlugin | null;
  readonly faults: readonly PluginFault[];
  /** The writes that it wants to check, as far as its manifest could be read. */
  readonly hooks: readonly DeclaredHook[];
}

/** What {@link lookAtStored} gives as the key of the version that is in force by this document. */
export function keyOfRow({ version, digest, readsAccounts }: PluginRow): string {
  return JSON.stringify([version, digest, readsAccounts]);
}

/** @param stored null when the version is not kept */
export async function lookAtStored(row: PluginRow, stored: StoredVersion | null): Promise<LookedPlugin> {
  const { _id: name, readsAccounts } = row;
  const hooks = stored === null ? EVERY_WRITE : declaredHooks(parsed(stored.manifest));
  const looked = { key: keyOfRow(row), manifest: null, version: String(row.version), usable: null, hooks };
  if (stored === null) return { ...looked, faults: [{ pointer: '', message: 'This version is not kept' }] };
  // It was checked when it was stored, but another program may have written here, or an older version of this one.
  const read = await readManifest(parsed(stored.manifest), name);
  if ('faults' in read) return { ...looked, faults: read.faults };
  const files = new Map(stored.files.map(({ path, text, code }) => [path, code ?? text]));
  const bundle = Object.freeze({ id: stored.bundle, files });
  const { manifest } = read;
  return { ...looked, manifest, usable: { manifest, bundle, version: looked.version, readsAccounts }, faults: [] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param sandbox null where no function is run: then scripts are not checked further than their types
 * @throws what keeps the sandbox from being asked
 */
export async function lookAtFolder(
  { digest: key, manifest, hooks, files, faults }: FolderPlugin,
  sandbox: Pick<Sandbox, 'check'> | null,
): Promise<LookedPlugin> {
  const looked = { key, manifest, version: versionOf(key), usable: null, hooks };
  if (manifest === null || faults.length > 0) return { ...looked, faults };
  const compiled = await compileChecked(files, entriesOf(manifest), sandbox);
  if ('faults' in compiled) return { ...looked, faults: compiled.faults };
  const usable = { manifest, bundle: compiled.bundle, version: looked.version, readsAccounts: true };
  return { ...looked, usable, faults: [] };
}

/** What is told of a folder that could not be looked at. */
export function unlooked({ digest, manifest, hooks }: FolderPlugin): LookedPlugin {
  const faults = [{ pointer: '', message: 'The scripts could not be checked' }];
  return { key: '', manifest, version: versionOf(digest), usable: null, faults, hooks };
}

/** The version of a folder: enough of its digest to tell two apart. */
const versionOf = (digest: string): string => digest.slice(0, 12);

/** The scripts that functions name. */
export function entriesOf({ functions }: Manifest): readonly string[] {
  return [...new Set(functions.map(({ file }) => file))];
}

/**
 * Where a manifest answers the same requests as another plugin.
 * @param taken names of plugins by what they answer
 */
export function clashes({ name, functions }: Manifest, taken: ReadonlyMap<string, string>): readonly PluginFault[] {
  return functions.flatMap((fn, index) =>
    routesOf(fn).flatMap((route) => {
      const other = taken.get(route);
      if (other === undefined) return [];
      const message = `'${name}/${fn.name}' and '${other}' both answer ${route}`;
      return [{ pointer: `/functions/${index}/http`, message }];
    }),
  );
}

/** What the functions of a plugin answer, each with the id of the function. */
export function answersOf({ name, functions }: Manifest): readonly (readonly [route: string, id: string])[] {
  return functions.flatMap((fn) => routesOf(fn).map((route) => [route, `${name}/${fn.name}`] as const));
}
