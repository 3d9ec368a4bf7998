/**
 * Turns a row of the event log into deliveries: for each subscribed endpoint, the event as the endpoint's principal may
 * read it now, by the same Scope that guards lists and sockets. Endpoints with equal views share the result.
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { decodeDocument, decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { eventType } from '../../events/log/event.ts';
import { type LogRow, rowBytesWithDocument } from '../../events/log/log-row.ts';
import { formatPosition } from '../../events/log/position.ts';
import { encodeEventBody } from '../../events/read/event-body.ts';
import { type RedactedRow, redactCollectionNames, redactRowStates } from '../../events/read/redact-row.ts';
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { Policies } from '../../policies/policies.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import { isExpensiveMatch } from '../../query/evaluate/filter-cost.ts';
import type { NewDelivery, Sender } from '../sending/sender.ts';
import { type CompiledEndpoint, isDeliveryEvent } from './compiled-endpoint.ts';
import type { EndpointPrincipals } from './endpoint-principals.ts';
import { documentIdOf } from './endpoint-states.ts';

export interface EventDeliveryBuilderDeps {
  readonly policies: Pick<Policies, 'find'>;
  readonly creators: Pick<EndpointPrincipals, 'find'>;
  /** Adds the current document to a row whose own documents were too large. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
}

export interface CreatedDeliveries {
  readonly deliveries: readonly NewDelivery[];
  /** Endpoints whose principal no longer exists. */
  readonly gone: readonly CompiledEndpoint[];
}

/** A row as some endpoints see it. */
interface Sight {
  readonly shown: RedactedRow;
  /** The visible states, for filters; read for the first endpoint with a filter. */
  documents: Promise<readonly Document[]> | null;
  /** Built for the first endpoint that receives it; null if the row is no event. */
  body: { readonly text: string | null } | null;
}

export class EventDeliveryBuilder {
  readonly #deps: EventDeliveryBuilderDeps;

  constructor(deps: EventDeliveryBuilderDeps) {
    this.#deps = deps;
  }

  /**
   * @param endpoints those that subscribe to the row's type
   * @param lane yields to other work between endpoints
   * @throws MillraceError `policies-unavailable`, and errors of reading principals
   */
  async of(
    row: LogRow,
    endpoints: readonly CompiledEndpoint[],
    trigger: NewDelivery['trigger'],
    lane: ScheduledTask,
  ): Promise<CreatedDeliveries> {
    const deliveries: NewDelivery[] = [];
    const gone: CompiledEndpoint[] = [];
    const sights = new Map<string, Promise<Sight>>();
    const subject = reportedEndpoint(row);
    for (const endpoint of endpoints) {
      if (endpoint.id === subject) continue;
      if (lane.shouldYield) await lane.waitTurn();
      const principal = await this.#deps.creators.find(endpoint.subscription.principal);
      if (principal === null) gone.push(endpoint);
      else {
        const sight = await this.#sight(row, endpoint, principal, sights, lane);
        if (sight !== null) deliveries.push(...this.#delivery(row, endpoint, sight, trigger));
      }
    }
    return { deliveries, gone };
  }

  /** The delivery body of a row for this principal; null if it may see nothing of the row. */
  async bodyFor(
    row: LogRow,
    endpoint: CompiledEndpoint,
    principal: Principal,
    lane: ScheduledTask,
  ): Promise<string | null> {
    const sight = await this.#sight(row, endpoint, principal, new Map(), lane);
    return sight && (this.#delivery(row, endpoint, sight, 'test')[0]?.body ?? null);
  }

  /** What the endpoint may see of a row; null if nothing. */
  async #sight(
    row: LogRow,
    endpoint: CompiledEndpoint,
    principal: Principal,
    sights: Map<string, Promise<Sight>>,
    lane: ScheduledTask,
  ): Promise<Sight | null> {
    const named = redactCollectionNames(row, (resource) => this.#deps.policies.find(principal, 'read', resource));
    // The subscribed types must match the redacted event: otherwise its delivery would reveal what was removed.
    if (named === null || (named.row !== row && !endpoint.wantsRow(named.row))) return null;
    const { scope } = named;
    const key = `${scopeKey(scope)} ${named.row.collection} ${named.row.to}`;
    const known = sights.get(key);
    const turn = () => lane.waitTurn();
    const seeing =
      known ??
      this.#deps
        .completed(named.row)
        .then((whole) => redactRowStates(whole, scope, turn))
        .then((shown): Sight => ({ shown, documents: null, body: null }));
    if (known === undefined) sights.set(key, seeing);
    const sight = await seeing;
    const { always, states } = sight.shown;
    const match = endpoint.matchFor(principal, Date.now());
    if (match === null || always) return always || states.length > 0 ? sight : null;
    sight.documents ??= Promise.all(states.map((state) => decodeDocumentCooperatively(state, turn)));
    const isLong = isExpensiveMatch(endpoint.cost, rowBytesWithDocument(row));
    for (const state of await sight.documents) {
      if (isLong ? await runCooperatively(() => match(state), turn) : match(state)) return sight;
    }
    return null;
  }

  #delivery(row: LogRow, endpoint: CompiledEndpoint, sight: Sight, trigger: NewDelivery['trigger']): NewDelivery[] {
    const { row: seen } = sight.shown;
    sight.body ??= { text: encodeEventBody(seen, this.#deps.publicUrl) };
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
  if (row.collection !== '_activity' || row.after === null || !isDeliveryEvent(eventType(row) ?? '')) return null;
  const details: unknown = decodeDocument(row.after)['details'];
  return typeof details === 'object' && details !== null && 'endpoint' in details ? String(details.endpoint) : null;
}

/** Maximum deliveries, and bytes of their bodies, in one batch. */
const MOST_DELIVERIES = 1_000;
const MOST_BYTES = 8 * 1024 * 1024;

export class DeliveryBatcher {
  readonly #sender: Pick<Sender, 'submit'>;
  readonly #allowed: () => boolean;
  #deliveries: NewDelivery[] = [];
  #bytes = 0;

  /** @param allowed whether this process still holds the lease for this work; called right before each batch */
  constructor(sender: Pick<Sender, 'submit'>, allowed: () => boolean) {
    this.#sender = sender;
    this.#allowed = allowed;
  }

  async add(deliveries: readonly NewDelivery[]): Promise<void> {
    this.#deliveries.push(...deliveries);
    for (const body of new Set(deliveries.map((one) => one.body))) this.#bytes += body.length;
    if (this.#deliveries.length >= MOST_DELIVERIES || this.#bytes >= MOST_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#deliveries.length === 0) return;
    if (!this.#allowed()) throw new Error('Another process now holds the lease');
    await this.#sender.submit(this.#deliveries);
    this.#deliveries = [];
    this.#bytes = 0;
  }
}
