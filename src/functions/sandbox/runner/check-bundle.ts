/**
 * Compiles a bundle in an isolate of its own and says what is wrong with it, without running any of it. Runs in the runner.
 */
import ivm, { type Isolate } from 'isolated-vm';
import type { BundleFault } from '../sandbox.ts';
import { type BundleFiles, compileGraph, linkGraph, resolveImport } from './modules.ts';

const CHECK_MB = 96;
const MAX_FAULTS = 50;

/** @returns the first fault of each file; empty for a bundle that can be called */
export async function checkBundle(files: BundleFiles, entries: readonly string[]): Promise<readonly BundleFault[]> {
  const isolate = new ivm.Isolate({ memoryLimit: CHECK_MB });
  try {
    const faults: BundleFault[] = [];
    for (const [file, text] of files) {
      const fault = await faultOfFile(isolate, files, file, text);
      if (fault !== null) faults.push(fault);
      if (faults.length >= MAX_FAULTS) return faults;
    }
    const areBroken = faults.length > 0;
    for (const entry of entries) {
      // What a broken file exports cannot be known.
      if (areBroken && files.has(entry)) continue;
      const fault = await faultOfEntry(isolate, files, entry);
      if (fault !== null) faults.push(fault);
    }
    return faults.slice(0, MAX_FAULTS);
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

async function faultOfFile(
  isolate: Isolate,
  files: BundleFiles,
  file: string,
  text: string,
): Promise<BundleFault | null> {
  try {
    const module = await isolate.compileModule(text, { filename: file });
    for (const specifier of module.dependencySpecifiers) {
      if (resolveImport(files, file, specifier) !== null) continue;
      const message = /^\.{1,2}\//.test(specifier)
        ? `There is no file '${specifier}' to import`
        : `'${specifier}' cannot be imported: only files of the plugin can, as './name.ts'`;
      return { file, ...placeOf(text, specifier), message: message.slice(0, 2_000) };
    }
    module.release();
    return null;
  } catch (error) {
    return faultOf(error, file);
  }
}

async function faultOfEntry(isolate: Isolate, files: BundleFiles, file: string): Promise<BundleFault | null> {
  if (!files.has(file)) return { file, line: null, column: null, message: 'The file does not exist' };
  const context = await isolate.createContext();
  // A module that imports the default export links only where there is one. Nothing is evaluated.
  const importing = `import each from './${file}';`;
  const name = 'check of the default export';
  const all = new Map([...files, [name, importing]]);
  try {
    linkGraph(context, all, await compileGraph(isolate, all, name, new Map()), name);
    return null;
  } catch (error) {
    const fault = faultOf(error, file);
    return fault.file === name || /does not provide an export named 'default'/.test(fault.message)
      ? { file, line: null, column: null, message: 'The file has no default export' }
      : placed(fault, files);
  } finally {
    context.release();
  }
}

/** V8 does not say which import names what is not exported: it is the first that names both. */
function placed(fault: BundleFault, files: BundleFiles): BundleFault {
  const [, specifier, name] = /module '(.*)' does not provide an export named '(.*)'/.exec(fault.message) ?? [];
  if (specifier === undefined || name === undefined) return fault;
  for (const [file, text] of files) {
    const place = placeOf(text, specifier);
    if (place.line !== null && text.includes(name)) return { file, ...place, message: fault.message };
  }
  return fault;
}

/** isolated-vm puts the place behind the message of V8: `Unexpected token '}' [total.ts:3:14]`. */
function faultOf(error: unknown, file: string): BundleFault {
  const text = error instanceof Error ? `${error.message}` : String(error);
  const place = /^([\s\S]*?) \[(.*):(\d+):(\d+)\]$/.exec(text.slice(0, 4_000));
  if (place === null) return { file, line: null, column: null, message: text.slice(0, 2_000) };
  const [, message = '', at = file, line, column] = place;
  return { file: at, line: Number(line), column: Number(column), message: message.slice(0, 2_000) };
}

/** Where a specifier stands in a file, as far as its text tells. */
function placeOf(text: string, specifier: string): { readonly line: number | null; readonly column: number | null } {
  const at = [`'${specifier}'`, `"${specifier}"`].map((quoted) => text.indexOf(quoted)).find((index) => index !== -1);
  if (at === undefined) return { line: null, column: null };
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
