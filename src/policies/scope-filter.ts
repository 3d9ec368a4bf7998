/**
 * What a Scope reaches, in two forms that must agree: as a database filter, and as a test of a document in memory. Also
 * which fields of a reached document are visible, and the rejection of filters, sorts and expansions that use a hidden
 * field. Computed once for each array of grants, so that equal requests have the same filter object.
 */
import type { Document } from 'mongodb';
import { readStored } from '../database/bson/stored.ts';
import { inTurns } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import { costOf, isHeavy, READ_COST, TEXT_COST } from '../query/evaluate/cost.ts';
import { ALL, coversPath, cutTo, type FieldTree, sameTree, touches, union } from '../query/evaluate/field-tree.ts';
import { compileMatch, type Match } from '../query/evaluate/match.ts';
import { isCertain } from '../query/evaluate/regex-certainty.ts';
import { toMongo } from '../query/evaluate/to-mongo.ts';
import { and, everything, type Filter, not, or } from '../query/filter.ts';
import { writtenPath } from '../query/paths.ts';
import type { Grant, Scope } from './scope.ts';

interface ScopeFilter {
  readonly filter: Document;
  /** True if every document is reached. */
  readonly whole: boolean;
  /** True if the Scope certainly reaches everything that the database finds by the filter. */
  readonly certain: boolean;
  readonly match: Match;
  /** What `match` costs (query/evaluate/cost.ts). */
  readonly cost: number;
  /** Each grant by itself, before denied documents are subtracted. */
  readonly grants: readonly { readonly grant: Grant; readonly match: Match }[];
  readonly hides: boolean;
  /** The fields that every grant shows; null when the grants differ. */
  readonly fields: FieldTree | null;
}

const filterOfGrants = new WeakMap<Scope['grants'], ScopeFilter>();

function scopeFilterOf({ grants, denied }: Scope): ScopeFilter {
  const known = filterOfGrants.get(grants);
  if (known) return known;
  const filter = and([or(grants.map((grant) => grant.filter)), not(denied)]);
  const [first] = grants;
  const alike = first !== undefined && grants.every(({ read }) => sameTree(read, first.read));
  const scopeFilter: ScopeFilter = {
    filter: toMongo(filter),
    whole: filter === everything,
    certain: isCertain(filter),
    match: compileMatch(filter),
    cost: costOf(filter),
    grants: grants.map((grant) => ({ grant, match: compileMatch(grant.filter) })),
    hides: grants.some(({ read }) => read !== ALL),
    fields: alike ? first.read : null,
  };
  filterOfGrants.set(grants, scopeFilter);
  return scopeFilter;
}

/** The Scope as a filter to combine with a query; the same object for the same grants. */
export function toDatabaseFilter(scope: Scope): Document {
  return scopeFilterOf(scope).filter;
}

/**
 * The filter of a query combined with the filters of Scopes, as the database takes it. Every read or write by a query
 * uses it.
 * @param requested the query's own filter; its variables are filled
 */
export function joinedFilter(requested: Filter, ...scopes: readonly Scope[]): Document {
  const parts = [...scopes.map(toDatabaseFilter), toMongo(requested)].filter((part) => Object.keys(part).length > 0);
  return parts.length > 1 ? { $and: parts } : (parts[0] ?? {});
}

/**
 * True if the Scope certainly reaches everything that the database finds by its filter. If not, the server's regex
 * engine may have given up on a document, and each found document is tested again with {@link reaches}.
 */
export function databaseDecides(scope: Scope): boolean {
  return scopeFilterOf(scope).certain;
}

/**
 * Whether the Scope reaches a document.
 * @param document as it is stored, with exact types
 */
export function reaches(scope: Scope, document: Document): boolean {
  return scopeFilterOf(scope).match(document);
}

/** The cost of testing whether the Scope reaches a document (query/evaluate/cost.ts). */
export function costOfScope(scope: Scope): number {
  return scopeFilterOf(scope).cost;
}

/** True if the Scope reaches every possible document. */
export function reachesAll(scope: Scope): boolean {
  return scopeFilterOf(scope).whole;
}

/** True if some reached document may have hidden fields. If false, stored bytes may be served unchanged. */
export function hidesFields(scope: Scope): boolean {
  return scopeFilterOf(scope).hides;
}

/** The visible fields of every reached document; null when they differ between documents. */
export function uniformFields(scope: Scope): FieldTree | null {
  return scopeFilterOf(scope).fields;
}

/**
 * The grants that reach a document, in the order of their policies; none when it is denied.
 * @param document as it is stored, with exact types
 */
export function grantsFor(scope: Scope, document: Document): readonly Grant[] {
  const { whole, match, grants } = scopeFilterOf(scope);
  if (whole && grants.length === 1) return scope.grants;
  return match(document) ? grants.filter((one) => one.match(document)).map(({ grant }) => grant) : [];
}

/**
 * The visible fields of a document: all that some grant shows that reaches it.
 * @returns null when the document is not reached
 */
export function fieldsFor(scope: Scope, document: Document): FieldTree | null {
  const { hides, fields } = scopeFilterOf(scope);
  if (!hides || fields !== null) return reaches(scope, document) ? (fields ?? ALL) : null;
  const grants = grantsFor(scope, document);
  return grants.length === 0 ? null : union(grants.map(({ read }) => read));
}

/**
 * The visible part of the document: the same object when nothing is hidden, null when it is not reached.
 * @param document as it is stored, with exact types
 */
export function shown(scope: Scope, document: Document): Document | null {
  const fields = fieldsFor(scope, document);
  return fields === null ? null : cutTo(document, fields);
}

/** True if a field is visible in every reached document. */
export function isReadable(scope: Scope, path: string): boolean {
  return !hidesFields(scope) || scope.grants.every(({ read }) => coversPath(read, path));
}

/**
 * Checks that fields are visible in every document: filtering or sorting must not reveal a hidden value.
 * @param paths stored paths that a filter, a sort or an expansion reads
 * @throws MillraceError `field-hidden`
 */
export function requireReadable(scope: Scope, paths: Iterable<string>): void {
  if (!hidesFields(scope)) return;
  for (const path of paths) if (!isReadable(scope, path)) throw fieldHidden(path);
}

/**
 * Checks that explicitly requested fields are visible in at least some documents.
 * @param paths stored paths
 * @throws MillraceError `field-hidden`
 */
export function requireShown(scope: Scope, paths: Iterable<string>): void {
  if (!hidesFields(scope)) return;
  for (const path of paths) if (!scope.grants.some(({ read }) => touches(read, path))) throw fieldHidden(path);
}

/** @param path a stored path */
export function fieldHidden(path: string): MillraceError {
  return new MillraceError(
    'field-hidden',
    `The field '${writtenPath(path).slice(0, 80)}' cannot be used: you have no permission to read it`,
    {
      hint: 'A policy hides it, at least in some documents',
    },
  );
}

/**
 * {@link grantsFor}, a few milliseconds at a time where it may take long.
 * @param document as it is stored, with exact types; it must not change meanwhile
 */
export async function grantsInTurns(scope: Scope, document: Document): Promise<readonly Grant[]> {
  const request = () => grantsFor(scope, document);
  return costOfScope(scope) < TEXT_COST ? request() : inTurns(request);
}

/** {@link fieldsFor} in the same way. */
export async function fieldsInTurns(scope: Scope, document: Document): Promise<FieldTree | null> {
  const request = () => fieldsFor(scope, document);
  return costOfScope(scope) < TEXT_COST ? request() : inTurns(request);
}

/**
 * The result of `ask` for a stored document; yields every few milliseconds where it may take long to read the document
 * and to test it against the Scope.
 * @param turn resolves when the next slice may begin; by default after other ready work
 */
export async function evaluateStored<T>(
  scope: Scope,
  raw: Uint8Array,
  request: (scope: Scope, document: Document) => T,
  turn?: () => Promise<unknown>,
): Promise<T> {
  const work = () => request(scope, readStored(raw));
  return isHeavy(costOfScope(scope) + READ_COST, raw.length) ? inTurns(work, turn) : work();
}
