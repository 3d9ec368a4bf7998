/**
 * The deliveries that a row of the event log makes: for each endpoint that wants it, the event as the endpoint's principal
 * may read it now, by the same Scope that guards lists and sockets. What endpoints see alike is made once. Not here: which
 * endpoints there are (endpoint-states.ts), and how a delivery is made (sending/).
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { readInTurns, readStored } from '../../database/bson/stored.ts';
import { eventType } from '../../events/log/event.ts';
import { formatPosition } from '../../events/log/position.ts';
import { type LogRow, wholeBytes } from '../../events/log/row.ts';
import { toBody } from '../../events/read/event-body.ts';
import { namedRow, type ShownRow, shownStates } from '../../events/read/visible-row.ts';
import { inTurns } from '../../kernel/concurrency/pauses.ts';
import type { Policies } from '../../policies/policies.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { isHeavy } from '../../query/evaluate/cost.ts';
import type { Lane } from '../../query/evaluate/turnstile.ts';
import type { NewDelivery } from '../sending/sender.ts';
import { documentIdOf } from './endpoint-states.ts';
import type { Makers } from './makers.ts';
import { OF_DELIVERIES, type PlannedEndpoint } from './planned-endpoint.ts';

export interface RowDeliveriesParts {
  readonly policies: Pick<Policies, 'find'>;
  readonly makers: Pick<Makers, 'find'>;
  /** Adds the document as it is now to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
}

export interface Made {
  readonly deliveries: readonly NewDelivery[];
  /** Endpoints whose principal is gone. */
  readonly gone: readonly PlannedEndpoint[];
}

/** A row as some endpoints see it. */
interface Sight {
  readonly shown: ShownRow;
  /** The visible states, for filters; read when the first endpoint has one. */
  documents: Promise<readonly Document[]> | null;
  /** Made when the first endpoint gets it; null when the row is no event. */
  body: { readonly text: string | null } | null;
}

export class RowDeliveries {
  readonly #parts: RowDeliveriesParts;

  constructor(parts: RowDeliveriesParts) {
    this.#parts = parts;
  }

  /**
   * @param endpoints those that want the row by its type
   * @param lane gives turns to other work between endpoints
   * @throws MillraceError `policies-unavailable`, and what reading principals throws
   */
  async of(
    row: LogRow,
    endpoints: readonly PlannedEndpoint[],
    trigger: NewDelivery['trigger'],
    lane: Lane,
  ): Promise<Made> {
    const deliveries: NewDelivery[] = [];
    const gone: PlannedEndpoint[] = [];
    const sights = new Map<string, Promise<Sight>>();
    const subject = toldEndpoint(row);
    for (const endpoint of endpoints) {
      if (endpoint.id === subject) continue;
      if (lane.isOver) await lane.pass();
      const principal = await this.#parts.makers.find(endpoint.interest.principal);
      if (principal === null) gone.push(endpoint);
      else {
        const sight = await this.#sight(row, endpoint, principal, sights, lane);
        if (sight !== null) deliveries.push(...this.#delivery(row, endpoint, sight, trigger));
      }
    }
    return { deliveries, gone };
  }

  /** The body that a delivery of a row has for this principal; null when it gets nothing of the row. */
  async bodyFor(row: LogRow, endpoint: PlannedEndpoint, principal: Principal, lane: Lane): Promise<string | null> {
    const sight = await this.#sight(row, endpoint, principal, new Map(), lane);
    return sight && (this.#delivery(row, endpoint, sight, 'test')[0]?.body ?? null);
  }

  /** What the endpoint gets to see of a row; null when nothing. */
  async #sight(
    row: LogRow,
    endpoint: PlannedEndpoint,
    principal: Principal,
    sights: Map<string, Promise<Sight>>,
    lane: Lane,
  ): Promise<Sight | null> {
    const named = namedRow(row, (place) => this.#parts.policies.find(principal, 'read', place));
    // The wanted types must fit what is left of the event: otherwise its arrival would tell what was left out.
    if (named === null || (named.row !== row && !endpoint.wantsRow(named.row))) return null;
    const { scope } = named;
    const key = `${scopeKey(scope)} ${named.row.collection} ${named.row.to}`;
    const known = sights.get(key);
    const turn = () => lane.pass();
    const seeing =
      known ??
      this.#parts
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
    sight.body ??= { text: toBody(seen, this.#parts.publicUrl) };
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

/** The endpoint of which a delivery's event tells: it does not get that event. Null for every other row. */
function toldEndpoint(row: LogRow): string | null {
  if (row.collection !== '_activity' || row.after === null || !eventType(row)?.startsWith(OF_DELIVERIES)) return null;
  const details: unknown = readStored(row.after)['details'];
  return typeof details === 'object' && details !== null && 'endpoint' in details ? String(details.endpoint) : null;
}
