/**
 * What a changed policy would affect: for each relevant principal, which of the newest events it would gain or lose,
 * and which open subscriptions would change. Two `Policies` decide it, one with the current and one with the changed
 * policies, as for real requests.
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { changedFieldNames, rawFields } from '../../database/bson/raw-bson.ts';
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { type CollectionName, isCollectionName } from '../../database/parse-collection-name.ts';
import { type EventEnvelope, toEventEnvelope } from '../../events/log/event.ts';
import { resourcesOfRow } from '../../events/log/event-visibility.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import { redactRow } from '../../events/read/redact-row.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { FieldTree } from '../../query/evaluate/field-tree.ts';
import { principalCacheKey } from '../bindings.ts';
import type { Policies } from '../policies.ts';
import { sameRights } from '../revalidation/same-rights.ts';
import type { Resource, Scope } from '../scope.ts';
import { visibleFieldTreeAsync } from '../scope-filter.ts';
import { formatPrincipal } from './preview-principals.ts';

/** Examples of each kind of change. */
const MAX_EXAMPLES = 20;
/** Principals and collections of affected subscriptions in the list. */
const MAX_LISTED = 50;

/** The policies as they are, and as they would be. */
export interface ComparedPolicies {
  readonly now: Policies;
  readonly next: Policies;
}

export interface VisibilityChangeExample extends Pick<EventEnvelope, 'type' | 'collection' | 'documentId'> {
  /** The id of the event. */
  readonly event: string;
  readonly principal: string;
  /** The fields whose visibility differs; absent where the whole event appears or disappears. */
  readonly fields?: readonly string[];
}

/** Changes of one kind: how often an event changes for a principal. */
export interface VisibilityChangeSummary {
  readonly count: number;
  readonly examples: readonly VisibilityChangeExample[];
}

export interface PolicyEventImpact {
  /** Number of events that were compared for all principals. */
  readonly examined: number;
  readonly visible: VisibilityChangeSummary;
  readonly hidden: VisibilityChangeSummary;
  readonly changed: VisibilityChangeSummary;
}

/** The Scopes of one principal for one resource. */
interface Pair {
  readonly principal: Principal;
  readonly now: Scope<'read'> | null;
  readonly next: Scope<'read'> | null;
}

/** Compares the Scopes of principals, each pair once. */
class Comparison {
  readonly #sides: ComparedPolicies;
  readonly #affected = new Map<Resource, Map<Principal, Pair | null>>();

  constructor(sides: ComparedPolicies) {
    this.#sides = sides;
  }

  /** The Scopes of a principal for a resource; null when they give the same rights. */
  at(principal: Principal, resource: Resource): Pair | null {
    const ofResource = this.#affected.get(resource) ?? new Map<Principal, Pair | null>();
    this.#affected.set(resource, ofResource);
    const known = ofResource.get(principal);
    if (known !== undefined) return known;
    const { now, next } = this.#sides;
    const pair = {
      principal,
      now: now.find(principal, 'read', resource),
      next: next.find(principal, 'read', resource),
    };
    const found = sameRights(pair.now, pair.next) ? null : pair;
    ofResource.set(principal, found);
    return found;
  }
}

/**
 * @param rows the newest first
 * @param until when to stop, on the clock of `performance.now`
 */
export async function computePolicyEventImpact(
  sides: ComparedPolicies,
  rows: readonly LogRow[],
  principals: readonly Principal[],
  until: number,
): Promise<PolicyEventImpact> {
  const comparison = new Comparison(sides);
  const found = { visible: new Tally(), hidden: new Tally(), changed: new Tally() };
  let examined = 0;
  await mapCooperatively(rows, async (row) => {
    if (performance.now() > until) return;
    const [resource] = resourcesOfRow(row);
    if (!isCollectionName(resource) && resource !== '_files') {
      examined += 1;
      return;
    }
    const views = await viewsOf(row);
    await mapCooperatively(principals, async (principal) => {
      const pair = comparison.at(principal, resource);
      if (pair === null) return;
      const [seen, willBeSeen] = [await views.of(pair.now), await views.of(pair.next)];
      if (seen === willBeSeen) return;
      if (seen === null) found.visible.add(row, principal);
      else if (willBeSeen === null) found.hidden.add(row, principal);
      else {
        const fields = views.differing(seen, willBeSeen);
        if (fields.length > 0) found.changed.add(row, principal, fields);
      }
    });
    examined += 1;
  });
  return { examined: examined, ...found };
}

class Tally implements VisibilityChangeSummary {
  count = 0;
  readonly examples: VisibilityChangeExample[] = [];

  add(row: LogRow, principal: Principal, fields?: readonly string[]): void {
    this.count += 1;
    if (this.examples.length >= MAX_EXAMPLES) return;
    const envelope = toEventEnvelope(row);
    if (envelope === null) return;
    const { id, type, collection, documentId } = envelope;
    const name = formatPrincipal(principal);
    this.examples.push({
      event: id,
      type,
      collection,
      documentId,
      principal: name,
      ...(fields && { fields: fields }),
    });
  }
}

/** What principals see of one row. Many see the same, so each view is computed once, and two are compared once. */
class Views {
  readonly #row: LogRow;
  readonly #states: ReadonlyMap<Buffer, Document>;
  readonly #byGrants = new Map<Scope['grants'], LogRow | null>();
  readonly #known = new Map<FieldTree | null, Map<FieldTree | null, LogRow | null>>();
  readonly #compared = new Map<LogRow, Map<LogRow, readonly string[]>>();

  constructor(row: LogRow, states: ReadonlyMap<Buffer, Document>) {
    this.#row = row;
    this.#states = states;
  }

  /** The row as a reader sees it; null when it is invisible. Equal views are mostly the same object. */
  async of(scope: Scope<'read'> | null): Promise<LogRow | null> {
    if (scope === null) return null;
    const known = this.#byGrants.get(scope.grants);
    const view = known === undefined ? await this.#created(scope) : known;
    this.#byGrants.set(scope.grants, view);
    return view;
  }

  async #created(scope: Scope<'read'>): Promise<LogRow | null> {
    const trees = new Map<Buffer, FieldTree | null>();
    for (const [state, document] of this.#states) trees.set(state, await visibleFieldTreeAsync(scope, document));
    const { after, before } = this.#row;
    const show = () => redactRow(this.#row, scope, (state) => trees.get(state) ?? null);
    // Without a state, it depends only on the Scope.
    if (trees.size === 0) return show();
    const [ofAfter, ofBefore] = [after && (trees.get(after) ?? null), before && (trees.get(before) ?? null)];
    return remembered(
      remembered(this.#known, ofAfter, () => new Map()),
      ofBefore,
      show,
    );
  }

  /** The fields that two views show differently. */
  differing(one: LogRow, other: LogRow): readonly string[] {
    const ofOne = remembered(this.#compared, one, () => new Map<LogRow, readonly string[]>());
    return remembered(ofOne, other, () => [
      ...new Set([...differing(one.after, other.after), ...differing(one.before, other.before)]),
    ]);
  }
}

async function viewsOf(row: LogRow): Promise<Views> {
  const states = new Map<Buffer, Document>();
  for (const state of [row.after, row.before])
    if (state !== null) states.set(state, await decodeDocumentCooperatively(state));
  return new Views(row, states);
}

function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  const found = known.get(key);
  if (found !== undefined) return found;
  const created = make();
  known.set(key, created);
  return created;
}

/** The fields that differ between two views of one state. */
function differing(now: Buffer | null, next: Buffer | null): readonly string[] {
  if (now === null || next === null) {
    const only = now ?? next;
    return only === null ? [] : [...rawFields(only)].map(({ name }) => name).filter((name) => !ALWAYS.has(name));
  }
  return now.equals(next) ? [] : changedFieldNames(now, next);
}

const ALWAYS: ReadonlySet<string> = new Set(['_id', '_meta']);

/** An open subscription: its effective principal and its collections; null for events of any collection. */
export interface OpenSubscription {
  readonly principal: Principal;
  readonly collections: readonly string[] | null;
}

export interface PolicySubscriptionImpact {
  readonly open: number;
  readonly affected: number;
  readonly by: readonly { readonly principal: string; readonly collection: string | null; readonly count: number }[];
}

/** @param named collections that policies name, for which events of any collection may differ */
export async function computePolicySubscriptionImpact(
  sides: ComparedPolicies,
  open: Iterable<OpenSubscription>,
  named: readonly CollectionName[],
): Promise<PolicySubscriptionImpact> {
  const comparison = new Comparison(sides);
  const first = new Map<string, Principal>();
  const by = new Map<string, { principal: string; collection: string | null; count: number }>();
  let [count, affected] = [0, 0];
  await mapCooperatively([...open], ({ principal, collections }) => {
    count += 1;
    if (principal.kind === 'admin') return;
    // One object for all principals that no policy can tell apart, so that their Scopes are compared once.
    const key = principalCacheKey(principal);
    const alike = first.get(key) ?? principal;
    first.set(key, alike);
    const resources = collections ?? named;
    const differs = resources.some(
      (resource) => (isCollectionName(resource) || resource === '_files') && comparison.at(alike, resource),
    );
    if (!differs) return;
    affected += 1;
    const collection = collections?.length === 1 ? (collections[0] ?? null) : null;
    const entry = `${key} ${collection}`;
    const listed = by.get(entry) ?? { principal: formatPrincipal(principal), collection, count: 0 };
    listed.count += 1;
    by.set(entry, listed);
  });
  const listed = [...by.values()].sort((a, b) => b.count - a.count).slice(0, MAX_LISTED);
  return { open: count, affected, by: listed };
}
