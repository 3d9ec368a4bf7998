/** Compiles a bundle in a separate isolate and reports its errors, without running any of it. Runs in the runner. */
import ivm, { type Isolate } from 'isolated-vm';
import type { BundleError } from '../sandbox.ts';
import { type BundleFiles, compileModuleGraph, linkModuleGraph, resolveImport } from './modules.ts';

const CHECK_MB = 96;
const MAX_ISSUES = 50;

/** @returns the first error of each file; empty for a valid bundle */
export async function checkBundleCompiles(
  files: BundleFiles,
  entries: readonly string[],
): Promise<readonly BundleError[]> {
  const isolate = new ivm.Isolate({ memoryLimit: CHECK_MB });
  try {
    const issues: BundleError[] = [];
    for (const [file, text] of files) {
      const issue = await issueOfFile(isolate, files, file, text);
      if (issue !== null) issues.push(issue);
      if (issues.length >= MAX_ISSUES) return issues;
    }
    const areBroken = issues.length > 0;
    for (const entry of entries) {
      // The exports of a broken file are unknown.
      if (areBroken && files.has(entry)) continue;
      const issue = await issueOfEntry(isolate, files, entry);
      if (issue !== null) issues.push(issue);
    }
    return issues.slice(0, MAX_ISSUES);
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

async function issueOfFile(
  isolate: Isolate,
  files: BundleFiles,
  file: string,
  text: string,
): Promise<BundleError | null> {
  try {
    const module = await isolate.compileModule(text, { filename: file });
    for (const specifier of module.dependencySpecifiers) {
      if (resolveImport(files, file, specifier) !== null) continue;
      const message = /^\.{1,2}\//.test(specifier)
        ? `There is no file '${specifier}' to import`
        : `'${specifier}' cannot be imported: only files of the plugin can, as './name.ts'`;
      return { file, ...positionOf(text, specifier), message: message.slice(0, 2_000) };
    }
    module.release();
    return null;
  } catch (error) {
    return issueOf(error, file);
  }
}

async function issueOfEntry(isolate: Isolate, files: BundleFiles, file: string): Promise<BundleError | null> {
  if (!files.has(file)) return { file, line: null, column: null, message: 'The file does not exist' };
  const context = await isolate.createContext();
  // A module that imports the default export links only if there is one. Nothing is evaluated.
  const importing = `import each from './${file}';`;
  const name = 'check of the default export';
  const all = new Map([...files, [name, importing]]);
  try {
    linkModuleGraph(context, all, await compileModuleGraph(isolate, all, name, new Map()), name);
    return null;
  } catch (error) {
    const issue = issueOf(error, file);
    return issue.file === name || /does not provide an export named 'default'/.test(issue.message)
      ? { file, line: null, column: null, message: 'The file has no default export' }
      : placed(issue, files);
  } finally {
    context.release();
  }
}

/** V8 does not report which import names a missing export: it is the first that names both. */
function placed(issue: BundleError, files: BundleFiles): BundleError {
  const [, specifier, name] = /module '(.*)' does not provide an export named '(.*)'/.exec(issue.message) ?? [];
  if (specifier === undefined || name === undefined) return issue;
  for (const [file, text] of files) {
    const location = positionOf(text, specifier);
    if (location.line !== null && text.includes(name)) return { file, ...location, message: issue.message };
  }
  return issue;
}

/** isolated-vm appends the location to the message of V8: `Unexpected token '}' [total.ts:3:14]`. */
function issueOf(error: unknown, file: string): BundleError {
  const text = error instanceof Error ? `${error.message}` : String(error);
  const location = /^([\s\S]*?) \[(.*):(\d+):(\d+)\]$/.exec(text.slice(0, 4_000));
  if (location === null) return { file, line: null, column: null, message: text.slice(0, 2_000) };
  const [, message = '', at = file, line, column] = location;
  return { file: at, line: Number(line), column: Number(column), message: message.slice(0, 2_000) };
}

/** The position of a specifier in a file, found in its text. */
function positionOf(text: string, specifier: string): { readonly line: number | null; readonly column: number | null } {
  const at = [`'${specifier}'`, `"${specifier}"`].map((quoted) => text.indexOf(quoted)).find((index) => index !== -1);
  if (at === undefined) return { line: null, column: null };
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
