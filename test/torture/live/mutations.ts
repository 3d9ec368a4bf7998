/**
 * Mutations of realtime, each a small change of the program's own source while it is loaded (`node --import`). They
 * prove that the judge detects errors: a run with one of them must end red. Never used elsewhere.
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  /** Resumes one position behind the client's. */
  'late-resume': {
    file: 'src/realtime/subscription/collection-subscription.ts',
    from: 'this.after = position.number;',
    to: 'this.after = position.number + 1;',
  },
  /** Omits a frame occasionally. */
  'lost-frame': {
    file: 'src/realtime/hub/subscription-group.ts',
    from: 'for (const one of reported) {',
    to: 'for (const one of reported) { if (Math.random() < 0.0005) continue;',
  },
  /** Sends changes that a snapshot already contains. */
  'blind-snapshot': {
    file: 'src/realtime/subscription/collection-subscription.ts',
    from: 'this.until = time;',
    to: 'this.until = null;',
  },
  /** Sends the changes of a transaction one by one. */
  'parted-transactions': {
    file: 'src/realtime/hub/log-row-batch.ts',
    from: 'const transaction = joined && last !== undefined ? new LogRowView(last).event : null;',
    to: 'const transaction = null;',
  },
};

/** Arguments for node that load a server with a mutation; none without one. */
export function nodeWords(mutation: string): readonly string[] {
  if (mutation === 'none') return [];
  if (MUTATIONS[mutation] === undefined) throw new Error(`There is no mutation '${mutation}'`);
  return ['--import', `${import.meta.url}?${mutation}`];
}

const requested = MUTATIONS[new URL(import.meta.url).search.slice(1)];
if (requested !== undefined) {
  const path = fileURLToPath(new URL(`../../../${requested.file}`, import.meta.url));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith('file:') || fileURLToPath(url) !== path) return loaded;
      const text = String(loaded.source);
      if (!text.includes(requested.from)) throw new Error(`${requested.file} no longer says: ${requested.from}`);
      return { ...loaded, source: text.replace(requested.from, requested.to) };
    },
  });
}
