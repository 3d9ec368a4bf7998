/** Finds and leases the deliveries that this process can send now, by breaker, rate and order of their endpoints. */
import { randomUUID } from 'node:crypto';
import type { GroupFetchRequest } from '../../../queue/worker.ts';
import { selectNextInOrder } from './ordering.ts';
import { type EndpointState, type LeasedDelivery, type QueueContext, sendDeadline } from './queue-types.ts';

/**
 * Interval after which deliveries that were found but not leased are looked for again: other processes hold them, or
 * the clocks differ slightly. Milliseconds.
 */
const AGAIN_MS = 100;

/** The endpoints with due deliveries, and the next due time. Applies what other processes found out about breakers. */
export async function findDueEndpoints({
  store,
  health,
  clock,
  endpoints,
}: QueueContext): Promise<{ readonly due: readonly string[]; readonly next: Date | null }> {
  await clock.refresh();
  const enabled = [...endpoints].filter(([, { target }]) => target.enabled).map(([id]) => id);
  if (enabled.length === 0) return { due: [], next: null };
  const now = new Date(clock.now());
  const [due, open, next] = await Promise.all([store.dueEndpoints(enabled, now), health.open(), store.nextDue(now)]);
  for (const { _id, openUntil, pauseMs = 0 } of open) {
    if (openUntil !== undefined) endpoints.get(_id)?.breaker.restore({ openUntil: openUntil.getTime(), pauseMs });
  }
  return { due, next };
}

/** When deliveries can be sent to an endpoint, in milliseconds since 1970; never to one that is disabled or unknown. */
export function opensAt(state: EndpointState | undefined): number {
  if (state === undefined || !state.target.enabled) return Number.POSITIVE_INFINITY;
  return Math.max(state.notBefore, state.heldUntil, state.breaker.open?.openUntil ?? 0);
}

/** How many deliveries of an endpoint can be leased now. */
export function leasableCount({ endpoints, slots }: QueueContext, endpoint: string, now: number): number {
  const state = endpoints.get(endpoint);
  if (state === undefined || now < opensAt(state) || !slots.isRunningLow(endpoint)) return 0;
  const { breaker, target } = state;
  const rate = target.ratePerSecond ?? Number.POSITIVE_INFINITY;
  return Math.min(slots.room(endpoint), breaker.open === null ? Math.floor(Math.max(1, rate)) : 1);
}

/**
 * Leases due deliveries, and queues them by endpoint for sending.
 * @returns how many were due of each endpoint, up to the requested number
 */
export async function leaseDeliveries(
  context: QueueContext,
  requests: readonly GroupFetchRequest[],
): Promise<ReadonlyMap<string, number>> {
  const { store, clock, endpoints, limits, slots, worker } = context;
  await clock.refresh();
  const probes = await claimProbes(requests, context);
  const now = clock.now();
  const requested = requests
    .filter(({ group }) => probes.has(group) || endpoints.get(group)?.breaker.open === null)
    .map(({ group: endpoint, count }) => ({ endpoint, count }));
  const found = await store.findDue(requested, new Date(now));
  const token = randomUUID();
  const sendBefore = sendDeadline(limits);
  const leased = await store.lease(found, token, limits.leaseMs);
  if (leased.length < found.length) worker.wakeAt(now + AGAIN_MS);
  const { ready, released } = await selectNextInOrder(leased, token, context);
  for (const endpoint of released) worker.wakeGroup(endpoint);
  const bodies = await store.bodies(ready.flatMap(({ bodyRef }) => bodyRef ?? []));
  for (const [endpoint, rows] of Map.groupBy(ready, (row) => row.endpoint)) {
    // A delivery that Svix has accepted is only polled, which needs no rate slot.
    const calls = rows.filter(({ handed }) => handed?.since === undefined);
    const times = await reserveTimes(endpoint, calls.length, context);
    for (const [index, row] of rows.entries()) {
      const body = row.body ?? bodies.get(row.bodyRef?.toHexString() ?? '') ?? null;
      const probe = probes.has(endpoint) && index === 0;
      slots.push(toLeasedDelivery({ row, body, token, sendBefore, probe, notBefore: times[calls.indexOf(row)] ?? 0 }));
    }
  }
  const counts = Map.groupBy(found, ({ endpoint }) => endpoint);
  return new Map(requested.map(({ endpoint }) => [endpoint, counts.get(endpoint)?.length ?? 0]));
}

export function toLeasedDelivery(one: Omit<LeasedDelivery, 'endpoint' | 'size'>): LeasedDelivery {
  return { ...one, endpoint: one.row.endpoint, size: one.body?.length ?? 0 };
}

/** The endpoints with half-open breakers whose probe this process may send. */
async function claimProbes(
  requests: readonly GroupFetchRequest[],
  { health, clock, endpoints, limits }: QueueContext,
): Promise<ReadonlySet<string>> {
  const claimed = new Set<string>();
  for (const { group: endpoint } of requests) {
    const breaker = endpoints.get(endpoint)?.breaker;
    if (breaker === undefined || breaker.open === null) continue;
    const { pauseMs } = breaker.open;
    if (await health.claimProbe(endpoint, limits.leaseMs)) {
      breaker.restore({ openUntil: clock.now() + limits.leaseMs, pauseMs });
      claimed.add(endpoint);
      continue;
    }
    // Another process sends it, or has ended it.
    const [row] = await health.of([endpoint]);
    const { openUntil } = row ?? {};
    breaker.restore(openUntil === undefined ? null : { openUntil: openUntil.getTime(), pauseMs: row?.pauseMs ?? 0 });
  }
  return claimed;
}

/** When deliveries may be sent, by the monotonic clock; at once for an endpoint without a rate. */
async function reserveTimes(
  endpoint: string,
  count: number,
  { endpoints, health, clock }: QueueContext,
): Promise<readonly number[]> {
  const state = endpoints.get(endpoint);
  const rate = state?.target.ratePerSecond ?? null;
  if (state === undefined || rate === null || count === 0) return [];
  const step = 1_000 / rate;
  const first = await health.reserve(endpoint, count, step);
  state.notBefore = first + count * step;
  const here = performance.now() - clock.now();
  return Array.from({ length: count }, (_, index) => first + index * step + here);
}
