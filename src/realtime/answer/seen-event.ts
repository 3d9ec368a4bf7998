/**
 * The event of a row as some readers see it: as JSON to be sent, and as a document that a filter is asked of. Each is
 * made once, when it is first needed. Not here: what readers may see (events/read/visible-row.ts).
 */
import { beforeOf, dataOf, type Envelope, encodeEvent, toEnvelope } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/row.ts';
import { inTurns } from '../../kernel/concurrency/pauses.ts';
import type { Members } from '../../query/evaluate/order.ts';

export class SeenEvent {
  readonly #row: LogRow;
  #envelope: Envelope | null | undefined;
  #json: Buffer | undefined;
  #document: Members | undefined;

  /** @param row cut to what is seen; it is an event */
  constructor(row: LogRow) {
    this.#row = row;
  }

  get json(): Buffer {
    this.#envelope ??= toEnvelope(this.#row);
    this.#json ??= encodeEvent(this.#row, this.#envelope) ?? Buffer.from('null');
    return this.#json;
  }

  /** The event as a document for filters: its id has the name that the id of a stored document has. */
  get document(): Members {
    this.#envelope ??= toEnvelope(this.#row);
    this.#document ??= this.#made(dataOf(this.#row), beforeOf(this.#row));
    return this.#document;
  }

  /** Makes everything in turns, so that `json` and `document` take little time afterwards. */
  async prepare(turn: (() => Promise<unknown>) | undefined, how: { readonly asked: boolean }): Promise<void> {
    const row = this.#row;
    this.#envelope ??= await inTurns(() => toEnvelope(row), turn);
    if (!how.asked || this.#document !== undefined) return;
    const data = await inTurns(() => dataOf(row), turn);
    this.#document = this.#made(data, await inTurns(() => beforeOf(row), turn));
  }

  #made(data: Members | null, before: Members | null): Members {
    return { ...this.#envelope, data, before, _id: this.#envelope?.id };
  }
}
