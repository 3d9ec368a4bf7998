/**
 * Turns a row of the event log into deliveries: for each subscribed endpoint, the event as the endpoint's principal may
 * read it now, by the same Scope that guards lists and sockets. Endpoints with equal views share the result.
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { readInTurns, readStored } from '../../database/bson/stored.ts';
import { eventType } from '../../events/log/event.ts';
import { formatPosition } from '../../events/log/position.ts';
import { type LogRow, wholeBytes } from '../../events/log/row.ts';
import { toBody } from '../../events/read/event-body.ts';
import { namedRow, type RedactedRow, shownStates } from '../../events/read/redact-row.ts';
import { inTurns } from '../../lib/concurrency/cooperative-yield.ts';
import type { Policies } from '../../policies/policies.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { isHeavy } from '../../query/evaluate/cost.ts';
import type { Lane } from '../../query/evaluate/fair-yield.ts';
import type { NewDelivery } from '../sending/sender.ts';
import { OF_DELIVERIES, type PlannedEndpoint } from './compiled-endpoint.ts';
import type { Creators } from './endpoint-principals.ts';
import { documentIdOf } from './endpoint-states.ts';

export interface RowDeliveriesDeps {
  readonly policies: Pick<Policies, 'find'>;
  readonly creators: Pick<Creators, 'find'>;
  /** Adds the current document to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
}

export interface Created {
  readonly deliveries: readonly NewDelivery[];
  /** Endpoints whose principal no longer exists. */
  readonly gone: readonly PlannedEndpoint[];
}

/** A row as some endpoints see it. */
interface Sight {
  readonly shown: RedactedRow;
  /** The visible states, for filters; read for the first endpoint with a filter. */
  documents: Promise<readonly Document[]> | null;
  /** Built for the first endpoint that receives it; null if the row is no event. */
  body: { readonly text: string | null } | null;
}

export class RowDeliveries {
  readonly #deps: RowDeliveriesDeps;

  constructor(deps: RowDeliveriesDeps) {
    this.#deps = deps;
  }

  /**
   * @param endpoints those that subscribe to the row's type
   * @param lane yields to other work between endpoints
   * @throws MillraceError `policies-unavailable`, and errors of reading principals
   */
  async of(
    row: LogRow,
    endpoints: readonly PlannedEndpoint[],
    trigger: NewDelivery['trigger'],
    lane: Lane,
  ): Promise<Created> {
    const deliveries: NewDelivery[] = [];
    const gone: PlannedEndpoint[] = [];
    const sights = new Map<string, Promise<Sight>>();
    const subject = reportedEndpoint(row);
    for (const endpoint of endpoints) {
      if (endpoint.id === subject) continue;
      if (lane.isOver) await lane.pass();
      const principal = await this.#deps.creators.find(endpoint.interest.principal);
      if (principal === null) gone.push(endpoint);
      else {
        const sight = await this.#sight(row, endpoint, principal, sights, lane);
        if (sight !== null) deliveries.push(...this.#delivery(row, endpoint, sight, trigger));
      }
    }
    return { deliveries, gone };
  }

  /** The delivery body of a row for this principal; null if it may see nothing of the row. */
  async bodyFor(row: LogRow, endpoint: PlannedEndpoint, principal: Principal, lane: Lane): Promise<string | null> {
    const sight = await this.#sight(row, endpoint, principal, new Map(), lane);
    return sight && (this.#delivery(row, endpoint, sight, 'test')[0]?.body ?? null);
  }

  /** What the endpoint may see of a row; null if nothing. */
  async #sight(
    row: LogRow,
    endpoint: PlannedEndpoint,
    principal: Principal,
    sights: Map<string, Promise<Sight>>,
    lane: Lane,
  ): Promise<Sight | null> {
    const named = namedRow(row, (resource) => this.#deps.policies.find(principal, 'read', resource));
    // The subscribed types must match the redacted event: otherwise its delivery would reveal what was removed.
    if (named === null || (named.row !== row && !endpoint.wantsRow(named.row))) return null;
    const { scope } = named;
    const key = `${scopeKey(scope)} ${named.row.collection} ${named.row.to}`;
    const known = sights.get(key);
    const turn = () => lane.pass();
    const seeing =
      known ??
      this.#deps
        .completed(named.row)
        .then((whole) => shownStates(whole, scope, turn))
        .then((shown): Sight => ({ shown, documents: null, body: null }));
    if (known === undefined) sights.set(key, seeing);
    const sight = await seeing;
    const { always, states } = sight.shown;
    const match = endpoint.matchFor(principal, Date.now());
    if (match === null || always) return always || states.length > 0 ? sight : null;
    sight.documents ??= Promise.all(states.map((state) => readInTurns(state, turn)));
    const isLong = isHeavy(endpoint.cost, wholeBytes(row));
    for (const state of await sight.documents) {
      if (isLong ? await inTurns(() => match(state), turn) : match(state)) return sight;
    }
    return null;
  }

  #delivery(row: LogRow, endpoint: PlannedEndpoint, sight: Sight, trigger: NewDelivery['trigger']): NewDelivery[] {
    const { row: seen } = sight.shown;
    sight.body ??= { text: toBody(seen, this.#deps.publicUrl) };
    const type = eventType(seen);
    const body = sight.body.text;
    if (type === null || body === null) return [];
    return [
      {
        endpoint: endpoint.id,
        event: formatPosition(row),
        type,
        position: { epoch: row.epoch, number: row.number },
        document: row.key && `${row.collection}/${documentIdOf(row)}`,
        body,
        trigger,
      },
    ];
  }
}

/** The endpoint that a delivery's event is about: it does not receive that event. Null for every other row. */
function reportedEndpoint(row: LogRow): string | null {
  if (row.collection !== '_activity' || row.after === null || !eventType(row)?.startsWith(OF_DELIVERIES)) return null;
  const details: unknown = readStored(row.after)['details'];
  return typeof details === 'object' && details !== null && 'endpoint' in details ? String(details.endpoint) : null;
}
