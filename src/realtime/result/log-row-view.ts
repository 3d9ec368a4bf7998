/**
 * A row of the log for subscriptions. Its documents, texts and JSON are decoded or encoded once, on first use, for all
 * subscriptions.
 */
import type { Document, Timestamp } from 'mongodb';
import { changedFieldNames } from '../../database/bson/raw-bson.ts';
import {
  decodeDocument,
  decodeDocumentCooperatively,
  LARGE_DOCUMENT_BYTES,
} from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import { encodeDocumentJson } from '../../database/json/json.ts';
import { eventType } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import { formatPosition } from '../../events/log/position.ts';
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { Scope } from '../../policies/scope.ts';
import { visibleFieldTree } from '../../policies/scope-filter.ts';
import { bsonKindOf } from '../../query/evaluate/bson-order.ts';
import type { FieldTree } from '../../query/evaluate/field-tree.ts';
import type { DocumentMatcher } from '../../query/evaluate/match.ts';
import { PrecomputedRowResults } from './precomputed-row-results.ts';
import { RenderedEvent } from './rendered-event.ts';

/** A text that is different for different ids. `idText` alone is not enough: two ids may have the same text. */
export function documentIdKey(id: unknown): string {
  return `${bsonKindOf(id)}:${idText(id)}`;
}

type Turn = () => Promise<unknown>;

/** Without the fields that the server sets. */
const own = (names: readonly string[]): readonly string[] => names.filter((name) => name !== '_id' && name !== '_meta');

export class LogRowView {
  readonly row: LogRow;
  #before: Document | null | undefined;
  #after: Document | null | undefined;
  #id: { readonly identity: string; readonly text: string } | undefined;
  #json: Buffer | null = null;
  #event: string | undefined;
  #changed: readonly string[] | undefined;
  #type: string | null | undefined;
  readonly #shown = new Map<string, RenderedEvent | null>();
  readonly #responses = new PrecomputedRowResults<boolean>();
  readonly #fields = new PrecomputedRowResults<FieldTree | null>();
  readonly #differing = new PrecomputedRowResults<readonly string[]>();

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

  /** The document before the change, with its BSON types; null if there was none or it is unknown. */
  get before(): Document | null {
    this.#before ??= this.row.before && decodeDocument(this.row.before);
    return this.#before;
  }

  get after(): Document | null {
    this.#after ??= this.row.after && decodeDocument(this.row.after);
    return this.#after;
  }

  /** The whole document after the change as JSON, encoded once for all queries that return it. */
  get json(): Buffer | null {
    this.#json ??= this.row.after && encodeDocumentJson(this.row.after);
    return this.#json;
  }

  /** Bytes of both states. */
  get bytes(): number {
    return (this.row.before?.length ?? 0) + (this.row.after?.length ?? 0);
  }

  /** Whether a state is so large that reading, comparing or rendering it must yield. */
  get isLong(): boolean {
    const { before, after } = this.row;
    return (
      (before !== null && before.length >= LARGE_DOCUMENT_BYTES) ||
      (after !== null && after.length >= LARGE_DOCUMENT_BYTES)
    );
  }

  /** Reads large states with yields, so that `before` and `after` are fast afterwards. */
  async read(turn?: Turn): Promise<void> {
    const { before, after } = this.row;
    if (before !== null && this.#before === undefined) this.#before = await decodeDocumentCooperatively(before, turn);
    if (after !== null && this.#after === undefined) this.#after = await decodeDocumentCooperatively(after, turn);
  }

  /** Whether a document matches. It is a state of the row, or derived from one. */
  passes(match: DocumentMatcher, document: Document): boolean {
    return this.#responses.get(match, document, () => match(document));
  }

  /** Evaluates a filter with yields, so that `passes` is fast afterwards. */
  async prepare(match: DocumentMatcher, document: Document | null, turn?: Turn): Promise<void> {
    if (document !== null) await this.#responses.prepare(match, document, () => match(document), turn);
  }

  /** The fields of a state that a Scope allows; null if it excludes the state. */
  fields(scope: Scope<'read'>, state: Buffer): FieldTree | null {
    return this.#fields.get(scope.grants, state, () => visibleFieldTree(scope, this.#read(state)));
  }

  /** Tests the states against a Scope with yields, so that `fields` is fast afterwards. */
  async prepareFields(scope: Scope<'read'>, turn?: Turn): Promise<void> {
    await this.read(turn);
    for (const state of [this.row.after, this.row.before]) {
      if (state === null) continue;
      await this.#fields.prepare(scope.grants, state, () => visibleFieldTree(scope, this.#read(state)), turn);
    }
  }

  #read(state: Buffer): Document {
    const document = state === this.row.after ? this.after : this.before;
    if (document === null) throw new TypeError('Only a state of the row can be tested');
    return document;
  }

  get identity(): string {
    return this.#known().identity;
  }

  /** The document's id as clients see it. */
  get documentId(): string {
    return this.#known().text;
  }

  /** Top-level fields that differ between the stored states; null if a state is unknown. */
  get changed(): readonly string[] | null {
    const { before, after } = this.row;
    if (before === null || after === null) return null;
    this.#changed ??= own(changedFieldNames(before, after));
    return this.#changed;
  }

  /** Compares large states with yields, so that `changed` is fast afterwards. */
  async prepareChanged(turn?: Turn): Promise<void> {
    const { before, after } = this.row;
    if (before === null || after === null) return;
    this.#changed ??= own(await runCooperatively(() => changedFieldNames(before, after), turn));
  }

  /** The visible top-level fields that differ between two states. @param owner the same for the same fields */
  differing(owner: object, compare: () => readonly string[]): readonly string[] {
    return this.#differing.get(owner, this.row, compare);
  }

  /** Compares with yields, so that `differing` is fast afterwards. */
  async prepareDiffering(owner: object, compare: () => readonly string[], turn?: Turn): Promise<void> {
    await this.#differing.prepare(owner, this.row, compare, turn);
  }

  /** The type of its event; null if the row is not an event. */
  get type(): string | null {
    if (this.#type === undefined) this.#type = eventType(this.row);
    return this.#type;
  }

  /**
   * Its event, built once for all readers with the same view.
   * @param sight equal for readers with the same view
   * @param cut the redacted row; null if it is not visible
   */
  shown(sight: string, cut: () => LogRow | null): RenderedEvent | null {
    const known = this.#shown.get(sight);
    if (known !== undefined) return known;
    const row = cut();
    const event = row && new RenderedEvent(row);
    this.#shown.set(sight, event);
    return event;
  }

  #known(): { readonly identity: string; readonly text: string } {
    if (this.#id !== undefined) return this.#id;
    const id: unknown = this.row.key === null ? null : decodeDocument(this.row.key)['_id'];
    this.#id = { identity: documentIdKey(id), text: idText(id) };
    return this.#id;
  }
}
