/**
 * Sample events for testing a receiver: the newest events of a type that one principal may see, in their delivered
 * form. It searches a bounded part of the log, from its end.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { Event } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import type { EventServices } from '../../events/services.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { EndpointSubscription } from '../endpoint/endpoint.ts';
import { CompiledEndpoint } from './compiled-endpoint.ts';
import type { EventDeliveryBuilder } from './deliveries-for-event.ts';

/** Maximum rows searched, and rows of one page. */
const SEARCHED = 5_000;
const PAGE = 500;
/** A search for a client reads no further page after this time, in milliseconds. */
const CLIENT_MS = 1_000;

export interface EventSamplesDeps {
  readonly events: Pick<EventServices, 'log' | 'tail'>;
  readonly rows: EventDeliveryBuilder;
}

/** A client's request for events of one collection. */
export interface EventSampleRequest {
  readonly principal: Principal;
  readonly collection: CollectionName;
  /** An event type; `*` is a wildcard. */
  readonly type: string;
  readonly limit: number;
  /** Identifies the client: any value that is the same for all its requests. */
  readonly client: unknown;
}

/** The delivery body of a row; null if it does not match. */
type BodyOf = (row: LogRow) => Promise<string | null>;

export class EventSamples {
  readonly #deps: EventSamplesDeps;
  readonly #fairYield = new FairScheduler();
  /** Searches for clients. */
  readonly #searches = new FairSemaphore(2, 1);

  constructor(deps: EventSamplesDeps) {
    this.#deps = deps;
  }

  /**
   * The newest event of a type that the endpoint's creator may see now. The endpoint's types and filter are ignored.
   * @param type an event type; `*` is a wildcard
   * @returns null if the newest rows of the log have none
   */
  async newest(interest: EndpointSubscription, type: string): Promise<Event | null> {
    const endpoint = new CompiledEndpoint({ ...interest, types: [type], filter: null });
    const lane = this.#fairYield.createTask(endpoint);
    const [body] = await this.#search(1, Number.POSITIVE_INFINITY, async (row) => {
      if (lane.shouldYield) await lane.waitTurn();
      if (!endpoint.wantsRow(row)) return null;
      const { deliveries } = await this.#deps.rows.of(row, [endpoint], 'test', lane);
      return deliveries[0]?.body ?? null;
    });
    return body === undefined ? null : (parseJsonExactNames(body) as Event);
  }

  /**
   * The newest events of a collection that a principal may see now, newest first, each as the body of a delivery.
   * @returns none if the newest rows of the log have none
   * @throws MillraceError `policies-unavailable`
   */
  newestOf({ principal, collection, type, limit, client }: EventSampleRequest): Promise<readonly string[]> {
    const endpoint = new CompiledEndpoint({
      id: '',
      types: [type],
      filter: null,
      principal: { kind: 'anonymous', id: '' },
      ordering: 'none',
      enabled: true,
    });
    const lane = this.#fairYield.createTask(client);
    return this.#searches.run(client, () =>
      this.#search(limit, performance.now() + CLIENT_MS, async (row) => {
        if (lane.shouldYield) await lane.waitTurn();
        if (row.collection !== collection || !endpoint.wantsRow(row)) return null;
        return this.#deps.rows.bodyFor(row, endpoint, principal, lane);
      }),
    );
  }

  /**
   * @param most maximum number of bodies
   * @param until the time of `performance.now` after which no further page is read
   */
  async #search(most: number, until: number, bodyOf: BodyOf): Promise<readonly string[]> {
    const end = this.#deps.events.tail.position.number;
    const found: string[] = [];
    for (let through = end; through > Math.max(0, end - SEARCHED); through -= PAGE) {
      const from = Math.max(0, through - PAGE);
      found.push(...(await this.#newestIn(from, through, most - found.length, bodyOf)));
      if (found.length >= most || performance.now() > until) break;
    }
    return found;
  }

  /** The newest rows after one number, up to another; newest first. */
  async #newestIn(from: number, through: number, most: number, bodyOf: BodyOf): Promise<readonly string[]> {
    let found: readonly string[] = [];
    for (let after = from; after < through; ) {
      const page = await this.#deps.events.log.read(after, through - after);
      const last = page.at(-1);
      if (last === undefined) break;
      const bodies: string[] = [];
      for (const row of page.toReversed()) {
        if (bodies.length === most) break;
        const body = await bodyOf(row);
        if (body !== null) bodies.push(body);
      }
      found = [...bodies, ...found].slice(0, most);
      after = last.number;
    }
    return found;
  }
}
