/**
 * Reads one plugin from its folder: `plugin.json` and the scripts that its functions need. Nothing outside the folder
 * is read, not even through symbolic links.
 */
import { createHash } from 'node:crypto';
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, posix, sep } from 'node:path';
import type { BundleError } from '../../sandbox/sandbox.ts';
import { type DeclaredHook, readDeclaredHooks, UNREADABLE_MANIFEST_HOOKS } from '../manifest/declared-hooks.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { readManifest } from '../manifest/manifest-rules.ts';
import type { PluginDiagnostic } from '../manifest/plugin-error.ts';
import { isScriptPath, MAX_PLUGIN_SCRIPTS, MAX_TOTAL_SCRIPT_BYTES } from '../manifest/script-validation.ts';

export const MANIFEST_FILE = 'plugin.json';
const MAX_MANIFEST_BYTES = 262_144;
/**
 * The imports of a script, as far as they are in the folder. Imports found in comments are read too, which is harmless.
 */
const IMPORTS = /\b(?:from|import)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]{1,200})\1/g;

/** A plugin as it is in a folder. */
export interface FolderPlugin {
  readonly name: string;
  readonly folder: string;
  /** Null if invalid; the scripts may have errors as well. */
  readonly manifest: Manifest | null;
  /** The writes that it declares to check, as far as its manifest could be read. */
  readonly hooks: readonly DeclaredHook[];
  readonly files: ReadonlyMap<string, string>;
  readonly diagnostics: readonly PluginDiagnostic[];
  /** Identifies the content, also of an invalid plugin. */
  readonly digest: string;
  /** The folders of its scripts. */
  readonly folders: readonly string[];
}

/** @param folder whose last part is the name of the plugin */
export async function readPlugin(folder: string, name: string): Promise<FolderPlugin> {
  const diagnostics: PluginDiagnostic[] = [];
  const files = new Map<string, string>();
  const digest = createHash('sha256');
  const refuse = (file: string, message: string, line: number | null = null, column: number | null = null) =>
    diagnostics.push({ file, line, column, message } satisfies BundleError);
  const text = await readWithin(folder, MANIFEST_FILE, MAX_MANIFEST_BYTES);
  digest.update(JSON.stringify(text));
  let manifest: Manifest | null = null;
  let hooks = UNREADABLE_MANIFEST_HOOKS;
  if ('diagnostic' in text) refuse(MANIFEST_FILE, text.diagnostic);
  else {
    const read = await parseManifest(text.text, name);
    hooks = read.hooks;
    if ('diagnostics' in read) diagnostics.push(...read.diagnostics);
    else {
      manifest = read.manifest;
      await readScripts(folder, [...new Set(manifest.functions.map(({ file }) => file))], files, (file, message) => {
        digest.update(JSON.stringify([file, message]));
        refuse(file, message);
      });
    }
  }
  for (const [path, script] of files) digest.update(JSON.stringify([path, script]));
  const folders = [...new Set([...files.keys()].map((path) => dirname(join(folder, path))))];
  return { name, folder, manifest, hooks, files, diagnostics, digest: digest.digest('base64url'), folders };
}

/**
 * A plugin that could not be read.
 * @param message why
 */
export function unreadablePlugin(folder: string, name: string, message: string): FolderPlugin {
  const diagnostics = [{ file: '', line: null, column: null, message }];
  return {
    name,
    folder,
    manifest: null,
    hooks: UNREADABLE_MANIFEST_HOOKS,
    files: new Map(),
    diagnostics,
    digest: message,
    folders: [],
  };
}

async function parseManifest(text: string, name: string) {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch (error) {
    const said = error instanceof Error ? error.message : '';
    const [, line = null, column = null] = /line (\d+) column (\d+)/.exec(said) ?? [];
    const path = { line: line === null ? null : Number(line), column: column === null ? null : Number(column) };
    return {
      hooks: UNREADABLE_MANIFEST_HOOKS,
      diagnostics: [{ file: MANIFEST_FILE, ...path, message: 'is not valid JSON' }],
    };
  }
  return { hooks: readDeclaredHooks(written), ...(await readManifest(written, name)) };
}

/** Reads scripts and their imports. A missing import is an error that the sandbox reports with its location. */
async function readScripts(
  folder: string,
  entries: readonly string[],
  files: Map<string, string>,
  refuse: (file: string, message: string) => void,
): Promise<void> {
  const left = [...entries];
  const seen = new Set(left);
  let bytes = 0;
  for (let path = left.shift(); path !== undefined; path = left.shift()) {
    if (!isScriptPath(path)) {
      if (entries.includes(path)) refuse(path, 'is not a valid script path');
      continue;
    }
    const read = await readWithin(folder, path, MAX_TOTAL_SCRIPT_BYTES - bytes);
    if ('diagnostic' in read) {
      if (!read.missing || entries.includes(path)) refuse(path, read.diagnostic);
      continue;
    }
    bytes += read.bytes;
    files.set(path, read.text);
    if (files.size > MAX_PLUGIN_SCRIPTS) return refuse('', `There are more than ${MAX_PLUGIN_SCRIPTS} files`);
    for (const [, , requested = ''] of read.text.matchAll(IMPORTS)) {
      const next = posix.join(posix.dirname(path), requested);
      if (next.startsWith('../') || seen.has(next)) continue;
      seen.add(next);
      left.push(next);
    }
  }
}

type Read =
  | { readonly text: string; readonly bytes: number }
  | { readonly diagnostic: string; readonly missing: boolean };

/** Reads a file inside a folder, following no symbolic link out of it. */
async function readWithin(folder: string, path: string, most: number): Promise<Read> {
  try {
    const [root, place] = await Promise.all([realpath(folder), realpath(join(folder, path))]);
    if (!place.startsWith(root + sep))
      return { diagnostic: 'is a symbolic link that leaves the folder', missing: false };
    // Checked before opening, because opening a pipe would wait for its writer.
    if (!(await stat(place)).isFile()) return { diagnostic: 'is not a file', missing: false };
    const file = await open(place);
    try {
      const { size } = await file.stat();
      if (size > most)
        return {
          diagnostic: `is too large: a plugin can have at most ${MAX_TOTAL_SCRIPT_BYTES} bytes`,
          missing: false,
        };
      const bytes = Buffer.alloc(size);
      const { bytesRead } = await file.read(bytes, 0, size, 0);
      return { text: bytes.toString('utf8', 0, bytesRead), bytes: bytesRead };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    return { diagnostic: missing ? 'does not exist' : `cannot be read (${code})`, missing };
  }
}
