/**
 * The event of a row for readers with the same view, as JSON and as a document for filters. Each is built once, on
 * first use.
 */
import { type EventEnvelope, encodeEvent, eventBefore, eventData, toEventEnvelope } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { EmbeddedDocument } from '../../query/evaluate/bson-order.ts';

export class RenderedEvent {
  readonly #row: LogRow;
  #envelope: EventEnvelope | null | undefined;
  #json: Buffer | undefined;
  #document: EmbeddedDocument | undefined;

  /** @param row redacted to what is visible; it is an event */
  constructor(row: LogRow) {
    this.#row = row;
  }

  get json(): Buffer {
    this.#envelope ??= toEventEnvelope(this.#row);
    this.#json ??= encodeEvent(this.#row, this.#envelope) ?? Buffer.from('null');
    return this.#json;
  }

  /** The event as a document for filters: its id has the field name of a stored document's id. */
  get document(): EmbeddedDocument {
    this.#envelope ??= toEventEnvelope(this.#row);
    this.#document ??= this.#created(eventData(this.#row), eventBefore(this.#row));
    return this.#document;
  }

  /** Builds everything with yields, so that `json` and `document` are fast afterwards. */
  async prepare(turn: (() => Promise<unknown>) | undefined, how: { readonly requested: boolean }): Promise<void> {
    const row = this.#row;
    this.#envelope ??= await runCooperatively(() => toEventEnvelope(row), turn);
    if (!how.requested || this.#document !== undefined) return;
    const data = await runCooperatively(() => eventData(row), turn);
    this.#document = this.#created(data, await runCooperatively(() => eventBefore(row), turn));
  }

  #created(data: EmbeddedDocument | null, before: EmbeddedDocument | null): EmbeddedDocument {
    return { ...this.#envelope, data, before, _id: this.#envelope?.id };
  }
}
