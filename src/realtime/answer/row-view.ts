/**
 * A row of the log as subscriptions look at it: its documents decoded once, whoever asks first, and what identifies the
 * document. Not here: what a row means for a subscription.
 */
import type { Document, Timestamp } from 'mongodb';
import { rawDifference } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import { encodeDocument } from '../../database/json/json.ts';
import { type Event, eventType } from '../../events/log/event.ts';
import { formatPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { Match } from '../../query/evaluate/match.ts';
import { kindOf } from '../../query/evaluate/order.ts';
import { inTurns } from '../../query/pauses.ts';

/** What tells documents apart: two ids may have one text. */
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
  /** What heavy questions make of a state; null while there are none. */
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

  /** The document before, exactly typed; null when there was none or it is not known. */
  get before(): Document | null {
    this.#before ??= this.row.before && readStored(this.row.before);
    return this.#before;
  }

  get after(): Document | null {
    this.#after ??= this.row.after && readStored(this.row.after);
    return this.#after;
  }

  /** The document after it as JSON, whole as it is stored: made once, however many questions show it. */
  get json(): Buffer | null {
    this.#json ??= this.row.after && encodeDocument(this.row.after);
    return this.#json;
  }

  /** Bytes of both states. */
  get bytes(): number {
    return (this.row.before?.length ?? 0) + (this.row.after?.length ?? 0);
  }

  /** Whether a document passes, which is a state of the row or made of it. */
  passes(match: Match, document: Document): boolean {
    return this.#answers?.get(match)?.get(document) ?? match(document);
  }

  /**
   * Finds out in turns whether a document passes, so that `passes` takes no time.
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

  /** Top-level members that differ, as they are stored; null where that is not known. */
  get changed(): readonly string[] | null {
    const { before, after } = this.row;
    if (before === null || after === null) return null;
    this.#changed ??= rawDifference(before, after).filter((name) => name !== '_id' && name !== '_meta');
    return this.#changed;
  }

  /** The type of its event; null when it is none. */
  get type(): string | null {
    if (this.#type === undefined) this.#type = eventType(this.row);
    return this.#type;
  }

  /**
   * Its event as readers see it, made once for all of the same sight.
   * @param sight equal for those who see the same
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
