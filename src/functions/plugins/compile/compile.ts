/** Compiles the scripts of a plugin for the sandbox, or returns all errors. */
import { createHash } from 'node:crypto';
import type { Bundle, BundleError, Sandbox } from '../../sandbox/sandbox.ts';
import { scriptIssues } from '../manifest/script-validation.ts';
import { stripTypes } from './strip-types.ts';

export type CompileResult = { readonly bundle: Bundle } | { readonly diagnostics: readonly BundleError[] };

/**
 * Strips types only: lines and columns stay the author's.
 * @param files scripts by path
 */
export async function compileScripts(files: ReadonlyMap<string, string>): Promise<CompileResult> {
  const wrong = scriptIssues(files);
  if (wrong.length > 0) return { diagnostics: wrong };
  const typed = new Map([...files].filter(([path]) => path.endsWith('.ts')));
  const { code, diagnostics } = await stripTypes(typed);
  if (diagnostics.length > 0) return { diagnostics };
  const whole = new Map([...files].map(([path, text]) => [path, code.get(path) ?? text]));
  return { bundle: Object.freeze({ id: idOf(whole), files: whole }) };
}

/**
 * Compiles the scripts and lets the sandbox check syntax, imports, and the default export of each entry.
 * @param entries the scripts that functions name
 * @param sandbox null where none runs: then types are stripped, and nothing else is checked
 */
export async function compileAndCheck(
  files: ReadonlyMap<string, string>,
  entries: readonly string[],
  sandbox: Pick<Sandbox, 'check'> | null,
): Promise<CompileResult> {
  const compiled = await compileScripts(files);
  if ('diagnostics' in compiled || sandbox === null) return compiled;
  const diagnostics = await sandbox.check(compiled.bundle, entries);
  return diagnostics.length > 0 ? { diagnostics } : compiled;
}

function idOf(files: ReadonlyMap<string, string>): string {
  const digest = createHash('sha256');
  for (const [path, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // With lengths, so that no other division of the same text has this id.
    digest.update(`${path.length} ${path} ${text.length} `).update(text);
  }
  return digest.digest('base64url');
}
