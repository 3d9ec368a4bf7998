/**
 * Makes what the sandbox runs from the scripts of a plugin, or tells everything that is wrong with them. Not here: the manifest
 * (manifest/), and running anything.
 */
import { createHash } from 'node:crypto';
import type { Bundle, BundleFault, Sandbox } from '../../sandbox/sandbox.ts';
import { filesFaults } from '../manifest/source.ts';
import { strip } from './strip.ts';

export type Compiled = { readonly bundle: Bundle } | { readonly faults: readonly BundleFault[] };

/**
 * Takes the types out and nothing else: lines and columns stay those of the author.
 * @param files scripts by path
 */
export async function compile(files: ReadonlyMap<string, string>): Promise<Compiled> {
  const wrong = filesFaults(files);
  if (wrong.length > 0) return { faults: wrong };
  const typed = new Map([...files].filter(([path]) => path.endsWith('.ts')));
  const { code, faults } = await strip(typed);
  if (faults.length > 0) return { faults };
  const whole = new Map([...files].map(([path, text]) => [path, code.get(path) ?? text]));
  return { bundle: Object.freeze({ id: idOf(whole), files: whole }) };
}

/**
 * Compiles the scripts and has the sandbox check them: their syntax, what they import, and that each entry has a default
 * export.
 * @param entries the scripts that functions name
 * @param sandbox null where none runs: then only the types are taken out
 */
export async function compileChecked(
  files: ReadonlyMap<string, string>,
  entries: readonly string[],
  sandbox: Pick<Sandbox, 'check'> | null,
): Promise<Compiled> {
  const compiled = await compile(files);
  if ('faults' in compiled || sandbox === null) return compiled;
  const faults = await sandbox.check(compiled.bundle, entries);
  return faults.length > 0 ? { faults } : compiled;
}

function idOf(files: ReadonlyMap<string, string>): string {
  const digest = createHash('sha256');
  for (const [path, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // With lengths, so that no other division of the same text has this id.
    digest.update(`${path.length} ${path} ${text.length} `).update(text);
  }
  return digest.digest('base64url');
}
