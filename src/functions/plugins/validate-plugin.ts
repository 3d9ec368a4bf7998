/** Validates a version of a plugin, from the database or from a folder: returns the plugin to activate, or all errors. */
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { UsablePlugin } from './build-plugin.ts';
import { compileAndCheck } from './compile/compile.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import { type DeclaredHook, readDeclaredHooks, UNREADABLE_MANIFEST_HOOKS } from './manifest/declared-hooks.ts';
import { routePatternsOf } from './manifest/endpoint-paths.ts';
import type { Manifest } from './manifest/manifest.ts';
import { readManifest } from './manifest/manifest-rules.ts';
import type { PluginDiagnostic } from './manifest/plugin-error.ts';
import type { PluginRow } from './store/plugin-row.ts';
import type { StoredVersion } from './store/version-store.ts';

export interface ValidatedPlugin {
  /** Identifies the validated content. Empty if the next read must validate it again. */
  readonly key: string;
  /** Null if it cannot be read. */
  readonly manifest: Manifest | null;
  readonly version: string;
  /** Null if there are errors. */
  readonly usable: UsablePlugin | null;
  readonly diagnostics: readonly PluginDiagnostic[];
  /** The writes that it declares to check, as far as its manifest could be read. */
  readonly hooks: readonly DeclaredHook[];
}

/** The key that {@link validateStoredPlugin} gives the active version of this document. */
export function validationKeyOf({ version, digest, readsUsers }: PluginRow): string {
  return JSON.stringify([version, digest, readsUsers]);
}

/** @param stored null if the version is not stored */
export async function validateStoredPlugin(row: PluginRow, stored: StoredVersion | null): Promise<ValidatedPlugin> {
  const { _id: name, readsUsers } = row;
  const hooks = stored === null ? UNREADABLE_MANIFEST_HOOKS : readDeclaredHooks(parsed(stored.manifest));
  const validated = { key: validationKeyOf(row), manifest: null, version: String(row.version), usable: null, hooks };
  if (stored === null) return { ...validated, diagnostics: [{ pointer: '', message: 'This version is not stored' }] };
  // It was validated when it was stored, but another program or an earlier version may have written it.
  const read = await readManifest(parsed(stored.manifest), name);
  if ('diagnostics' in read) return { ...validated, diagnostics: read.diagnostics };
  const files = new Map(stored.files.map(({ path, text, code }) => [path, code ?? text]));
  const bundle = Object.freeze({ id: stored.bundle, files });
  const { manifest } = read;
  return {
    ...validated,
    manifest,
    usable: { manifest, bundle, version: validated.version, readsUsers },
    diagnostics: [],
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param sandbox null where functions are disabled: then scripts are parsed, but not checked
 * @throws if the sandbox is unavailable
 */
export async function validateFolderPlugin(
  { digest: key, manifest, hooks, files, diagnostics }: FolderPlugin,
  sandbox: Pick<Sandbox, 'check'> | null,
): Promise<ValidatedPlugin> {
  const validated = { key, manifest, version: versionOf(key), usable: null, hooks };
  if (manifest === null || diagnostics.length > 0) return { ...validated, diagnostics };
  const compiled = await compileAndCheck(files, entryScriptsOf(manifest), sandbox);
  if ('diagnostics' in compiled) return { ...validated, diagnostics: compiled.diagnostics };
  const usable = { manifest, bundle: compiled.bundle, version: validated.version, readsUsers: true };
  return { ...validated, usable, diagnostics: [] };
}

/** The result for a folder that could not be validated. */
export function failedPluginValidation({ digest, manifest, hooks }: FolderPlugin): ValidatedPlugin {
  const diagnostics = [{ pointer: '', message: 'The scripts could not be checked' }];
  return { key: '', manifest, version: versionOf(digest), usable: null, diagnostics, hooks };
}

/** The version of a folder: a prefix of its digest. */
const versionOf = (digest: string): string => digest.slice(0, 12);

/** The scripts that functions name. */
export function entryScriptsOf({ functions }: Manifest): readonly string[] {
  return [...new Set(functions.map(({ file }) => file))];
}

/**
 * Routes of a manifest that another plugin already has.
 * @param taken names of plugins by route
 */
export function findRouteConflicts(
  { name, functions }: Manifest,
  taken: ReadonlyMap<string, string>,
): readonly PluginDiagnostic[] {
  return functions.flatMap((fn, index) =>
    routePatternsOf(fn).flatMap((route) => {
      const other = taken.get(route);
      if (other === undefined) return [];
      const message = `'${name}/${fn.name}' and '${other}' both serve ${route}`;
      return [{ pointer: `/functions/${index}/http`, message }];
    }),
  );
}

/** The routes of the functions of a plugin, each with the id of the function. */
export function listFunctionRoutes({ name, functions }: Manifest): readonly (readonly [route: string, id: string])[] {
  return functions.flatMap((fn) => routePatternsOf(fn).map((route) => [route, `${name}/${fn.name}`] as const));
}
