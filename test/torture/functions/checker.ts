/**
 * The checker of the torture test of functions, a separate program: `node test/torture/functions/checker.ts <folder>`.
 * It reads the rows of the log, the acknowledged writes, and the documents that the functions have written. Every event
 * must have had its effect once, in log order for each document; chains must have the full length and no more; each job
 * and each time of the cron job must have run once. It shares no code with the product.
 */
import { readFileSync } from 'node:fs';
import { links, schedules } from './plugin.ts';

/** Maximum length of a chain of triggers. */
const CHAIN = 8;

/** A change of a document, as in the log. */
export interface RowLine {
  readonly id: string;
  readonly document: string;
  /** The number in the document; null if it was deleted. */
  readonly w: number | null;
}

/** The final content of the database. */
export interface Remains {
  /** The rows that match the trigger, in log order, since it was enabled. */
  readonly rows: readonly RowLine[];
  /** Numbers of the acknowledged states. */
  readonly acknowledged: readonly number[];
  readonly effects: readonly { readonly event: string }[];
  readonly counters: readonly { readonly id: string; readonly n: number; readonly order: readonly string[] }[];
  readonly links: readonly { readonly root: string; readonly length: number }[];
  readonly laters: readonly { readonly event: string }[];
  readonly ticks: readonly { readonly at: string }[];
  /** How many runs of each function ended in which state: `count succeeded`. */
  readonly runs: Readonly<Record<string, number>>;
}

export interface FunctionVerdict {
  /** Empty: everything is correct. */
  readonly issues: readonly string[];
  readonly acknowledged: number;
  readonly events: number;
  readonly chains: number;
  readonly jobs: number;
  readonly ticks: number;
  readonly runs: Readonly<Record<string, number>>;
}

/** @param folder where the run wrote `remains.json` */
export function check(folder: string): FunctionVerdict {
  const remains: Remains = JSON.parse(readFileSync(`${folder}/remains.json`, 'utf8'));
  const { rows, acknowledged, effects, counters, laters, ticks, runs } = remains;
  const issues: string[] = [];
  const issue = (what: string, some: readonly unknown[]) => {
    if (some.length > 0) issues.push(`${some.length} ${what}, such as ${JSON.stringify(some.slice(0, 3))}`);
  };
  const once = (what: string, requested: readonly string[], found: readonly string[]) => {
    const counts = countsOf(found);
    const due = new Set(requested);
    issue(
      `${what} without effect`,
      requested.filter((one) => !counts.has(one)),
    );
    issue(
      `${what} with more than one effect`,
      [...counts].filter(([, count]) => count > 1),
    );
    issue(
      `effects of no ${what}`,
      [...counts.keys()].filter((one) => !due.has(one)),
    );
  };
  const ids = (chosen: (w: number) => boolean) => rows.flatMap(({ id, w }) => (w !== null && chosen(w) ? [id] : []));

  const written = new Set(rows.map(({ w }) => w));
  issue(
    'acknowledged writes that are not in the log',
    acknowledged.filter((w) => !written.has(w)),
  );
  once(
    'events',
    rows.map(({ id }) => id),
    effects.map(({ event }) => event),
  );
  const byDocument = Map.groupBy(rows, ({ document }) => document);
  for (const [document, its] of byDocument) {
    const counter = counters.find(({ id }) => id === document);
    const order = its.map(({ id }) => id);
    if (counter?.n !== order.length) issues.push(`${document} has ${order.length} events and counts ${counter?.n}`);
    const counted = counter?.order ?? [];
    const known = new Set(counted);
    // Missing effects are reported already.
    const isInOrder = order.filter((id) => known.has(id)).join() === counted.join();
    if (!isInOrder) issues.push(`The events of ${document} had their effects in another order`);
  }
  const roots = ids(links);
  once(
    'links',
    roots.flatMap((root) => Array.from({ length: CHAIN }, (_, index) => `${root} ${index + 1}`)),
    remains.links.map(({ root, length }) => `${root} ${length}`),
  );
  once(
    'jobs',
    ids(schedules),
    laters.map(({ event }) => event),
  );
  const times = countsOf(ticks.map(({ at }) => at));
  issue(
    'times of the cron job with more than one effect',
    [...times].filter(([, count]) => count > 1),
  );
  const expected = {
    'count succeeded': rows.length,
    'later succeeded': ids(schedules).length,
    'tick succeeded': ticks.length,
  };
  for (const [name, count] of Object.entries(expected)) {
    if ((runs[name] ?? 0) !== count) issues.push(`${runs[name] ?? 0} runs '${name}' for ${count} effects`);
  }
  if ((runs['link skipped'] ?? 0) !== roots.length)
    issues.push(`${runs['link skipped']} of ${roots.length} chains ended`);
  const bad = Object.entries(runs).filter(([name]) => /pending|running|failed/.test(name));
  issue('kinds of runs that did not succeed', bad);
  return {
    issues,
    acknowledged: acknowledged.length,
    events: rows.length,
    chains: roots.length,
    jobs: laters.length,
    ticks: ticks.length,
    runs,
  };
}

function countsOf(all: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(all, (one) => one)].map(([one, same]) => [one, same.length]));
}

if (process.argv[1]?.endsWith('functions/checker.ts')) {
  console.log(JSON.stringify(check(process.argv[2] ?? '.'), null, 1));
}
