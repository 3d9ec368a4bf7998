/**
 * The event of a row for readers with the same view, as JSON and as a document for filters. Each is built once, on
 * first use.
 */
import { beforeOf, dataOf, type Envelope, encodeEvent, toEnvelope } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/row.ts';
import { inTurns } from '../../lib/concurrency/cooperative-yield.ts';
import type { Fields } from '../../query/evaluate/order.ts';

export class RenderedEvent {
  readonly #row: LogRow;
  #envelope: Envelope | null | undefined;
  #json: Buffer | undefined;
  #document: Fields | undefined;

  /** @param row redacted to what is visible; it is an event */
  constructor(row: LogRow) {
    this.#row = row;
  }

  get json(): Buffer {
    this.#envelope ??= toEnvelope(this.#row);
    this.#json ??= encodeEvent(this.#row, this.#envelope) ?? Buffer.from('null');
    return this.#json;
  }

  /** The event as a document for filters: its id has the field name of a stored document's id. */
  get document(): Fields {
    this.#envelope ??= toEnvelope(this.#row);
    this.#document ??= this.#created(dataOf(this.#row), beforeOf(this.#row));
    return this.#document;
  }

  /** Builds everything with yields, so that `json` and `document` are fast afterwards. */
  async prepare(turn: (() => Promise<unknown>) | undefined, how: { readonly requested: boolean }): Promise<void> {
    const row = this.#row;
    this.#envelope ??= await inTurns(() => toEnvelope(row), turn);
    if (!how.requested || this.#document !== undefined) return;
    const data = await inTurns(() => dataOf(row), turn);
    this.#document = this.#created(data, await inTurns(() => beforeOf(row), turn));
  }

  #created(data: Fields | null, before: Fields | null): Fields {
    return { ...this.#envelope, data, before, _id: this.#envelope?.id };
  }
}
