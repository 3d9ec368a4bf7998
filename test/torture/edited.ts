/** Changes the program's own source while it is loaded (`node --import`), for torture tests only. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** A text that occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

export type Mutations = Readonly<Record<string, readonly Edit[]>>;

/**
 * Arguments for node that load a server with a mutation.
 * @param edits URL of the module that calls {@link loadEdited}
 */
export function wordsFor(edits: string, mutations: Mutations, mutation: string): readonly string[] {
  if (mutation !== 'none' && mutations[mutation] === undefined) throw new Error(`There is no mutation '${mutation}'`);
  return ['--import', `${edits}?${mutation}`];
}

/**
 * Edits modules loaded from here on, if this module was loaded by {@link wordsFor}.
 * @param always applied with every mutation
 */
export function loadEdited(edits: string, always: readonly Edit[], mutations: Mutations): void {
  const requested = new URL(edits).search.slice(1);
  if (requested === '') return;
  const created = [...always, ...(mutations[requested] ?? [])];
  const byPath = Map.groupBy(created, ({ file }) => fileURLToPath(new URL(`../../${file}`, import.meta.url)));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const required = url.startsWith('file:') ? byPath.get(fileURLToPath(url)) : undefined;
      if (required === undefined) return loaded;
      let source = String(loaded.source);
      for (const { file, from, to } of required) {
        if (!source.includes(from)) throw new Error(`${file} no longer says: ${from}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
