/**
 * The scripts of a plugin as they are sent or lie in a folder: which paths they may have, and how large they may be. Pure. Not
 * here: what stands in them (compile/).
 */
import type { BundleFault } from '../../sandbox/sandbox.ts';

export const MAX_SCRIPTS = 50;
/** Bytes of all scripts of a plugin. */
export const MAX_BYTES = 1_048_576;
const MAX_STEPS = 8;
const MAX_PATH = 128;

const STEP = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Whether a path is that of a script that a plugin may have. */
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

/** What is wrong with the paths and sizes of scripts. */
export function filesFaults(files: ReadonlyMap<string, string>): readonly BundleFault[] {
  const faults: BundleFault[] = [];
  const refuse = (file: string, message: string) => faults.push({ file, line: null, column: null, message });
  const byLetters = new Map<string, string>();
  let bytes = 0;
  for (const [path, text] of files) {
    bytes += Buffer.byteLength(text);
    if (!isScriptPath(path)) {
      refuse(
        path.slice(0, MAX_PATH),
        'is no path of a script: letters, digits, . _ - and /, with .ts, .js or .mjs at its end',
      );
      continue;
    }
    const other = byLetters.get(path.toLowerCase());
    if (other !== undefined) refuse(path, `differs from ${other} only by capital letters`);
    byLetters.set(path.toLowerCase(), path);
  }
  if (files.size > MAX_SCRIPTS) refuse('', `There are ${files.size} files, and a plugin has at most ${MAX_SCRIPTS}`);
  if (bytes > MAX_BYTES) refuse('', `The files have ${bytes} bytes, and a plugin has at most ${MAX_BYTES}`);
  return faults;
}
