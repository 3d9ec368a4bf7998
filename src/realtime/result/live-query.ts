/**
 * The live result of a document query. Without a window it keeps nothing: the states before and after a change say
 * whether the document enters, stays or leaves. A window (query-window.ts) keeps ids and sort keys, and is refilled from the
 * database when it becomes too short (`refill`; hub/log-row-batch.ts decides when).
 */
import type { Document } from 'mongodb';
import { decodeDocument, decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import { hidesFields, includesAllDocuments, scopeMatchCost } from '../../policies/scope-filter.ts';
import { type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { isExpensiveMatch } from '../../query/evaluate/filter-cost.ts';
import { matchAllFilter } from '../../query/filter.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import { type LeaveReason, type SubscriptionMessage, toChangeMessage } from '../wire/shared-message.ts';
import type { LiveQuerySpec } from './live-query-spec.ts';
import { type LiveResult, NO_MESSAGES, type RowEffect } from './live-result-interface.ts';
import { documentIdKey, type LogRowView } from './log-row-view.ts';
import { QueryWindow, type WindowMember } from './query-window.ts';
import {
  changedVisibleFields,
  encodeAlreadyRedactedDocument,
  redactDocument,
  renderDocument,
  sendsWholeDocuments,
  sortKeyJson,
} from './rendering.ts';
import type { SnapshotReader } from './snapshot-reader.ts';
import { toWindowMember, windowMemberBytes } from './window-member.ts';

export class LiveQuery implements LiveResult {
  readonly query: LiveQuerySpec;
  readonly #store: SnapshotReader;
  readonly window: QueryWindow | null;
  /** The last row that affected the window. */
  #touched: LogRowView | null = null;
  #payer: MemoryAccount;
  #paid = 0;
  #ended = false;

  /** @param payer the memory budget that it counts against */
  constructor(query: LiveQuerySpec, store: SnapshotReader, payer: MemoryAccount) {
    this.query = query;
    this.#store = store;
    this.#payer = payer;
    this.window = query.limit === null ? null : new QueryWindow(query.sort, query.limit);
  }

  get key(): string {
    return this.query.key;
  }

  get collection(): string {
    return this.query.collection;
  }

  /** How many documents a snapshot has to read; null for all. */
  get capacity(): number | null {
    return this.window?.capacity ?? null;
  }

  get isStateful(): boolean {
    return this.window !== null;
  }

  get needsRefill(): boolean {
    return this.window !== null && this.window.shortfall !== null;
  }

  get memoryAccount(): MemoryAccount {
    return this.#payer;
  }

  chargeTo(account: MemoryAccount): void {
    if (this.#ended) return;
    this.#payer.note(-this.#paid);
    account.note(this.#paid);
    this.#payer = account;
  }

  end(): void {
    this.#ended = true;
    this.#pay(0);
  }

  /**
   * Reserves memory for one entry of the window, while entries are still being read.
   * @throws MillraceError `client-memory-exceeded`, `overloaded`
   */
  reserve({ bytes }: WindowMember): void {
    if (this.#ended) return;
    this.#payer.take(bytes);
    this.#paid += bytes;
  }

  /** Fills the window, if any, with the first documents of the result. */
  fill(members: readonly WindowMember[]): void {
    const { window } = this;
    window?.fill(members, members.length === window.capacity);
    this.#pay(window?.bytes ?? 0);
  }

  /** Reserves this many bytes in total, even above the limit. False if they exceed the limit. */
  #pay(bytes: number): boolean {
    const more = this.#ended ? -this.#paid : bytes - this.#paid;
    this.#payer.note(more);
    this.#paid += more;
    return more <= 0 || this.#payer.hasRoom(0);
  }

  get rendersAlone(): boolean {
    return !sendsWholeDocuments(this.query);
  }

  isHeavy(view: LogRowView): boolean {
    return isExpensiveMatch(this.query.cost, view.bytes);
  }

  async prepare(view: LogRowView, turn?: () => Promise<unknown>): Promise<void> {
    if (view.row.collection !== this.collection) return;
    await view.read(turn);
    const { before, after } = view;
    const { match, scope } = this.query;
    if (this.window === null) await view.prepare(match, before, turn);
    await view.prepare(match, after, turn);
    if (isExpensiveMatch(scopeMatchCost(scope), view.bytes)) await view.prepareFields(scope, turn);
    if (after === null || !view.passes(match, after)) return;
    if (sendsWholeDocuments(this.query)) {
      await view.prepareChanged(turn);
      if (view.isLong) void view.json;
    } else if (view.isLong && view.row.before !== null && view.row.after !== null) {
      const [was, is] = [this.#visible(view, view.row.before), this.#visible(view, view.row.after)];
      await view.prepareDiffering(this.query, () => changedVisibleFields(was, is), turn);
    }
  }

  #visible(view: LogRowView, state: Buffer): Buffer {
    return redactDocument(this.query, state, (raw) => this.#fields(view, raw));
  }

  #fields(view: LogRowView, state: Buffer): FieldTree | null {
    const { scope } = this.query;
    return hidesFields(scope) ? view.fields(scope, state) : FULL_FIELD_TREE;
  }

  applyRow(view: LogRowView): RowEffect {
    const { row } = view;
    switch (row.operation) {
      case 'insert':
      case 'update':
      case 'replace':
      case 'delete':
        if (row.collection !== this.collection) return NO_MESSAGES;
        return this.window === null ? this.#judgePlain(view) : this.#judgeInWindow(view, this.window);
      case 'drop':
      case 'rename':
        return row.collection === this.collection || row.to === this.collection ? 'dropped' : NO_MESSAGES;
      case 'dropDatabase':
        return 'dropped';
      case 'gap':
        return 'gap';
      default:
        return NO_MESSAGES;
    }
  }

  #judgePlain(view: LogRowView): RowEffect {
    const { operation, big } = view.row;
    const { before, after } = view;
    if (operation !== 'insert' && before === null) return this.#judgeBlind(view);
    if (operation !== 'delete' && after === null && !big) return 'gap';
    const was = before !== null && view.passes(this.query.match, before);
    const is = after !== null && view.passes(this.query.match, after);
    if (is) return this.#shown(view, was ? 'update' : 'enter', after);
    return was ? [this.#left(view, this.#reason(view))] : NO_MESSAGES;
  }

  /**
   * The state before is unknown. If clients may see every document and have no filter, that does not matter. Otherwise
   * a message could reveal a document that the client must not see, so the result is invalid.
   */
  #judgeBlind(view: LogRowView): RowEffect {
    const { scope, filter } = this.query;
    if (filter !== matchAllFilter || !includesAllDocuments(scope)) return 'gap';
    if (view.row.operation === 'delete') return [this.#left(view, 'deleted')];
    if (view.after !== null) return this.#shown(view, 'update', view.after);
    // A large document that has been deleted since: the row of its deletion follows.
    return view.row.big ? NO_MESSAGES : 'gap';
  }

  #judgeInWindow(view: LogRowView, window: QueryWindow): RowEffect {
    const { row, after, identity } = view;
    if (row.operation !== 'delete' && after === null && !row.big) return 'gap';
    const matching = after !== null && view.passes(this.query.match, after) ? after : null;
    if (matching === null && !window.has(identity)) return NO_MESSAGES;
    this.#touched = view;
    const key = matching && sortKeyOf(matching, this.query.sort);
    const id: unknown = row.key === null ? null : decodeDocument(row.key)['_id'];
    const bytes = windowMemberBytes(view.documentId, id, key);
    const { own, displaced } = window.apply({ identity, text: view.documentId, id, key, bytes });
    if (!this.#pay(window.bytes)) return 'window';
    const reported: SubscriptionMessage[] = [];
    if (displaced !== null) reported.push(this.#leftWindow(displaced, view));
    if (own === 'leave') reported.push(this.#left(view, matching === null ? this.#reason(view) : 'window'));
    else if (own !== null && after !== null) reported.push(...this.#shown(view, own, after));
    return reported;
  }

  #shown(view: LogRowView, op: 'enter' | 'update', after: Document): readonly SubscriptionMessage[] {
    const { query } = this;
    const { before, row } = view;
    const raw = row.after;
    if (raw === null) return NO_MESSAGES;
    let seen: Buffer | null = null;
    const visible = (): Buffer => {
      seen ??= this.#visible(view, raw);
      return seen;
    };
    let changed: readonly string[] | null = null;
    if (op === 'update' && row.before !== null && before !== null && !sendsWholeDocuments(query)) {
      const was = row.before;
      // `_meta` also changes with hidden fields. Such a change alone is sent only to clients that requested `_meta`.
      const reported = query.fields?.mode === 'include' && query.fields.paths.includes('_meta');
      const all = view.differing(query, () => changedVisibleFields(this.#visible(view, was), visible()));
      const differing = all.filter((name) => reported || name !== '_meta');
      const moved = query.keyed && sortKeyJson(query, before) !== sortKeyJson(query, after);
      if (differing.length === 0 && !moved) return NO_MESSAGES;
      changed = differing.filter((name) => name !== '_id' && name !== '_meta');
    }
    const message = toChangeMessage(view.event, () => ({
      op,
      documentId: view.documentId,
      document: (sendsWholeDocuments(query) ? view.json : null) ?? encodeAlreadyRedactedDocument(query, visible()),
      changed: op === 'update' ? (changed ?? view.changed) : null,
      sortKey: query.keyed ? sortKeyJson(query, after) : null,
      at: view.at,
    }));
    return [message];
  }

  #left(view: LogRowView, reason: LeaveReason): SubscriptionMessage {
    return toChangeMessage(view.event, () => ({ op: 'leave', documentId: view.documentId, reason, at: view.at }));
  }

  #leftWindow(member: WindowMember, view: LogRowView): SubscriptionMessage {
    return toChangeMessage(view.event, () => ({ op: 'leave', documentId: member.text, reason: 'window', at: view.at }));
  }

  #reason(view: LogRowView): LeaveReason {
    const { row, after } = view;
    if (row.operation === 'delete' || after === null) return 'deleted';
    return row.after !== null && view.fields(this.query.scope, row.after) !== null ? 'filter' : 'gone';
  }

  async refill(at: LogRowView, limitMs?: number): Promise<readonly SubscriptionMessage[]> {
    const { window, query } = this;
    const want = window?.shortfall ?? null;
    if (window === null || want === null) return NO_MESSAGES;
    const { unsent, missingCount, afterKey } = want;
    const ids = unsent.map(({ id }) => id);
    const [known, next] = await Promise.all([
      ids.length === 0 ? [] : this.#store.byIds(query.collection, ids, at.time, limitMs),
      missingCount === 0 ? null : this.#store.documentsAfter(query, afterKey, missingCount, at.time, limitMs),
    ]);
    const documents = new Map<string, { readonly raw: Buffer; readonly read: Document }>();
    const added: WindowMember[] = [];
    await mapCooperatively(known, async (raw) => {
      const read = await decodeDocumentCooperatively(raw);
      documents.set(documentIdKey(read['_id']), { raw, read });
    });
    await mapCooperatively(next ?? [], async (raw) => {
      const read = await decodeDocumentCooperatively(raw);
      const member = toWindowMember(read, query);
      documents.set(member.identity, { raw, read });
      added.push(member);
    });
    const entered = window.addFetched(added, next === null ? null : next.length === missingCount);
    if (!this.#pay(window.bytes)) throw new MillraceError('client-memory-exceeded', 'A window uses too much memory');
    const cause = this.#touched ?? at;
    return mapCooperatively(entered, ({ identity, text }) => {
      const found = documents.get(identity);
      if (found === undefined) throw new Error(`The document ${text} of a window is missing`);
      return this.entering(found.read, found.raw, cause);
    });
  }

  /** The message for a document that enters the window because of a row. */
  async entering(document: Document, raw: Buffer, cause: LogRowView): Promise<SubscriptionMessage> {
    const json = await renderDocument(this.query, raw);
    return toChangeMessage(cause.event, () => ({
      op: 'enter',
      documentId: idText(document['_id']),
      document: json,
      sortKey: sortKeyJson(this.query, document),
      at: cause.at,
    }));
  }
}
