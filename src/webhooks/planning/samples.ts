/**
 * Samples to try a receiver out with: the newest events of a type, as one principal may see them, in the form in which they
 * are delivered. It searches a bounded part of the log, from its end. Not here: sending them, and samples of events that never
 * happened (made-samples.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { CollectionName } from '../../database/names.ts';
import type { Event } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { EventParts } from '../../events/open-events.ts';
import { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import { Turnstile } from '../../query/evaluate/turnstile.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import { PlannedEndpoint } from './planned-endpoint.ts';
import type { RowDeliveries } from './row-deliveries.ts';

/** Rows that are searched at most, and those of one page. */
const SEARCHED = 5_000;
const PAGE = 500;
/** A search for a client begins no further page after so much time, in milliseconds. */
const CLIENT_MS = 1_000;

export interface SamplesParts {
  readonly events: Pick<EventParts, 'log' | 'tail'>;
  readonly rows: RowDeliveries;
}

/** Events of one collection that a client asks for. */
export interface WantedSamples {
  readonly principal: Principal;
  readonly collection: CollectionName;
  /** An event type, in which `*` stands for anything. */
  readonly type: string;
  readonly limit: number;
  /** The client: any value that is the same for all its requests. */
  readonly whose: unknown;
}

/** The body of a row's delivery; null when it is none of the events that are looked for. */
type BodyOf = (row: LogRow) => Promise<string | null>;

export class LogSamples {
  readonly #parts: SamplesParts;
  readonly #turnstile = new Turnstile();
  /** Searches for clients. */
  readonly #searches = new FairSemaphore(2, 1);

  constructor(parts: SamplesParts) {
    this.#parts = parts;
  }

  /**
   * The newest event of a type that the maker of the endpoint may see now. Types and filter of the endpoint do not count.
   * @param type an event type, in which `*` stands for anything
   * @returns null when there is none among the newest rows of the log
   */
  async newest(interest: EndpointInterest, type: string): Promise<Event | null> {
    const endpoint = new PlannedEndpoint({ ...interest, types: [type], filter: null });
    const lane = this.#turnstile.lane(endpoint);
    const [body] = await this.#search(1, Number.POSITIVE_INFINITY, async (row) => {
      if (lane.isOver) await lane.pass();
      if (!endpoint.wantsRow(row)) return null;
      const { deliveries } = await this.#parts.rows.of(row, [endpoint], 'test', lane);
      return deliveries[0]?.body ?? null;
    });
    return body === undefined ? null : JSON.parse(body);
  }

  /**
   * The newest events of a collection that a principal may see now, the newest first, each as the body of a delivery.
   * @returns none when there is none among the newest rows of the log
   * @throws MillraceError `policies-unavailable`
   */
  newestOf({ principal, collection, type, limit, whose }: WantedSamples): Promise<readonly string[]> {
    const endpoint = new PlannedEndpoint({
      id: '',
      types: [type],
      filter: null,
      principal: { kind: 'anonymous', id: '' },
      ordering: 'none',
      enabled: true,
    });
    const lane = this.#turnstile.lane(whose);
    return this.#searches.run(whose, () =>
      this.#search(limit, performance.now() + CLIENT_MS, async (row) => {
        if (lane.isOver) await lane.pass();
        if (row.collection !== collection || !endpoint.wantsRow(row)) return null;
        return this.#parts.rows.bodyFor(row, endpoint, principal, lane);
      }),
    );
  }

  /**
   * @param most bodies that are looked for
   * @param until when no further page is read, as `performance.now` tells the time
   */
  async #search(most: number, until: number, bodyOf: BodyOf): Promise<readonly string[]> {
    const end = this.#parts.events.tail.position.number;
    const found: string[] = [];
    for (let through = end; through > Math.max(0, end - SEARCHED); through -= PAGE) {
      const from = Math.max(0, through - PAGE);
      found.push(...(await this.#newestIn(from, through, most - found.length, bodyOf)));
      if (found.length >= most || performance.now() > until) break;
    }
    return found;
  }

  /** The newest ones above a number, up to another one; the newest first. */
  async #newestIn(from: number, through: number, most: number, bodyOf: BodyOf): Promise<readonly string[]> {
    let found: readonly string[] = [];
    for (let after = from; after < through; ) {
      const page = await this.#parts.events.log.read(after, through - after);
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
