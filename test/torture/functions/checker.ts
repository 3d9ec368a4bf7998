/**
 * The checker of the torture of functions, a program of its own: `node test/torture/functions/checker.ts <folder>`. It reads
 * the rows of the log, what writers were acknowledged, and the documents that the functions have written. Every event must have
 * had its effect once, in the order of the log for each document; chains must have the full length and no more; each job and
 * each time of the cron must have run once. It knows nothing of the product's code.
 */
import { readFileSync } from 'node:fs';
import { links, schedules } from './plugin.ts';

/** How long a chain of triggers gets. */
const CHAIN = 8;

/** A change of a document, as the log has it. */
export interface RowLine {
  readonly id: string;
  readonly document: string;
  /** The number in the document; null when it was deleted. */
  readonly w: number | null;
}

/** What lies in the database in the end. */
export interface Remains {
  /** The rows of the documents that the trigger wants, in the order of the log, since it was in force. */
  readonly rows: readonly RowLine[];
  /** Numbers of the states that were acknowledged to writers. */
  readonly acknowledged: readonly number[];
  readonly effects: readonly { readonly event: string }[];
  readonly counters: readonly { readonly id: string; readonly n: number; readonly order: readonly string[] }[];
  readonly links: readonly { readonly root: string; readonly length: number }[];
  readonly laters: readonly { readonly event: string }[];
  readonly ticks: readonly { readonly at: string }[];
  /** How many runs of each function ended in which state: `count ok`. */
  readonly runs: Readonly<Record<string, number>>;
}

export interface FunctionVerdict {
  /** Nothing in it: all held. */
  readonly faults: readonly string[];
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
  const faults: string[] = [];
  const fault = (what: string, some: readonly unknown[]) => {
    if (some.length > 0) faults.push(`${some.length} ${what}, such as ${JSON.stringify(some.slice(0, 3))}`);
  };
  const once = (what: string, wanted: readonly string[], found: readonly string[]) => {
    const counts = countsOf(found);
    const due = new Set(wanted);
    fault(
      `${what} without effect`,
      wanted.filter((one) => !counts.has(one)),
    );
    fault(
      `${what} with more than one effect`,
      [...counts].filter(([, count]) => count > 1),
    );
    fault(
      `effects of no ${what}`,
      [...counts.keys()].filter((one) => !due.has(one)),
    );
  };
  const ids = (chosen: (w: number) => boolean) => rows.flatMap(({ id, w }) => (w !== null && chosen(w) ? [id] : []));

  const written = new Set(rows.map(({ w }) => w));
  fault(
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
    if (counter?.n !== order.length) faults.push(`${document} has ${order.length} events and counts ${counter?.n}`);
    const counted = counter?.order ?? [];
    const known = new Set(counted);
    // What has had no effect is told already.
    const isInOrder = order.filter((id) => known.has(id)).join() === counted.join();
    if (!isInOrder) faults.push(`The events of ${document} had their effects in another order`);
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
  fault(
    'times of the cron with more than one effect',
    [...times].filter(([, count]) => count > 1),
  );
  const expected = { 'count ok': rows.length, 'later ok': ids(schedules).length, 'tick ok': ticks.length };
  for (const [name, count] of Object.entries(expected)) {
    if ((runs[name] ?? 0) !== count) faults.push(`${runs[name] ?? 0} runs '${name}' for ${count} effects`);
  }
  if ((runs['link refused'] ?? 0) !== roots.length)
    faults.push(`${runs['link refused']} of ${roots.length} chains ended`);
  const bad = Object.entries(runs).filter(([name]) => /waiting|running|failed|parked/.test(name));
  fault('kinds of runs that have not ended well', bad);
  return {
    faults,
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
