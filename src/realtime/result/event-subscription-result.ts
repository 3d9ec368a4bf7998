/**
 * The live result of a subscription to events. A row of a subscribed type becomes an event, redacted by the Scope to
 * what the principal may see. Only then the subscription's own filter is applied, so that it cannot reveal hidden
 * values.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { isUnrestricted, redactCollectionNames, redactRow, type ScopedRow } from '../../events/read/redact-row.ts';
import { eventTypeMatcher, matchesRowType } from '../../events/read/type-patterns.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { Resource, Scope } from '../../policies/scope.ts';
import { scopeMatchCost } from '../../policies/scope-filter.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { filterCost, isExpensiveMatch } from '../../query/evaluate/filter-cost.ts';
import { compileMatcher, type DocumentMatcher } from '../../query/evaluate/match.ts';
import type { Filter } from '../../query/filter.ts';
import { SharedMessage } from '../wire/shared-message.ts';
import { type LiveResult, NO_MESSAGES, type RowEffect } from './live-result-interface.ts';
import type { LogRowView } from './log-row-view.ts';
import type { RenderedEvent } from './rendered-event.ts';

export interface EventQuery {
  readonly types: readonly string[];
  readonly filter: Filter;
  readonly principal: Principal;
  /** Equal for queries that receive the same messages. */
  readonly key: string;
}

/** Finds the read Scope of a resource. */
export interface ScopeFinder {
  find(principal: Principal, action: 'read', resource: Resource): Scope<'read'> | null;
}

export class LiveEvents implements LiveResult {
  readonly collection = null;
  readonly needsRefill = false;
  readonly isStateful = false;
  readonly memoryAccount: MemoryAccount;
  readonly #query: EventQuery;
  readonly #policies: ScopeFinder;
  readonly #match: DocumentMatcher;
  readonly #cost: number;
  readonly #wants: (type: string) => boolean;
  /** Scopes by resource. They need no update: a change of policies creates a new live result. */
  readonly #scopes = new Map<Resource, Scope<'read'> | null>();

  /** @param payer the memory budget of its first client; it keeps nothing, so it uses none */
  constructor(query: EventQuery, policies: ScopeFinder, payer: MemoryAccount) {
    this.#query = query;
    this.memoryAccount = payer;
    this.#policies = policies;
    this.#match = compileMatcher(query.filter);
    this.#cost = filterCost(query.filter);
    this.#wants = eventTypeMatcher(query.types);
  }

  get key(): string {
    return this.#query.key;
  }

  readonly rendersAlone = false;

  isHeavy(view: LogRowView): boolean {
    const named = matchesRowType(this.#wants, view.row, view.type) ? this.#named(view) : null;
    return named !== null && isExpensiveMatch(this.#cost + scopeMatchCost(named.scope), view.bytes);
  }

  applyRow(view: LogRowView): RowEffect {
    if (!matchesRowType(this.#wants, view.row, view.type)) return NO_MESSAGES;
    const event = this.#visible(view);
    if (event === null || !this.#passes(view, event)) return NO_MESSAGES;
    return [new SharedMessage('event', view.event, () => Buffer.concat([LABEL, event.json]))];
  }

  #passes(view: LogRowView, event: RenderedEvent): boolean {
    return this.#cost === 0 || view.passes(this.#match, event.document);
  }

  async prepare(view: LogRowView, turn?: () => Promise<unknown>): Promise<void> {
    const named = matchesRowType(this.#wants, view.row, view.type) ? this.#named(view) : null;
    if (named === null) return;
    if (!isUnrestricted(named.scope)) await view.prepareFields(named.scope, turn);
    const event = this.#visible(view);
    if (event === null) return;
    const requested = this.#cost > 0;
    await event.prepare(turn, { requested });
    if (requested) await view.prepare(this.#match, event.document, turn);
    if (view.isLong && this.#passes(view, event)) void event.json;
  }

  async refill(): Promise<readonly never[]> {
    return [];
  }

  chargeTo(): void {}

  end(): void {}

  #named(view: LogRowView): ScopedRow | null {
    return redactCollectionNames(view.row, (resource) => this.#scope(resource));
  }

  /** The event, redacted to the visible states; null if none is visible. */
  #visible(view: LogRowView): RenderedEvent | null {
    const named = this.#named(view);
    if (named === null) return null;
    const { row, scope } = named;
    const isAsItWas = row === view.row;
    // The subscribed types must match the redacted event: otherwise its arrival would reveal what was removed.
    if (!isAsItWas && !matchesRowType(this.#wants, row)) return null;
    const names = isAsItWas ? '' : `${row.collection} ${row.to}`;
    const sight = isUnrestricted(scope) ? () => FULL_FIELD_TREE : (state: Buffer) => view.fields(scope, state);
    return view.shown(`${scopeKey(scope)} ${names}`, () => redactRow(row, scope, sight));
  }

  #scope(resource: Resource): Scope<'read'> | null {
    const known = this.#scopes.get(resource);
    const isOld = known != null && known.until !== null && known.until <= Date.now();
    if (known !== undefined && !isOld) return known;
    const scope = this.#policies.find(this.#query.principal, 'read', resource);
    this.#scopes.set(resource, scope);
    return scope;
  }
}

const LABEL = Buffer.from('"event":');
