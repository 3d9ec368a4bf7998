/**
 * Samples to try an endpoint out with: the newest event of a type, as the endpoint's principal may see it. It searches a
 * bounded part of the log, from its end. Not here: sending it.
 */
import type { Event } from '../../events/log/event.ts';
import type { EventParts } from '../../events/open-events.ts';
import { Turnstile } from '../../query/evaluate/turnstile.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import { PlannedEndpoint } from './planned-endpoint.ts';
import type { RowDeliveries } from './row-deliveries.ts';

/** Rows that are searched at most, and those of one page. */
const SEARCHED = 5_000;
const PAGE = 500;

export interface SamplesParts {
  readonly events: Pick<EventParts, 'log' | 'tail'>;
  readonly rows: RowDeliveries;
}

export class LogSamples {
  readonly #parts: SamplesParts;
  readonly #turnstile = new Turnstile();

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
    const end = this.#parts.events.tail.position.number;
    for (let through = end; through > Math.max(0, end - SEARCHED); through -= PAGE) {
      const found = await this.#newestIn(Math.max(0, through - PAGE), through, endpoint);
      if (found !== null) return found;
    }
    return null;
  }

  /** The newest one above a number, up to another one. */
  async #newestIn(from: number, through: number, endpoint: PlannedEndpoint): Promise<Event | null> {
    const { events, rows } = this.#parts;
    const lane = this.#turnstile.lane(endpoint);
    let body: string | null = null;
    for (let after = from; after < through; ) {
      const page = await events.log.read(after, through - after);
      const last = page.at(-1);
      if (last === undefined) break;
      for (const row of page) {
        if (lane.isOver) await lane.pass();
        if (!endpoint.wantsRow(row)) continue;
        const { deliveries } = await rows.of(row, [endpoint], 'test', lane);
        body = deliveries[0]?.body ?? body;
      }
      after = last.number;
    }
    return body === null ? null : JSON.parse(body);
  }
}
