/**
 * Keeps the deliveries of one document in log order, for endpoints with that option: only the first pending one is
 * sent. The others wait in the database and are released when it has ended.
 */
import type { DueDelivery } from './delivery-row.ts';
import type { DeliveryOrderingKey } from './delivery-store.ts';
import type { QueueContext } from './queue-types.ts';

/** Retry interval of a held delivery, in case its release has failed; in milliseconds. */
const HELD_MS = 60_000;

/** Arguments of both functions. */
type OrderingDeps = Pick<QueueContext, 'store' | 'clock' | 'endpoints'>;

/**
 * Of leased deliveries, those that may be sent; the others are released. A leased delivery cannot be overtaken, so the
 * result is valid until the lease ends.
 * @returns also endpoints of which a delivery became the first one in between
 */
export async function selectNextInOrder(
  taken: readonly DueDelivery[],
  token: string,
  { store, clock, endpoints }: OrderingDeps,
): Promise<{ readonly ready: readonly DueDelivery[]; readonly released: readonly string[] }> {
  const isOrdered = ({ endpoint, ordered }: DueDelivery) =>
    ordered === true && endpoints.get(endpoint)?.target.ordering === 'document';
  const ordered = taken.filter(isOrdered);
  if (ordered.length === 0) return { ready: taken, released: [] };
  const heads = new Map(
    (await store.firstPending(distinctDeliveryDocuments(ordered))).map((head) => [keyOf(head), head]),
  );
  const held = ordered.filter((row) => (heads.get(keyOf(row))?._id ?? row._id) !== row._id);
  if (held.length === 0) return { ready: taken, released: [] };
  const soonest = clock.now() + HELD_MS;
  await store.releaseLease(
    held.map((row) => {
      const dueAt = new Date(Math.max(soonest, heads.get(keyOf(row))?.dueAt?.getTime() ?? 0));
      return { id: row._id, token, dueAt, held: true };
    }),
  );
  const away = new Set(held);
  // The first one may have ended before the others were released.
  const released = await releaseNextDeliveries(distinctDeliveryDocuments(held), { store, clock });
  return { ready: taken.filter((row) => !away.has(row)), released };
}

/** Releases the deliveries that are now the first ones of their documents. @returns their endpoints */
export async function releaseNextDeliveries(
  lines: readonly DeliveryOrderingKey[],
  { store, clock }: Pick<OrderingDeps, 'store' | 'clock'>,
): Promise<readonly string[]> {
  const heads = await store.firstPending(lines);
  await store.release(
    heads.map(({ _id }) => _id),
    new Date(clock.now()),
  );
  return [...new Set(heads.map(({ endpoint }) => endpoint))];
}

/** The distinct documents of deliveries. */
export function distinctDeliveryDocuments(
  rows: readonly Pick<DueDelivery, 'endpoint' | 'document'>[],
): readonly DeliveryOrderingKey[] {
  const lines = new Map<string, DeliveryOrderingKey>();
  for (const { endpoint, document } of rows) {
    if (document !== null) lines.set(keyOf({ endpoint, document }), { endpoint, document });
  }
  return [...lines.values()];
}

function keyOf({ endpoint, document }: Pick<DueDelivery, 'endpoint' | 'document'>): string {
  return `${endpoint} ${document}`;
}
