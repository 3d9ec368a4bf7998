/**
 * The live answer of a subscription to events. A row of a wanted type becomes an event, cut by the Scope to what the
 * principal may see. Only then the subscription's own filter is applied, so that it cannot find out hidden values.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type NamedRow, namedRow, shownRow, showsAll } from '../../events/read/visible-row.ts';
import { wanting, wantsRow } from '../../events/read/wanted-types.ts';
import type { Account } from '../../kernel/memory/byte-budget.ts';
import { costOfScope } from '../../policies/reach.ts';
import type { Place, Scope } from '../../policies/scope.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { costOf, isHeavy } from '../../query/evaluate/cost.ts';
import { ALL } from '../../query/evaluate/field-tree.ts';
import { compileMatch, type Match } from '../../query/evaluate/match.ts';
import type { Filter } from '../../query/filter.ts';
import { SharedMessage } from '../wire/shared-message.ts';
import { type Judgement, type LiveAnswer, NOTHING } from './live-answer.ts';
import type { RowView } from './row-view.ts';
import type { SeenEvent } from './seen-event.ts';

export interface EventQuestion {
  readonly types: readonly string[];
  readonly filter: Filter;
  readonly principal: Principal;
  /** Equal for questions that get the same messages. */
  readonly key: string;
}

/** Finds the Scope of reading at a place. */
export interface Reading {
  find(principal: Principal, action: 'read', place: Place): Scope<'read'> | null;
}

export class LiveEvents implements LiveAnswer {
  readonly collection = null;
  readonly wanting = false;
  readonly remembers = false;
  readonly payer: Account;
  readonly #question: EventQuestion;
  readonly #policies: Reading;
  readonly #match: Match;
  readonly #cost: number;
  readonly #wants: (type: string) => boolean;
  /** Scopes by place. They need no update: a change of policies makes a new live answer. */
  readonly #scopes = new Map<Place, Scope<'read'> | null>();

  /** @param payer the account of its first client; it keeps nothing, so the account pays nothing */
  constructor(question: EventQuestion, policies: Reading, payer: Account) {
    this.#question = question;
    this.payer = payer;
    this.#policies = policies;
    this.#match = compileMatch(question.filter);
    this.#cost = costOf(question.filter);
    this.#wants = wanting(question.types);
  }

  get key(): string {
    return this.#question.key;
  }

  readonly rendersAlone = false;

  isHeavy(view: RowView): boolean {
    const named = wantsRow(this.#wants, view.row, view.type) ? this.#named(view) : null;
    return named !== null && isHeavy(this.#cost + costOfScope(named.scope), view.bytes);
  }

  judge(view: RowView): Judgement {
    if (!wantsRow(this.#wants, view.row, view.type)) return NOTHING;
    const event = this.#visible(view);
    if (event === null || !this.#passes(view, event)) return NOTHING;
    return [new SharedMessage('event', view.event, () => Buffer.concat([LABEL, event.json]))];
  }

  #passes(view: RowView, event: SeenEvent): boolean {
    return this.#cost === 0 || view.passes(this.#match, event.document);
  }

  async prepare(view: RowView, turn?: () => Promise<unknown>): Promise<void> {
    const named = wantsRow(this.#wants, view.row, view.type) ? this.#named(view) : null;
    if (named === null) return;
    if (!showsAll(named.scope)) await view.prepareFields(named.scope, turn);
    const event = this.#visible(view);
    if (event === null) return;
    const asked = this.#cost > 0;
    await event.prepare(turn, { asked });
    if (asked) await view.prepare(this.#match, event.document, turn);
    if (view.isLong && this.#passes(view, event)) void event.json;
  }

  async refill(): Promise<readonly never[]> {
    return [];
  }

  payBy(): void {}

  end(): void {}

  #named(view: RowView): NamedRow | null {
    return namedRow(view.row, (place) => this.#scope(place));
  }

  /** The event, cut to the states that may be seen; null when none may. */
  #visible(view: RowView): SeenEvent | null {
    const named = this.#named(view);
    if (named === null) return null;
    const { row, scope } = named;
    const isAsItWas = row === view.row;
    // The wanted types must fit what is left of the event: otherwise its arrival would tell what was left out.
    if (!isAsItWas && !wantsRow(this.#wants, row)) return null;
    const names = isAsItWas ? '' : `${row.collection} ${row.to}`;
    const sight = showsAll(scope) ? () => ALL : (state: Buffer) => view.fields(scope, state);
    return view.shown(`${scopeKey(scope)} ${names}`, () => shownRow(row, scope, sight));
  }

  #scope(place: Place): Scope<'read'> | null {
    const known = this.#scopes.get(place);
    const isOld = known != null && known.until !== null && known.until <= Date.now();
    if (known !== undefined && !isOld) return known;
    const scope = this.#policies.find(this.#question.principal, 'read', place);
    this.#scopes.set(place, scope);
    return scope;
  }
}

const LABEL = Buffer.from('"event":');
