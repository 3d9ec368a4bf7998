/** The modules of a bundle in a context: import resolution, compilation with cached data, and linking. Runs in the runner. */
import type { Context, ExternalCopy, Isolate, Module } from 'isolated-vm';

/** The files of a bundle by path. */
export type BundleFiles = ReadonlyMap<string, string>;

/**
 * The path of an imported file.
 * @param from the path of the importing file
 * @returns null for anything outside the bundle: packages, modules of Node, URLs, files that do not exist
 */
export function resolveImport(files: BundleFiles, from: string, specifier: string): string | null {
  if (!specifier.startsWith('./') && !specifier.startsWith('../')) return null;
  const path = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') {
      if (path.pop() === undefined) return null;
    } else if (part !== '.') path.push(part);
  }
  const found = path.join('/');
  return files.has(found) ? found : null;
}

/** Cached data of the first compilation, by path. */
export type CompiledCode = Map<string, ExternalCopy<ArrayBuffer>>;

/** Compiled modules by path. */
export type ModuleGraph = ReadonlyMap<string, Module>;

/**
 * Compiles a file and all its imports, for one context.
 * @throws what the compilation of a file threw; Error for an import that is not in the bundle
 */
export async function compileModuleGraph(
  isolate: Isolate,
  files: BundleFiles,
  entry: string,
  code: CompiledCode,
): Promise<ModuleGraph> {
  const graph = new Map<string, Module>();
  let wave = [entry];
  while (wave.length > 0) {
    const modules = await Promise.all(wave.map((path) => compileFile(isolate, files, path, code)));
    const next = new Set<string>();
    for (const [index, module] of modules.entries()) graph.set(wave[index] ?? '', module);
    for (const [index, module] of modules.entries()) {
      for (const specifier of module.dependencySpecifiers) {
        const path = resolveImport(files, wave[index] ?? '', specifier);
        if (path === null) throw new Error(`There is no file '${specifier}' to import in '${wave[index]}'`);
        if (!graph.has(path)) next.add(path);
      }
    }
    wave = [...next];
  }
  return graph;
}

async function compileFile(isolate: Isolate, files: BundleFiles, path: string, code: CompiledCode): Promise<Module> {
  const text = files.get(path);
  if (text === undefined) throw new Error(`There is no file '${path}'`);
  const cachedData = code.get(path);
  // With cached data compilation is fast: another thread would cost more. The first compilation may take long.
  if (cachedData !== undefined) return isolate.compileModuleSync(text, { filename: path, cachedData });
  const module = await isolate.compileModule(text, { filename: path, produceCachedData: true });
  const created = (module as { cachedData?: ExternalCopy<ArrayBuffer> }).cachedData;
  if (created !== undefined) code.set(path, created);
  return module;
}

/**
 * Links a compiled graph in its context, so that it can be evaluated.
 * @throws the error of V8 for an import of a name that is not exported
 */
export function linkModuleGraph(context: Context, files: BundleFiles, graph: ModuleGraph, entry: string): Module {
  const paths = new Map([...graph].map(([path, module]) => [module, path]));
  const root = graph.get(entry);
  if (root === undefined) throw new Error(`There is no file '${entry}'`);
  root.instantiateSync(context, (specifier, referrer) => {
    const path = resolveImport(files, paths.get(referrer) ?? entry, specifier);
    const module = path === null ? undefined : graph.get(path);
    if (module === undefined) throw new Error(`There is no file '${specifier}' to import`);
    return module;
  });
  return root;
}
