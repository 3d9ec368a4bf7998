/**
 * Reads one plugin from its folder: `plugin.json` and the scripts that its functions need. Nothing outside of the folder is
 * read, also not by a symbolic link. Not here: finding the folders (plugin-folders.ts).
 */
import { createHash } from 'node:crypto';
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, posix, sep } from 'node:path';
import type { BundleFault } from '../../sandbox/sandbox.ts';
import { type DeclaredHook, declaredHooks, EVERY_WRITE } from '../manifest/declared-hooks.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { readManifest } from '../manifest/manifest-rules.ts';
import type { PluginFault } from '../manifest/plugin-fault.ts';
import { isScriptPath, MAX_BYTES, MAX_SCRIPTS } from '../manifest/source.ts';

export const MANIFEST_FILE = 'plugin.json';
const MAX_MANIFEST_BYTES = 262_144;
/** What a script imports, as far as it lies in a folder. What is found in a comment too much is read and does no harm. */
const IMPORTS = /\b(?:from|import)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]{1,200})\1/g;

/** A plugin as it lies in a folder. */
export interface FolderPlugin {
  readonly name: string;
  readonly folder: string;
  /** Null when it has a fault; the scripts may have some all the same. */
  readonly manifest: Manifest | null;
  /** The writes that it wants to check, as far as its manifest could be read. */
  readonly hooks: readonly DeclaredHook[];
  readonly files: ReadonlyMap<string, string>;
  readonly faults: readonly PluginFault[];
  /** Names the content, also a wrong one. */
  readonly digest: string;
  /** The folders that its scripts are in. */
  readonly places: readonly string[];
}

/** @param folder whose last part is the name of the plugin */
export async function readPlugin(folder: string, name: string): Promise<FolderPlugin> {
  const faults: PluginFault[] = [];
  const files = new Map<string, string>();
  const digest = createHash('sha256');
  const refuse = (file: string, message: string, line: number | null = null, column: number | null = null) =>
    faults.push({ file, line, column, message } satisfies BundleFault);
  const text = await readWithin(folder, MANIFEST_FILE, MAX_MANIFEST_BYTES);
  digest.update(JSON.stringify(text));
  let manifest: Manifest | null = null;
  let hooks = EVERY_WRITE;
  if ('fault' in text) refuse(MANIFEST_FILE, text.fault);
  else {
    const read = await parseManifest(text.text, name);
    hooks = read.hooks;
    if ('faults' in read) faults.push(...read.faults);
    else {
      manifest = read.manifest;
      await readScripts(folder, [...new Set(manifest.functions.map(({ file }) => file))], files, (file, message) => {
        digest.update(JSON.stringify([file, message]));
        refuse(file, message);
      });
    }
  }
  for (const [path, script] of files) digest.update(JSON.stringify([path, script]));
  const places = [...new Set([...files.keys()].map((path) => dirname(join(folder, path))))];
  return { name, folder, manifest, hooks, files, faults, digest: digest.digest('base64url'), places };
}

/** A plugin of which nothing can be read. @param message why */
export function unreadablePlugin(folder: string, name: string, message: string): FolderPlugin {
  const faults = [{ file: '', line: null, column: null, message }];
  return { name, folder, manifest: null, hooks: EVERY_WRITE, files: new Map(), faults, digest: message, places: [] };
}

async function parseManifest(text: string, name: string) {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch (error) {
    const said = error instanceof Error ? error.message : '';
    const [, line = null, column = null] = /line (\d+) column (\d+)/.exec(said) ?? [];
    const place = { line: line === null ? null : Number(line), column: column === null ? null : Number(column) };
    return { hooks: EVERY_WRITE, faults: [{ file: MANIFEST_FILE, ...place, message: 'is not JSON' }] };
  }
  return { hooks: declaredHooks(written), ...(await readManifest(written, name)) };
}

/** Reads scripts and what they import. One that is imported and missing is a fault that the sandbox tells with its place. */
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
      if (entries.includes(path)) refuse(path, 'is no path of a script');
      continue;
    }
    const read = await readWithin(folder, path, MAX_BYTES - bytes);
    if ('fault' in read) {
      if (!read.missing || entries.includes(path)) refuse(path, read.fault);
      continue;
    }
    bytes += read.bytes;
    files.set(path, read.text);
    if (files.size > MAX_SCRIPTS) return refuse('', `There are more than ${MAX_SCRIPTS} files`);
    for (const [, , wanted = ''] of read.text.matchAll(IMPORTS)) {
      const next = posix.join(posix.dirname(path), wanted);
      if (next.startsWith('../') || seen.has(next)) continue;
      seen.add(next);
      left.push(next);
    }
  }
}

type Read = { readonly text: string; readonly bytes: number } | { readonly fault: string; readonly missing: boolean };

/** Reads a file that lies in a folder, and not elsewhere by a symbolic link. */
async function readWithin(folder: string, path: string, most: number): Promise<Read> {
  try {
    const [root, place] = await Promise.all([realpath(folder), realpath(join(folder, path))]);
    if (!place.startsWith(root + sep)) return { fault: 'is a symbolic link out of the folder', missing: false };
    // Asked before it is opened, because opening a pipe would wait for its writer.
    if (!(await stat(place)).isFile()) return { fault: 'is no file', missing: false };
    const file = await open(place);
    try {
      const { size } = await file.stat();
      if (size > most) return { fault: `is too large: a plugin has at most ${MAX_BYTES} bytes`, missing: false };
      const bytes = Buffer.alloc(size);
      const { bytesRead } = await file.read(bytes, 0, size, 0);
      return { text: bytes.toString('utf8', 0, bytesRead), bytes: bytesRead };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    return { fault: missing ? 'does not exist' : `cannot be read (${code})`, missing };
  }
}
