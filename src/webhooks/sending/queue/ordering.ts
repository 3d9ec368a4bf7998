/**
 * Holds the deliveries of one document in the order of the log, where an endpoint asks for that: only the first pending one is
 * sent. The others wait in the database and are released when it has ended. Not here: taking (taking.ts).
 */
import type { DueRow } from './delivery-row.ts';
import type { DocumentLine } from './delivery-store.ts';
import type { Shared } from './taken.ts';

/** After this time a held delivery is looked at again, should its release have failed; in milliseconds. */
const HELD_MS = 60_000;

/** What both functions need. */
type OrderingParts = Pick<Shared, 'store' | 'clock' | 'endpoints'>;

/**
 * Of deliveries that this process has taken, those that may be sent; the others are given back. What is taken cannot be
 * overtaken, so the answer holds until the lease ends.
 * @returns also endpoints of which a delivery became the first one meanwhile
 */
export async function inOrder(
  taken: readonly DueRow[],
  take: string,
  { store, clock, endpoints }: OrderingParts,
): Promise<{ readonly ready: readonly DueRow[]; readonly released: readonly string[] }> {
  const isOrdered = ({ endpoint, ordered }: DueRow) =>
    ordered === true && endpoints.get(endpoint)?.target.ordering === 'document';
  const ordered = taken.filter(isOrdered);
  if (ordered.length === 0) return { ready: taken, released: [] };
  const heads = new Map((await store.heads(linesOf(ordered))).map((head) => [keyOf(head), head]));
  const held = ordered.filter((row) => (heads.get(keyOf(row))?._id ?? row._id) !== row._id);
  if (held.length === 0) return { ready: taken, released: [] };
  const soonest = clock.now() + HELD_MS;
  await store.putBack(
    held.map((row) => {
      const due = new Date(Math.max(soonest, heads.get(keyOf(row))?.due?.getTime() ?? 0));
      return { id: row._id, take, due, held: true };
    }),
  );
  const away = new Set(held);
  // The first one may have ended before the others were given back.
  const released = await releaseNext(linesOf(held), { store, clock });
  return { ready: taken.filter((row) => !away.has(row)), released };
}

/** Releases the deliveries that have become the first ones of their documents. @returns their endpoints */
export async function releaseNext(
  lines: readonly DocumentLine[],
  { store, clock }: Pick<OrderingParts, 'store' | 'clock'>,
): Promise<readonly string[]> {
  const heads = await store.heads(lines);
  await store.release(
    heads.map(({ _id }) => _id),
    new Date(clock.now()),
  );
  return [...new Set(heads.map(({ endpoint }) => endpoint))];
}

/** The documents of deliveries, each once. */
export function linesOf(rows: readonly Pick<DueRow, 'endpoint' | 'document'>[]): readonly DocumentLine[] {
  const lines = new Map<string, DocumentLine>();
  for (const { endpoint, document } of rows) {
    if (document !== null) lines.set(keyOf({ endpoint, document }), { endpoint, document });
  }
  return [...lines.values()];
}

function keyOf({ endpoint, document }: Pick<DueRow, 'endpoint' | 'document'>): string {
  return `${endpoint} ${document}`;
}
