/** The scripts of a plugin as they are sent or are in a folder: valid paths and maximum sizes. Pure. */
import type { BundleError } from '../../sandbox/sandbox.ts';

export const MAX_PLUGIN_SCRIPTS = 50;
/** Bytes of all scripts of a plugin. */
export const MAX_TOTAL_SCRIPT_BYTES = 1_048_576;
const MAX_STEPS = 8;
const MAX_PATH = 128;

const STEP = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Whether a path is a valid script path. */
export function isScriptPath(path: string): boolean {
  const steps = path.split('/');
  return (
    path.length <= MAX_PATH &&
    steps.length <= MAX_STEPS &&
    steps.every((step) => STEP.test(step)) &&
    /\.(?:ts|js|mjs)$/.test(path) &&
    !path.endsWith('.d.ts')
  );
}

/** Errors in the paths and sizes of scripts. */
export function scriptIssues(files: ReadonlyMap<string, string>): readonly BundleError[] {
  const diagnostics: BundleError[] = [];
  const refuse = (file: string, message: string) => diagnostics.push({ file, line: null, column: null, message });
  const byEmails = new Map<string, string>();
  let bytes = 0;
  for (const [path, text] of files) {
    bytes += Buffer.byteLength(text);
    if (!isScriptPath(path)) {
      refuse(
        path.slice(0, MAX_PATH),
        'is not a path of a script: letters, digits, . _ - and /, ending in .ts, .js or .mjs',
      );
      continue;
    }
    const other = byEmails.get(path.toLowerCase());
    if (other !== undefined) refuse(path, `differs from ${other} only in letter case`);
    byEmails.set(path.toLowerCase(), path);
  }
  if (files.size > MAX_PLUGIN_SCRIPTS)
    refuse('', `There are ${files.size} files; a plugin can have at most ${MAX_PLUGIN_SCRIPTS}`);
  if (bytes > MAX_TOTAL_SCRIPT_BYTES)
    refuse('', `The files have ${bytes} bytes; a plugin can have at most ${MAX_TOTAL_SCRIPT_BYTES}`);
  return diagnostics;
}
