/**
 * A row of the log as subscriptions use it. Its documents, texts and JSON are decoded or encoded once, when they are
 * first needed, for all subscriptions. Not here: what a row means for a subscription (live-answer.ts).
 */
import type { Document, Timestamp } from 'mongodb';
import { rawDifference } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import { encodeDocument } from '../../database/json/json.ts';
import { type Event, eventType } from '../../events/log/event.ts';
import { formatPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import { inTurns } from '../../kernel/concurrency/pauses.ts';
import type { Match } from '../../query/evaluate/match.ts';
import { kindOf } from '../../query/evaluate/order.ts';

/** A text that is different for different ids. `idText` alone is not enough: two ids may have the same text. */
export function identityOf(id: unknown): string {
  return `${kindOf(id)}:${idText(id)}`;
}

export class RowView {
  readonly row: LogRow;
  #before: Document | null | undefined;
  #after: Document | null | undefined;
  #id: { readonly identity: string; readonly text: string } | undefined;
  #json: Buffer | null = null;
  #event: string | undefined;
  #changed: readonly string[] | undefined;
  #type: string | null | undefined;
  readonly #shown = new Map<string, Event | null>();
  /** The results of expensive filters for a state; null while there are none. */
  #answers: Map<object, Map<object, boolean>> | null = null;

  constructor(row: LogRow) {
    this.row = row;
  }

  get number(): number {
    return this.row.number;
  }

  get time(): Timestamp {
    return this.row.time;
  }

  /** The position of the row. */
  get event(): string {
    this.#event ??= formatPosition(this.row);
    return this.#event;
  }

  /** When the database made the change, ISO 8601. */
  get at(): string {
    return this.row.wall.toISOString();
  }

  /** The document before the change, with its BSON types; null when there was none or it is unknown. */
  get before(): Document | null {
    this.#before ??= this.row.before && readStored(this.row.before);
    return this.#before;
  }

  get after(): Document | null {
    this.#after ??= this.row.after && readStored(this.row.after);
    return this.#after;
  }

  /** The whole document after the change as JSON: encoded once for all questions that show it. */
  get json(): Buffer | null {
    this.#json ??= this.row.after && encodeDocument(this.row.after);
    return this.#json;
  }

  /** Bytes of both states. */
  get bytes(): number {
    return (this.row.before?.length ?? 0) + (this.row.after?.length ?? 0);
  }

  /** Whether a document matches. It is a state of the row, or was made from one. */
  passes(match: Match, document: Document): boolean {
    return this.#answers?.get(match)?.get(document) ?? match(document);
  }

  /**
   * Evaluates a filter in slices, so that `passes` takes no time afterwards.
   * @param turn resolves when the next slice may begin
   */
  async prepare(match: Match, document: Document | null, turn?: () => Promise<unknown>): Promise<void> {
    if (document === null) return;
    const answer = await inTurns(() => match(document), turn);
    this.#answers ??= new Map();
    const answers = this.#answers.get(match) ?? new Map<object, boolean>();
    this.#answers.set(match, answers.set(document, answer));
  }

  get identity(): string {
    return this.#known().identity;
  }

  /** The document's id as clients see it. */
  get documentId(): string {
    return this.#known().text;
  }

  /** Top-level members that differ between the stored states; null where a state is unknown. */
  get changed(): readonly string[] | null {
    const { before, after } = this.row;
    if (before === null || after === null) return null;
    this.#changed ??= rawDifference(before, after).filter((name) => name !== '_id' && name !== '_meta');
    return this.#changed;
  }

  /** The type of its event; null when the row is not an event. */
  get type(): string | null {
    if (this.#type === undefined) this.#type = eventType(this.row);
    return this.#type;
  }

  /**
   * Its event as readers see it, made once for all readers that see the same.
   * @param sight equal for readers that see the same
   */
  shown(sight: string, make: () => Event | null): Event | null {
    const known = this.#shown.get(sight);
    if (known !== undefined) return known;
    const event = make();
    this.#shown.set(sight, event);
    return event;
  }

  #known(): { readonly identity: string; readonly text: string } {
    if (this.#id !== undefined) return this.#id;
    const id: unknown = this.row.key === null ? null : readStored(this.row.key)['_id'];
    this.#id = { identity: identityOf(id), text: idText(id) };
    return this.#id;
  }
}
