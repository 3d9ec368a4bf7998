/**
 * Judges what a server has after a crash against what the writers remember: every acknowledged write is there, once,
 * and every other one is there wholly or not at all. Not here: how the writes were made (load.ts).
 */
import { type Answer, type Memory, send } from './load.ts';

interface Kept {
  readonly id: string;
  readonly key?: string;
  readonly n?: number;
  readonly _meta: { readonly revision: number };
}

export interface Verdict {
  /** What is wrong, one line each. */
  readonly faults: readonly string[];
  /** Acknowledged writes that were looked for. */
  readonly acknowledged: number;
  /** Writes nobody acknowledged, and how many of them are there. */
  readonly unknown: number;
  readonly unknownKept: number;
  /** The slowest answer, in milliseconds. */
  readonly slowestMs: number;
}

/** Reads all collections of a load and compares. */
export async function judge(url: string, load: Memory): Promise<Verdict> {
  const faults: string[] = [...load.surprises];
  let slowestMs = 0;
  let unknown = 0;
  let unknownKept = 0;

  const collections = new Map<string, readonly Kept[]>();
  for (const { collection } of [...load.creations, ...load.courses, ...load.removals]) {
    if (collections.has(collection)) continue;
    const answer = await send(url, 'GET', collection);
    slowestMs = Math.max(slowestMs, answer?.ms ?? Number.POSITIVE_INFINITY);
    collections.set(collection, documentsOf(answer, collection, faults));
  }

  const seen = new Map<string, number>();
  for (const [collection, kept] of collections) {
    for (const { key } of kept) seen.set(`${collection} ${key}`, (seen.get(`${collection} ${key}`) ?? 0) + 1);
  }
  for (const { collection, keys, acknowledged } of load.creations) {
    const counts = keys.map((key) => seen.get(`${collection} ${key}`) ?? 0);
    const there = counts.filter((count) => count === 1).length;
    if (counts.some((count) => count > 1)) faults.push(`${collection} ${keys[0]}: written more than once`);
    else if (acknowledged && there < keys.length) {
      faults.push(`${collection} ${keys[0]}: acknowledged, and ${keys.length - there} of ${keys.length} are lost`);
    } else if (there !== 0 && there !== keys.length) {
      faults.push(`${collection} ${keys[0]}: ${there} of ${keys.length} are there`);
    }
    if (acknowledged) continue;
    unknown++;
    if (there > 0) unknownKept++;
  }
  for (const { collection, id, sent, acknowledged } of load.courses) {
    const found = collections.get(collection)?.find((document) => document.id === id);
    const n = found?.n ?? 0;
    if (n < acknowledged || n > sent) faults.push(`${collection} ${id}: ${acknowledged} acknowledged, ${n} found`);
    if (found && found._meta.revision !== n)
      faults.push(`${collection} ${id}: revision ${found._meta.revision}, n ${n}`);
  }
  for (const { collection, id, state } of load.removals) {
    const there = collections.get(collection)?.some((document) => document.id === id) ?? false;
    if (there && state === 'gone') faults.push(`${collection} ${id}: its deletion was acknowledged, and it is there`);
    if (!there && state === 'present')
      faults.push(`${collection} ${id}: its creation was acknowledged, and it is lost`);
  }
  return { faults, acknowledged: load.acknowledged, unknown, unknownKept, slowestMs };
}

/** A collection that no write reached is one that was never created. */
function documentsOf(answer: Answer, collection: string, faults: string[]): readonly Kept[] {
  if (answer?.status === 200) return JSON.parse(answer.text);
  if (answer?.status !== 404) faults.push(`${collection}: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`);
  return [];
}
