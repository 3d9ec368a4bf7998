/**
 * The live result of a document query. Without a window it keeps nothing: the states before and after a change say
 * whether the document enters, stays or leaves. A window (window.ts) keeps ids and sort keys, and is refilled from the
 * database when it becomes too short (`refill`; hub/row-batch.ts decides when).
 */
import type { Document } from 'mongodb';
import { readInTurns, readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import { mapInTurns } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Account } from '../../lib/memory/byte-budget.ts';
import { costOfScope, hidesFields, reachesAll } from '../../policies/scope-filter.ts';
import { isHeavy } from '../../query/evaluate/cost.ts';
import { ALL, type FieldTree } from '../../query/evaluate/field-tree.ts';
import { everything } from '../../query/filter.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import { type LeaveReason, type Reported, toMessage } from '../wire/shared-message.ts';
import type { LiveSpec } from './live-query-spec.ts';
import { type LiveResponse, NOTHING, type Verification } from './live-result.ts';
import { differences, encodeVisible, isWhole, keyText, renderedInTurns, visibleBytes } from './rendering.ts';
import { identityOf, type RowView } from './row-view.ts';
import type { SnapshotStore } from './snapshot-store.ts';
import { Window, type WindowMember } from './window.ts';
import { fieldBytes, toWindowMember } from './window-document.ts';

export class LiveQuery implements LiveResponse {
  readonly query: LiveSpec;
  readonly #store: SnapshotStore;
  readonly window: Window | null;
  /** The last row that affected the window. */
  #touched: RowView | null = null;
  #payer: Account;
  #paid = 0;
  #ended = false;

  /** @param payer the memory budget that it counts against */
  constructor(query: LiveSpec, store: SnapshotStore, payer: Account) {
    this.query = query;
    this.#store = store;
    this.#payer = payer;
    this.window = query.limit === null ? null : new Window(query.sort, query.limit);
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

  get remembers(): boolean {
    return this.window !== null;
  }

  get wanting(): boolean {
    return this.window !== null && this.window.want !== null;
  }

  get payer(): Account {
    return this.#payer;
  }

  payBy(account: Account): void {
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
    return !isWhole(this.query);
  }

  isHeavy(view: RowView): boolean {
    return isHeavy(this.query.cost, view.bytes);
  }

  async prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void> {
    if (view.row.collection !== this.collection) return;
    await view.read(turn);
    const { before, after } = view;
    const { match, scope } = this.query;
    if (this.window === null) await view.prepare(match, before, turn);
    await view.prepare(match, after, turn);
    if (isHeavy(costOfScope(scope), view.bytes)) await view.prepareFields(scope, turn);
    if (after === null || !view.passes(match, after)) return;
    if (isWhole(this.query)) {
      await view.prepareChanged(turn);
      if (view.isLong) void view.json;
    } else if (view.isLong && view.row.before !== null && view.row.after !== null) {
      const [was, is] = [this.#visible(view, view.row.before), this.#visible(view, view.row.after)];
      await view.prepareDiffering(this.query, () => differences(was, is), turn);
    }
  }

  #visible(view: RowView, state: Buffer): Buffer {
    return visibleBytes(this.query, state, (raw) => this.#fields(view, raw));
  }

  #fields(view: RowView, state: Buffer): FieldTree | null {
    const { scope } = this.query;
    return hidesFields(scope) ? view.fields(scope, state) : ALL;
  }

  judge(view: RowView): Verification {
    const { row } = view;
    switch (row.operation) {
      case 'insert':
      case 'update':
      case 'replace':
      case 'delete':
        if (row.collection !== this.collection) return NOTHING;
        return this.window === null ? this.#judgePlain(view) : this.#judgeInWindow(view, this.window);
      case 'drop':
        return row.collection === this.collection ? 'dropped' : NOTHING;
      case 'rename':
        return row.collection === this.collection || row.to === this.collection ? 'dropped' : NOTHING;
      case 'dropDatabase':
        return 'dropped';
      case 'gap':
        return 'gap';
      default:
        return NOTHING;
    }
  }

  #judgePlain(view: RowView): Verification {
    const { operation, big } = view.row;
    const { before, after } = view;
    if (operation !== 'insert' && before === null) return this.#judgeBlind(view);
    if (operation !== 'delete' && after === null && !big) return 'gap';
    const was = before !== null && view.passes(this.query.match, before);
    const is = after !== null && view.passes(this.query.match, after);
    if (is) return this.#shown(view, was ? 'update' : 'enter', after);
    return was ? [this.#left(view, this.#reason(view))] : NOTHING;
  }

  /**
   * The state before is unknown. If clients may see every document and have no filter, that does not matter. Otherwise
   * a message could reveal a document that the client must not see, so the result is invalid.
   */
  #judgeBlind(view: RowView): Verification {
    const { scope, filter } = this.query;
    if (filter !== everything || !reachesAll(scope)) return 'gap';
    if (view.row.operation === 'delete') return [this.#left(view, 'deleted')];
    if (view.after !== null) return this.#shown(view, 'update', view.after);
    // A large document that has been deleted since: the row of its deletion follows.
    return view.row.big ? NOTHING : 'gap';
  }

  #judgeInWindow(view: RowView, window: Window): Verification {
    const { row, after, identity } = view;
    if (row.operation !== 'delete' && after === null && !row.big) return 'gap';
    const matching = after !== null && view.passes(this.query.match, after) ? after : null;
    if (matching === null && !window.has(identity)) return NOTHING;
    this.#touched = view;
    const key = matching && sortKeyOf(matching, this.query.sort);
    const id: unknown = row.key === null ? null : readStored(row.key)['_id'];
    const bytes = fieldBytes(view.documentId, id, key);
    const { own, displaced } = window.apply({ identity, text: view.documentId, id, key, bytes });
    if (!this.#pay(window.bytes)) return 'window';
    const reported: Reported[] = [];
    if (displaced !== null) reported.push(this.#leftWindow(displaced, view));
    if (own === 'leave') reported.push(this.#left(view, matching === null ? this.#reason(view) : 'window'));
    else if (own !== null && after !== null) reported.push(...this.#shown(view, own, after));
    return reported;
  }

  #shown(view: RowView, op: 'enter' | 'update', after: Document): readonly Reported[] {
    const { query } = this;
    const { before, row } = view;
    const raw = row.after;
    if (raw === null) return NOTHING;
    let seen: Buffer | null = null;
    const visible = (): Buffer => {
      seen ??= this.#visible(view, raw);
      return seen;
    };
    let changed: readonly string[] | null = null;
    if (op === 'update' && row.before !== null && before !== null && !isWhole(query)) {
      const was = row.before;
      // `_meta` also changes with hidden fields. Such a change alone is sent only to clients that requested `_meta`.
      const reported = query.fields?.mode === 'include' && query.fields.paths.includes('_meta');
      const all = view.differing(query, () => differences(this.#visible(view, was), visible()));
      const differing = all.filter((name) => reported || name !== '_meta');
      const moved = query.keyed && keyText(query, before) !== keyText(query, after);
      if (differing.length === 0 && !moved) return NOTHING;
      changed = differing.filter((name) => name !== '_id' && name !== '_meta');
    }
    const message = toMessage(view.event, () => ({
      op,
      documentId: view.documentId,
      document: (isWhole(query) ? view.json : null) ?? encodeVisible(query, visible()),
      changed: op === 'update' ? (changed ?? view.changed) : null,
      sortKey: query.keyed ? keyText(query, after) : null,
      at: view.at,
    }));
    return [message];
  }

  #left(view: RowView, reason: LeaveReason): Reported {
    return toMessage(view.event, () => ({ op: 'leave', documentId: view.documentId, reason, at: view.at }));
  }

  #leftWindow(member: WindowMember, view: RowView): Reported {
    return toMessage(view.event, () => ({ op: 'leave', documentId: member.text, reason: 'window', at: view.at }));
  }

  #reason(view: RowView): LeaveReason {
    const { row, after } = view;
    if (row.operation === 'delete' || after === null) return 'deleted';
    return row.after !== null && view.fields(this.query.scope, row.after) !== null ? 'filter' : 'gone';
  }

  async refill(at: RowView, limitMs?: number): Promise<readonly Reported[]> {
    const { window, query } = this;
    const want = window?.want ?? null;
    if (window === null || want === null) return NOTHING;
    const { untold, further, behind } = want;
    const [known, next] = await Promise.all([
      untold.length === 0
        ? []
        : this.#store.byIds(
            query.collection,
            untold.map(({ id }) => id),
            at.time,
            limitMs,
          ),
      further === 0 ? null : this.#store.behind(query, behind, further, at.time, limitMs),
    ]);
    const documents = new Map<string, { readonly raw: Buffer; readonly read: Document }>();
    const added: WindowMember[] = [];
    await mapInTurns(known, async (raw) => {
      const read = await readInTurns(raw);
      documents.set(identityOf(read['_id']), { raw, read });
    });
    await mapInTurns(next ?? [], async (raw) => {
      const read = await readInTurns(raw);
      const member = toWindowMember(read, query);
      documents.set(member.identity, { raw, read });
      added.push(member);
    });
    const entered = window.supply(added, next === null ? null : next.length === further);
    if (!this.#pay(window.bytes)) throw new MillraceError('client-memory-exceeded', 'A window uses too much memory');
    const cause = this.#touched ?? at;
    return mapInTurns(entered, ({ identity, text }) => {
      const found = documents.get(identity);
      if (found === undefined) throw new Error(`The document ${text} of a window is missing`);
      return this.entering(found.read, found.raw, cause);
    });
  }

  /** The message for a document that enters the window because of a row. */
  async entering(document: Document, raw: Buffer, cause: RowView): Promise<Reported> {
    const json = await renderedInTurns(this.query, raw);
    return toMessage(cause.event, () => ({
      op: 'enter',
      documentId: idText(document['_id']),
      document: json,
      sortKey: keyText(this.query, document),
      at: cause.at,
    }));
  }
}
