/**
 * Wrong ways to tell live data, each a small change of the product's own text while it is loaded (`node --import`). They
 * exist to show that the judge would notice: a live torture with one of them must end red. Never used outside of it.
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  /** Goes on one position behind where the client was. */
  'late-resume': {
    file: 'src/realtime/subscription/document-subscription.ts',
    from: 'this.after = place.number;',
    to: 'this.after = place.number + 1;',
  },
  /** Leaves a frame out now and then. */
  'lost-frame': {
    file: 'src/realtime/hub/group.ts',
    from: 'for (const one of told) {',
    to: 'for (const one of told) { if (Math.random() < 0.0005) continue;',
  },
  /** Tells what a snapshot has already. */
  'blind-snapshot': {
    file: 'src/realtime/subscription/document-subscription.ts',
    from: 'this.until = read.time;',
    to: 'this.until = null;',
  },
  /** Tells the changes of a transaction one by one. */
  'parted-transactions': {
    file: 'src/realtime/hub/row-batch.ts',
    from: 'const transaction = joined && last !== undefined ? new RowView(last).event : null;',
    to: 'const transaction = null;',
  },
};

/** Words for node that load a server with a mutation; none without one. */
export function nodeWords(mutation: string): readonly string[] {
  if (mutation === 'none') return [];
  if (MUTATIONS[mutation] === undefined) throw new Error(`There is no mutation '${mutation}'`);
  return ['--import', `${import.meta.url}?${mutation}`];
}

const wanted = MUTATIONS[new URL(import.meta.url).search.slice(1)];
if (wanted !== undefined) {
  const path = fileURLToPath(new URL(`../../../${wanted.file}`, import.meta.url));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith('file:') || fileURLToPath(url) !== path) return loaded;
      const text = String(loaded.source);
      if (!text.includes(wanted.from)) throw new Error(`${wanted.file} no longer says: ${wanted.from}`);
      return { ...loaded, source: text.replace(wanted.from, wanted.to) };
    },
  });
}
