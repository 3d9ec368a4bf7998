/**
 * Compares a server's content after a crash with the record of the writers: every acknowledged write is there, once,
 * and every other one is there completely or not at all.
 */
import { type ApiResponse, type Memory, send } from './load.ts';

interface Kept {
  readonly id: string;
  readonly key?: string;
  readonly n?: number;
  readonly _meta: { readonly revision: number };
}

export interface Verdict {
  /** What is wrong, one line each. */
  readonly issues: readonly string[];
  /** Acknowledged writes that were checked. */
  readonly acknowledged: number;
  /** Unacknowledged writes, and how many of them are there. */
  readonly unknown: number;
  readonly unknownKept: number;
  /** The slowest response, in milliseconds. */
  readonly slowestMs: number;
}

/** Reads all collections of a load and compares. */
export async function judge(url: string, load: Memory): Promise<Verdict> {
  const issues: string[] = [...load.surprises];
  let slowestMs = 0;
  let unknown = 0;
  let unknownKept = 0;

  const collections = new Map<string, readonly Kept[]>();
  for (const { collection } of [...load.creations, ...load.courses, ...load.removals]) {
    if (collections.has(collection)) continue;
    const response = await send(url, 'GET', collection);
    slowestMs = Math.max(slowestMs, response?.ms ?? Number.POSITIVE_INFINITY);
    collections.set(collection, documentsOf(response, collection, issues));
  }

  const seen = new Map<string, number>();
  for (const [collection, kept] of collections) {
    for (const { key } of kept) seen.set(`${collection} ${key}`, (seen.get(`${collection} ${key}`) ?? 0) + 1);
  }
  for (const { collection, keys, acknowledged } of load.creations) {
    const counts = keys.map((key) => seen.get(`${collection} ${key}`) ?? 0);
    const there = counts.filter((count) => count === 1).length;
    if (counts.some((count) => count > 1)) issues.push(`${collection} ${keys[0]}: written more than once`);
    else if (acknowledged && there < keys.length) {
      issues.push(`${collection} ${keys[0]}: acknowledged, and ${keys.length - there} of ${keys.length} are lost`);
    } else if (there !== 0 && there !== keys.length) {
      issues.push(`${collection} ${keys[0]}: ${there} of ${keys.length} are there`);
    }
    if (acknowledged) continue;
    unknown++;
    if (there > 0) unknownKept++;
  }
  for (const { collection, id, sent, acknowledged } of load.courses) {
    const found = collections.get(collection)?.find((document) => document.id === id);
    const n = found?.n ?? 0;
    if (n < acknowledged || n > sent) issues.push(`${collection} ${id}: ${acknowledged} acknowledged, ${n} found`);
    if (found && found._meta.revision !== n)
      issues.push(`${collection} ${id}: revision ${found._meta.revision}, n ${n}`);
  }
  for (const { collection, id, state } of load.removals) {
    const there = collections.get(collection)?.some((document) => document.id === id) ?? false;
    if (there && state === 'gone') issues.push(`${collection} ${id}: its deletion was acknowledged, and it is there`);
    if (!there && state === 'present')
      issues.push(`${collection} ${id}: its creation was acknowledged, and it is lost`);
  }
  return { issues, acknowledged: load.acknowledged, unknown, unknownKept, slowestMs };
}

/** A collection without any write was never created. */
function documentsOf(response: ApiResponse, collection: string, issues: string[]): readonly Kept[] {
  if (response?.status === 200) return JSON.parse(response.text);
  if (response?.status !== 404)
    issues.push(`${collection}: ${response?.status ?? 'no response'} ${response?.text ?? ''}`);
  return [];
}
