/**
 * The modules of a bundle in a context: which file an import means, compiling with what an earlier compilation left, and linking. Runs
 * in the runner. Not here: contexts (bundle-isolate.ts) and what is told an author (check-bundle.ts).
 */
import type { Context, ExternalCopy, Isolate, Module } from 'isolated-vm';

/** The files of a bundle by path. */
export type BundleFiles = ReadonlyMap<string, string>;

/**
 * The path of the file that an import means.
 * @param from the path of the importing file
 * @returns null for what is not in the bundle: packages, modules of Node, addresses, files that do not exist
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

/** What compiling a file once leaves for the next time, by path. */
export type CompiledCode = Map<string, ExternalCopy<ArrayBuffer>>;

/** Compiled modules by path. */
export type Graph = ReadonlyMap<string, Module>;

/**
 * Compiles a file and all that it imports, for one context.
 * @throws what the compilation of a file threw; Error for an import that is not in the bundle
 */
export async function compileGraph(
  isolate: Isolate,
  files: BundleFiles,
  entry: string,
  code: CompiledCode,
): Promise<Graph> {
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
  // What was compiled before is only read again: the way to another thread would cost more. The first time may take long.
  if (cachedData !== undefined) return isolate.compileModuleSync(text, { filename: path, cachedData });
  const module = await isolate.compileModule(text, { filename: path, produceCachedData: true });
  const made = (module as { cachedData?: ExternalCopy<ArrayBuffer> }).cachedData;
  if (made !== undefined) code.set(path, made);
  return module;
}

/**
 * Links a compiled graph in its context, so that it can be evaluated.
 * @throws what V8 says about an import of a name that is not exported
 */
export function linkGraph(context: Context, files: BundleFiles, graph: Graph, entry: string): Module {
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
