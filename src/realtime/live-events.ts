/**
 * Follows events themselves: each row of a wanted type whose states may be seen becomes an event, cut to what may be
 * seen of it, and is then asked the subscription's own filter, so that what is hidden cannot be found out by filtering.
 */
import type { Principal } from '../auth/principal.ts';
import { readStored } from '../database/stored.ts';
import { type Event, eventType, toEvent } from '../events/event.ts';
import { wantsType } from '../events/feed-query.ts';
import type { LogRow } from '../events/row.ts';
import { placeOfRow } from '../events/row-place.ts';
import { cutBytes } from '../policies/cut-bytes.ts';
import type { Policies } from '../policies/policies.ts';
import { fieldsFor, hidesFields } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import type { Filter } from '../query/filter.ts';
import { compileMatch, type Match } from '../query/match.ts';
import { SharedMessage } from './change.ts';
import { type Judgement, type Live, NOTHING } from './live.ts';
import type { RowView } from './row-view.ts';

export interface EventQuestion {
  readonly types: readonly string[];
  readonly filter: Filter;
  readonly principal: Principal;
  /** Equal for questions that are told the same. */
  readonly key: string;
}

export class LiveEvents implements Live {
  readonly collection = null;
  readonly wanting = false;
  readonly remembers = false;
  readonly #question: EventQuestion;
  readonly #policies: Pick<Policies, 'find'>;
  readonly #match: Match;
  /** By collection, for as long as the policies are what they are: a changed policy makes another subscription. */
  readonly #scopes = new Map<string, Scope | null>();

  constructor(question: EventQuestion, policies: Pick<Policies, 'find'>) {
    this.#question = question;
    this.#policies = policies;
    this.#match = compileMatch(question.filter);
  }

  get key(): string {
    return this.#question.key;
  }

  judge(view: RowView): Judgement {
    const type = eventType(view.row);
    if (type === null || !wantsType(this.#question.types, type)) return NOTHING;
    const event = this.#visible(view.row);
    if (event === null || !this.#match({ ...event, _id: event.id })) return NOTHING;
    return [new SharedMessage('event', view.event, () => Buffer.from(`"event":${JSON.stringify(event)}`))];
  }

  async settle(): Promise<readonly never[]> {
    return [];
  }

  /** The event, cut to the states that may be seen; null when none may. */
  #visible(row: LogRow): Event | null {
    const scope = this.#scope(row.collection);
    if (scope === null) return null;
    if (row.key === null) return toEvent(row);
    const cut = { ...row, after: seen(scope, row.after), before: seen(scope, row.before) };
    if (cut.after === null && cut.before === null && (row.after !== null || row.before !== null)) return null;
    const event = toEvent(cut);
    if (event === null || !hidesFields(scope)) return event;
    const names = new Set([...Object.keys(event.data ?? {}), ...Object.keys(event.before ?? {})]);
    return { ...event, changed: event.changed?.filter((name) => names.has(name)) ?? null };
  }

  #scope(collection: string | null): Scope | null {
    const place = placeOfRow(collection);
    const known = this.#scopes.get(place);
    const isOld = known != null && known.until !== null && known.until <= Date.now();
    if (known !== undefined && !isOld) return known;
    const scope = this.#policies.find(this.#question.principal, 'read', place);
    this.#scopes.set(place, scope);
    return scope;
  }
}

/** The bytes of what may be seen of a state; null when it is out of reach. */
function seen(scope: Scope, body: Buffer | null): Buffer | null {
  if (body === null) return null;
  const fields = fieldsFor(scope, readStored(body));
  return fields && cutBytes(body, fields);
}
