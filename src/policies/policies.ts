/**
 * Decides whether a principal may do an action, with a Scope or a refusal, from the policies in memory. Owners are
 * allowed by their roles, all others by a policy only. Decisions are kept for each principal, so a request costs one
 * look into a map. Not here: where policies are kept and loaded from (policy-book.ts), what they mean (evaluation.ts).
 */
import type { Document } from 'mongodb';
import type { Principal } from '../auth/identity/principal.ts';
import { isCollectionName } from '../database/names.ts';
import type { Mode } from '../kernel/config/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import {
  earlier,
  type Granted,
  grant,
  isDenied,
  keyMay,
  lackedBy,
  placeKey,
  policiesFor,
  type Spoken,
  untilOf,
} from './evaluation.ts';
import { ownerMay } from './owner-roles.ts';
import { OPEN, OPEN_ID, type PolicySet, toPolicySet } from './policy-set.ts';
import {
  type ActionOf,
  actionOf,
  grantedFor,
  isOver,
  type NamedAction,
  NOT_COLLECTIONS,
  type Place,
  readerOf,
  readingNothing,
  type Scope,
  toScope,
  unlimited,
} from './scope.ts';

/** Stands for every collection that no policy names: they all get the same decision. */
const UNNAMED = '*';

/** The places of which a principal may read something. */
export interface Readable {
  readonly anything: boolean;
  /** Places with a name of their own in policies, or in the limits of a key. */
  readonly places: readonly Place[];
  /** True if it may also read collections that nothing names. */
  readonly unnamed: boolean;
}

/** One decision, kept to explain it later. */
export interface Decision {
  readonly action: NamedAction;
  readonly place: string;
  readonly verdict: 'allow' | 'deny';
  /** Policies that grant it or, when it was denied, that deny all of it. */
  readonly policies: readonly string[];
  /** True if it is allowed by an owner's role, without a policy. */
  readonly owner: boolean;
}

/** Decisions that are kept for an explanation: a request takes a few, but a feed or a socket might take any number. */
const MAX_DECISIONS = 50;

/** Grants that are the same for many principals, kept at most. */
const MAX_SHARED = 1_000;

export class Policies {
  readonly #mode: Mode;
  readonly #now: () => Date;
  readonly #listeners = new Set<() => void>();
  /** Null while they cannot be read: then only owners are allowed anything. */
  #set: PolicySet | null;
  #generation = 0;
  #scopes = new WeakMap<Principal, Map<string, Scope | null>>();
  #readable = new WeakMap<Principal, Readable>();
  #shared = new Map<string, Granted | null>();
  readonly #watched = new WeakMap<Principal, Decision[]>();

  /** Begins with the policies of an installation that has stored none. */
  constructor(mode: Mode, now: () => Date = () => new Date()) {
    this.#mode = mode;
    this.#now = now;
    this.#set = toPolicySet(mode === 'development' ? [{ id: OPEN_ID, policy: OPEN }] : []);
  }

  /**
   * The Scope of one request. A refusal names the variables that have no value, if they are the principal's own.
   * @throws MillraceError `not-authenticated` for anonymous, `forbidden` for others, `policies-unavailable`
   */
  scope<A extends NamedAction, P extends Place>(principal: Principal, action: A, place: P): Scope<ActionOf<A>, P> {
    const scope = this.find(principal, action, place);
    if (scope) return scope;
    if (principal.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to use this server', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    const lacked = this.#lacked(principal, action, place);
    throw new MillraceError('forbidden', `No policy allows ${action} in '${place}'`, {
      ...(lacked.length > 0 && {
        hint: `A policy needs values that you do not have: ${lacked.join(', ')}. Administrators of the server set claims`,
      }),
    });
  }

  /**
   * The same for an optional part of an answer: null where no policy allows it.
   * @throws MillraceError `policies-unavailable`
   */
  find<A extends NamedAction, P extends Place>(
    principal: Principal,
    action: A,
    place: P,
  ): Scope<ActionOf<A>, P> | null {
    const scope = this.#find(principal, action, place);
    const decisions = this.#watched.get(principal);
    if (decisions !== undefined && decisions.length < MAX_DECISIONS) {
      if (!isRepeated(decisions.at(-1), action, place)) decisions.push(this.#explain(principal, action, place, scope));
    }
    return scope && grantedFor(scope, action, place);
  }

  /**
   * The Scope of reading for an answer that continues while rights change. If only a value is missing, such as a claim
   * that was taken away, the Scope reaches nothing: the answer is empty until the value is back.
   * @returns null where no policy allows it
   * @throws MillraceError `policies-unavailable`
   */
  findLive(principal: Principal, place: Place): Scope<'read'> | null {
    const scope = this.find(principal, 'read', place);
    return scope === null && this.#lacked(principal, 'read', place).length > 0 ? readingNothing(principal) : scope;
  }

  /**
   * The places of which a principal may read something. While policies cannot be read: none, except for owners.
   * @param live whether those count, too, that it may read as soon as a value is there (`findLive`)
   */
  readable(principal: Principal, live = false): Readable {
    const known = live ? undefined : this.#readable.get(principal);
    if (known !== undefined) return known;
    const isOpen = this.#set !== null || principal.kind === 'owner';
    const waits = (place: Place | typeof UNNAMED) => live && this.#lacked(principal, 'read', place).length > 0;
    const reads = (place: Place | typeof UNNAMED) =>
      isOpen && (this.#find(principal, 'read', place) !== null || waits(place));
    const limits = principal.kind === 'key' ? (principal.collections ?? []) : [];
    const named = [...new Set([...(this.#set?.named ?? []), ...limits])].filter(isCollectionName);
    const places = [...NOT_COLLECTIONS, ...named].filter(reads);
    const unnamed = reads(UNNAMED);
    const readable = { anything: unnamed || places.length > 0, places, unnamed };
    if (!live) this.#readable.set(principal, readable);
    return readable;
  }

  /** Replaces the policies that are in force. */
  use(set: PolicySet): void {
    this.#become(set);
  }

  /** Allows owners only, until there are policies again. */
  close(): void {
    if (this.#set !== null) this.#become(null);
  }

  /**
   * Calls the listener in every process, within a second, when the policies have changed: Scopes must be asked for
   * again.
   * @returns a function that stops the calls
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The same principal, with a list of the first decisions made for it from now on. */
  watch<P extends Principal>(principal: P): { readonly principal: P; readonly decisions: readonly Decision[] } {
    const watched = { ...principal };
    const decisions: Decision[] = [];
    this.#watched.set(watched, decisions);
    return { principal: watched, decisions };
  }

  /**
   * The policy that denies a document, or all of a place.
   * @param document null to ask about the place as a whole
   */
  denying(principal: Principal, action: NamedAction, place: Place, document: Document | null): string | null {
    const set = this.#set;
    if (set === null || principal.kind === 'owner') return null;
    const { denies } = policiesFor(set, this.#mode, principal, action, aboutOf(set, place));
    return denies.find((policy) => isDenied(policy, principal, this.#now(), document))?.id ?? null;
  }

  /** A number that changes whenever the policies change. */
  get generation(): number {
    return this.#generation;
  }

  #become(set: PolicySet | null): void {
    this.#set = set;
    this.#generation += 1;
    this.#scopes = new WeakMap();
    this.#readable = new WeakMap();
    this.#shared = new Map();
    for (const listener of this.#listeners) listener();
  }

  #find(principal: Principal, action: NamedAction, place: Place | typeof UNNAMED): Scope | null {
    const does = actionOf(action);
    if (principal.kind === 'owner') return ownerMay(principal, does, place) ? unlimited(principal, does) : null;
    const set = this.#set;
    if (set === null) {
      throw new MillraceError('policies-unavailable', 'The policies cannot be read at the moment', {
        headers: { 'retry-after': '1' },
      });
    }
    if (principal.kind === 'key' && !keyMay(principal, action, place)) return null;
    const about = aboutOf(set, place);
    // A key may be limited to some of the collections that no policy names.
    const key =
      principal.kind === 'key' && principal.collections !== null ? `${action} ${place}` : `${action} ${about}`;
    const kept = this.#keptOf(principal);
    const known = kept.get(key);
    if (known !== undefined && !isOver(known, this.#now)) return known;
    const made = this.#make(set, principal, action, place, about);
    kept.set(key, made);
    return made;
  }

  /** Variables without a value that keep a principal out. Anonymous clients, owners and limits of keys have none. */
  #lacked(principal: Principal, action: NamedAction, place: Place | typeof UNNAMED): readonly string[] {
    const set = this.#set;
    if (set === null || principal.kind === 'owner' || principal.kind === 'anonymous') return [];
    if (principal.kind === 'key' && !keyMay(principal, action, place)) return [];
    const spoken = policiesFor(set, this.#mode, principal, action, aboutOf(set, place));
    return spoken.allows.length === 0 ? [] : lackedBy(spoken, principal, this.#now());
  }

  #keptOf(principal: Principal): Map<string, Scope | null> {
    const kept = this.#scopes.get(principal);
    if (kept !== undefined) return kept;
    const empty = new Map<string, Scope | null>();
    this.#scopes.set(principal, empty);
    return empty;
  }

  #make(
    set: PolicySet,
    principal: Principal,
    action: NamedAction,
    place: Place | typeof UNNAMED,
    about: string,
  ): Scope | null {
    const now = this.#now();
    const spoken = policiesFor(set, this.#mode, principal, action, about);
    const granted = this.#grant(spoken, action, principal, now);
    if (granted === null) return null;
    const does = actionOf(action);
    const reader = does === 'read' ? null : this.#reader(principal, place);
    const until = earlier(untilOf(spoken, now), reader?.until ?? null);
    return toScope({ ...granted, principal, action: does, reader, until });
  }

  /** A response about a file that was made or deleted shows what the client may `get`: it names that one file. */
  #reader(principal: Principal, place: Place | typeof UNNAMED): Scope<'read'> | null {
    const scope = this.#find(principal, place === 'files' ? 'get' : 'read', place);
    return scope && readerOf(scope);
  }

  /** What is the same for several principals is computed once, so that their reads can share database calls. */
  #grant(spoken: Spoken, action: NamedAction, principal: Principal, now: Date): Granted | null {
    const all = [...spoken.allows, ...spoken.denies];
    if (all.some(({ namesUser, namesNow }) => namesUser || namesNow)) return grant(spoken, action, principal, now);
    const key = JSON.stringify([action, all.map(({ id }) => id)]);
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const made = grant(spoken, action, principal, now);
    if (this.#shared.size < MAX_SHARED) this.#shared.set(key, made);
    return made;
  }

  #explain(principal: Principal, action: NamedAction, place: Place, scope: Scope | null): Decision {
    const owner = principal.kind === 'owner';
    const told = { action, place, owner, verdict: scope === null ? 'deny' : 'allow' } as const;
    if (scope !== null) return { ...told, policies: scope.grants.flatMap(({ policy }) => policy ?? []) };
    if (owner || this.#set === null) return { ...told, policies: [] };
    const deny = this.denying(principal, action, place, null);
    return { ...told, policies: deny === null ? [] : [deny] };
  }
}

function isRepeated(last: Decision | undefined, action: NamedAction, place: Place): boolean {
  return last?.action === action && last.place === place;
}

function aboutOf(set: PolicySet, place: Place | typeof UNNAMED): string {
  return placeKey(set, place === 'admin:accounts' ? 'admin' : place);
}
