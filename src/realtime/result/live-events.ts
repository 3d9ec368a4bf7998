/**
 * The live result of a subscription to events. A row of a subscribed type becomes an event, redacted by the Scope to
 * what the principal may see. Only then the subscription's own filter is applied, so that it cannot reveal hidden
 * values.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type NamedRow, namedRow, shownRow, showsAll } from '../../events/read/redact-row.ts';
import { wanting, wantsRow } from '../../events/read/type-patterns.ts';
import type { Account } from '../../lib/memory/byte-budget.ts';
import type { Resource, Scope } from '../../policies/scope.ts';
import { costOfScope } from '../../policies/scope-filter.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { costOf, isHeavy } from '../../query/evaluate/cost.ts';
import { ALL } from '../../query/evaluate/field-tree.ts';
import { compileMatch, type Match } from '../../query/evaluate/match.ts';
import type { Filter } from '../../query/filter.ts';
import { SharedMessage } from '../wire/shared-message.ts';
import { type LiveResponse, NOTHING, type Verification } from './live-result.ts';
import type { RenderedEvent } from './rendered-event.ts';
import type { RowView } from './row-view.ts';

export interface EventQuery {
  readonly types: readonly string[];
  readonly filter: Filter;
  readonly principal: Principal;
  /** Equal for queries that receive the same messages. */
  readonly key: string;
}

/** Finds the read Scope of a resource. */
export interface Reading {
  find(principal: Principal, action: 'read', resource: Resource): Scope<'read'> | null;
}

export class LiveEvents implements LiveResponse {
  readonly collection = null;
  readonly wanting = false;
  readonly remembers = false;
  readonly payer: Account;
  readonly #query: EventQuery;
  readonly #policies: Reading;
  readonly #match: Match;
  readonly #cost: number;
  readonly #wants: (type: string) => boolean;
  /** Scopes by resource. They need no update: a change of policies creates a new live result. */
  readonly #scopes = new Map<Resource, Scope<'read'> | null>();

  /** @param payer the memory budget of its first client; it keeps nothing, so it uses none */
  constructor(query: EventQuery, policies: Reading, payer: Account) {
    this.#query = query;
    this.payer = payer;
    this.#policies = policies;
    this.#match = compileMatch(query.filter);
    this.#cost = costOf(query.filter);
    this.#wants = wanting(query.types);
  }

  get key(): string {
    return this.#query.key;
  }

  readonly rendersAlone = false;

  isHeavy(view: RowView): boolean {
    const named = wantsRow(this.#wants, view.row, view.type) ? this.#named(view) : null;
    return named !== null && isHeavy(this.#cost + costOfScope(named.scope), view.bytes);
  }

  judge(view: RowView): Verification {
    if (!wantsRow(this.#wants, view.row, view.type)) return NOTHING;
    const event = this.#visible(view);
    if (event === null || !this.#passes(view, event)) return NOTHING;
    return [new SharedMessage('event', view.event, () => Buffer.concat([LABEL, event.json]))];
  }

  #passes(view: RowView, event: RenderedEvent): boolean {
    return this.#cost === 0 || view.passes(this.#match, event.document);
  }

  async prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void> {
    const named = wantsRow(this.#wants, view.row, view.type) ? this.#named(view) : null;
    if (named === null) return;
    if (!showsAll(named.scope)) await view.prepareFields(named.scope, turn);
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

  payBy(): void {}

  end(): void {}

  #named(view: RowView): NamedRow | null {
    return namedRow(view.row, (resource) => this.#scope(resource));
  }

  /** The event, redacted to the visible states; null if none is visible. */
  #visible(view: RowView): RenderedEvent | null {
    const named = this.#named(view);
    if (named === null) return null;
    const { row, scope } = named;
    const isAsItWas = row === view.row;
    // The subscribed types must match the redacted event: otherwise its arrival would reveal what was removed.
    if (!isAsItWas && !wantsRow(this.#wants, row)) return null;
    const names = isAsItWas ? '' : `${row.collection} ${row.to}`;
    const sight = showsAll(scope) ? () => ALL : (state: Buffer) => view.fields(scope, state);
    return view.shown(`${scopeKey(scope)} ${names}`, () => shownRow(row, scope, sight));
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
