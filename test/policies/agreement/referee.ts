/**
 * A second implementation of policies, slow and straight from their description: `mingo`, a query engine of others,
 * tests every policy on every document, and fields are decided one path at a time. It shares no code with the program.
 */
import { isDeepStrictEqual } from 'node:util';
import { Query } from 'mingo';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import type { Json, PolicyLike } from './random-policies.ts';

type Rules = readonly string[] | undefined;

const MISSING = Symbol('a variable without a value');

/** Every path at which a document of the test can have a value, and one that none has. */
const LEAVES = ['owner', 'team', 'n', 'tags', 'flag', 'box.a', 'box.b', 'box.other', 'other'];

/** What policies decide for one principal and one action in the collection `things`. */
export class Referee {
  readonly #grants: readonly { readonly where: Json; readonly policy: PolicyLike; readonly set: Json }[];
  readonly #denies: readonly (Json | typeof MISSING)[];

  constructor(policies: readonly PolicyLike[], principal: Principal, action: string) {
    const about = policies.filter((policy) => policy.actions.includes(action) && isAbout(policy, principal));
    this.#denies = about
      .filter(({ effect }) => effect === 'deny')
      .map(({ filter = {} }) => {
        const bound = fill(filter, principal);
        return isJson(bound) ? bound : MISSING;
      });
    this.#grants = about
      .filter(({ effect }) => effect === 'allow')
      .flatMap((policy) => {
        const [where, set] = [fill(policy.filter ?? {}, principal), fill(policy.set ?? {}, principal)];
        return isJson(where) && isJson(set) ? [{ where, policy, set }] : [];
      });
  }

  /** Whether anything at all may be allowed. */
  get open(): boolean {
    const all = this.#denies.some((deny) => deny === MISSING || Object.keys(deny).length === 0);
    return this.#grants.length > 0 && !all;
  }

  grantsOf(document: Json): readonly PolicyLike[] {
    if (this.#denies.some((deny) => deny === MISSING || holds(deny, document))) return [];
    return this.#grants.filter(({ where }) => holds(where, document)).map(({ policy }) => policy);
  }

  /** The visible part of the document; null when it is invisible. */
  seen(document: Json): Json | null {
    const grants = this.grantsOf(document);
    if (grants.length === 0) return null;
    const rules = grants.map(({ fields }) => fields?.read);
    return { id: document['id'], ...cut(without(document), [], rules) };
  }

  /**
   * Whether a path may be used in a query: every grant shows it, except those that a wider grant of all documents makes
   * redundant.
   */
  requests(path: string): boolean {
    if (path === 'id') return true;
    const shows = ({ policy }: { readonly policy: PolicyLike }, one: string) =>
      states(one.split('.'), policy.fields?.read) === 'in';
    const wide = this.#grants.find(
      (grant) =>
        Object.keys(grant.where).length === 0 &&
        LEAVES.every((leaf) => shows(grant, leaf) || !this.#grants.some((other) => shows(other, leaf))),
    );
    return wide === undefined ? this.#grants.every((grant) => shows(grant, path)) : shows(wide, path);
  }

  /** Values that the policies of a document (or of the action, before there is one) give. */
  given(document: Json | null): Json {
    const grants = document === null ? null : this.grantsOf(document);
    const values: Json = {};
    for (const { policy, set } of this.#grants) {
      if (grants !== null && !grants.includes(policy)) continue;
      for (const [name, value] of Object.entries(set)) if (!(name in values)) values[name] = value;
    }
    return values;
  }

  /** Whether the change of a document (null: there was none) is allowed, apart from the given values. */
  allows(before: Json | null, after: Json, given: Json): boolean {
    const old = before === null ? null : this.grantsOf(before);
    const grants = this.grantsOf(after).filter((policy) => old === null || old.includes(policy));
    if (grants.length === 0) return false;
    const rules = grants.map(({ fields }) => fields?.write);
    return changedPaths(before ?? {}, after).every(
      (path) => path[0] === 'id' || (path[0] ?? '') in given || rules.some((one) => states(path, one) === 'in'),
    );
  }

  /**
   * The document after a replacement, in which hidden and locked fields stay.
   * @param reader what the same principal may read
   * @returns null when a field is sent that must not be
   */
  replaced(old: Json, sent: Json, reader: Referee): Json | null {
    const given = this.given(old);
    const free = ({ id: _id, ...fields }: Json): Json =>
      Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in given)));
    const read = reader.open ? reader.grantsOf(old).map(({ fields }) => fields?.read) : [];
    const write = this.grantsOf(old).map(({ fields }) => fields?.write);
    const next = replaceIn(free(old), free(sent), [], read, write);
    return next === null ? null : { id: old['id'], ...next, ...given };
  }

  /** Whether the policies of a document allow each of these paths to be set. */
  lets(before: Json, paths: readonly (readonly string[])[]): boolean {
    const rules = this.grantsOf(before).map(({ fields }) => fields?.write);
    return paths.every((path) => rules.some((one) => states(path, one) === 'in'));
  }
}

function isAbout({ principals }: PolicyLike, principal: Principal): boolean {
  if (principals === undefined) return true;
  if (principal.kind === 'anonymous') return principals['anonymous'] === true;
  const has = (name: string, ids: readonly string[]) => {
    const listed = principals[name];
    return Array.isArray(listed) && ids.some((id) => listed.includes(id));
  };
  return (
    principals['authenticated'] === true || has('roles', principal.roles) || has(`${principal.kind}s`, [principal.id])
  );
}

function fill(value: unknown, principal: Principal): unknown {
  if (typeof value === 'string' && value.startsWith('$user')) {
    if (principal.kind === 'anonymous') return MISSING;
    if (value === '$user.id') return principal.id;
    if (value === '$user.roles') return principal.roles;
    return (principal.kind === 'user' && principal.claims['team']) || MISSING;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => fill(item, principal));
    return items.includes(MISSING) ? MISSING : items;
  }
  if (!isJson(value)) return value;
  const filled = Object.entries(value).map(([name, field]) => [name, fill(field, principal)] as const);
  return filled.some(([, field]) => field === MISSING) ? MISSING : Object.fromEntries(filled);
}

export const holds = (where: Json, document: Json): boolean => new Query(where).test(document);

/** Whether rules include a path, exclude it, or decide below it. */
function states(path: readonly string[], rules: Rules): 'in' | 'out' | 'below' {
  if (rules === undefined) return 'in';
  const all = rules.includes('*');
  const named = rules.filter((rule) => rule !== '*').map((rule) => rule.replace(/^-/, '').split('.'));
  if (named.some((rule) => rule.every((step, index) => path[index] === step))) return all ? 'out' : 'in';
  if (named.some((rule) => path.every((step, index) => rule[index] === step))) return 'below';
  return all ? 'in' : 'out';
}

function cut(fields: Json, path: readonly string[], rules: readonly Rules[]): Json {
  const kept: Json = {};
  for (const [name, value] of Object.entries(fields)) {
    const here = [...path, name];
    const found = rules.map((one) => states(here, one));
    if (found.includes('in')) kept[name] = value;
    else if (found.includes('below') && isJson(value)) kept[name] = cut(value, here, rules);
    else if (rules.some((one, index) => found[index] === 'below' && one?.includes('*'))) kept[name] = value;
  }
  return kept;
}

type State = ReturnType<typeof states>;

/** The result of several rules: one that includes it is enough. */
function together(path: readonly string[], rules: readonly Rules[]): State {
  const found = rules.map((one) => states(path, one));
  return found.includes('in') ? 'in' : found.includes('below') ? 'below' : 'out';
}

function replaceIn(
  old: Json,
  sent: Json,
  at: readonly string[],
  read: readonly Rules[],
  write: readonly Rules[],
): Json | null {
  const next: Json = {};
  for (const name of new Set([...Object.keys(sent), ...Object.keys(old)])) {
    const path = [...at, name];
    const [seen, set] = [together(path, read), together(path, write)];
    const [before, after] = [old[name], sent[name]];
    const shown = cut({ [name]: before }, at, read)[name];
    if (name in sent && set === 'in' && seen !== 'below') next[name] = after;
    else if (name in sent && shown !== undefined && isDeepStrictEqual(shown, after)) next[name] = before;
    else if (name in sent && (set === 'out' || !isJson(after) || (before !== undefined && !isJson(before))))
      return null;
    else if (!(name in sent) && (seen === 'out' || set === 'out')) next[name] = before;
    else if (name in sent || (isJson(before) && !(seen === 'in' && set === 'in'))) {
      const inner = replaceIn(asJson(before), asJson(after), path, read, write);
      if (inner === null) return null;
      if (name in sent || Object.keys(inner).length > 0) next[name] = inner;
    }
  }
  return next;
}

export function changedPaths(before: Json, after: Json, path: readonly string[] = []): string[][] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [old, next] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(next)) return [];
    const inside = (isJson(old) || old === undefined) && (isJson(next) || next === undefined);
    return inside ? changedPaths(asJson(old), asJson(next), [...path, name]) : [[...path, name]];
  });
}

const asJson = (value: unknown): Json => (isJson(value) ? value : {});

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function without({ id: _id, ...fields }: Json): Json {
  return fields;
}
