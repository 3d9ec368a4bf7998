/**
 * Changes of the product's own text while it is loaded (`node --import`), for tortures alone. Not here: which changes (edits.ts
 * of each torture).
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** A text that stands in the file once. */
  readonly from: string;
  readonly to: string;
}

export type Mutations = Readonly<Record<string, readonly Edit[]>>;

/**
 * Words for node that load a server with a mutation.
 * @param edits address of the module that calls {@link loadEdited}
 */
export function wordsFor(edits: string, mutations: Mutations, mutation: string): readonly string[] {
  if (mutation !== 'none' && mutations[mutation] === undefined) throw new Error(`There is no mutation '${mutation}'`);
  return ['--import', `${edits}?${mutation}`];
}

/** Edits what is loaded from here on, if the module was loaded by {@link wordsFor}. @param always made with every mutation */
export function loadEdited(edits: string, always: readonly Edit[], mutations: Mutations): void {
  const asked = new URL(edits).search.slice(1);
  if (asked === '') return;
  const made = [...always, ...(mutations[asked] ?? [])];
  const byPath = Map.groupBy(made, ({ file }) => fileURLToPath(new URL(`../../${file}`, import.meta.url)));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const wanted = url.startsWith('file:') ? byPath.get(fileURLToPath(url)) : undefined;
      if (wanted === undefined) return loaded;
      let source = String(loaded.source);
      for (const { file, from, to } of wanted) {
        if (!source.includes(from)) throw new Error(`${file} no longer says: ${from}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
