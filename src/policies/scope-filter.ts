/**
 * What a Scope reaches, in two forms that must agree: as a database filter, and as a test of a document in memory. Also
 * which fields of a reached document are visible, and the rejection of filters, sorts and expansions that use a hidden
 * field. Computed once for each array of grants, so that equal requests have the same filter object.
 */
import type { Document } from 'mongodb';
import { decodeDocument } from '../database/bson/stored-document.ts';
import { runCooperatively } from '../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../lib/errors.ts';
import {
  type FieldTree,
  FULL_FIELD_TREE,
  fieldTreeIncludesPath,
  mayIncludePath,
  sameFieldTree,
  selectFields,
  unionFieldTrees,
} from '../query/evaluate/field-tree.ts';
import { DOCUMENT_READ_COST, filterCost, isExpensiveMatch, TEXT_MATCH_COST } from '../query/evaluate/filter-cost.ts';
import { compileMatcher, type DocumentMatcher } from '../query/evaluate/match.ts';
import { isServerMatchReliable } from '../query/evaluate/server-match-reliability.ts';
import { toMongoFilter } from '../query/evaluate/to-mongo-filter.ts';
import { clientPath } from '../query/field-paths.ts';
import { and, type Filter, matchAllFilter, not, or } from '../query/filter.ts';
import type { Grant, Scope } from './scope.ts';

interface ScopeFilter {
  readonly filter: Document;
  /** True if every document is reached. */
  readonly whole: boolean;
  /** True if the Scope certainly reaches everything that the database finds by the filter. */
  readonly certain: boolean;
  readonly match: DocumentMatcher;
  /** What `match` costs (query/evaluate/filter-cost.ts). */
  readonly cost: number;
  /** Each grant by itself, before denied documents are subtracted. */
  readonly grants: readonly { readonly grant: Grant; readonly match: DocumentMatcher }[];
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
  const alike = first !== undefined && grants.every(({ read }) => sameFieldTree(read, first.read));
  const scopeFilter: ScopeFilter = {
    filter: toMongoFilter(filter),
    whole: filter === matchAllFilter,
    certain: isServerMatchReliable(filter),
    match: compileMatcher(filter),
    cost: filterCost(filter),
    grants: grants.map((grant) => ({ grant, match: compileMatcher(grant.filter) })),
    hides: grants.some(({ read }) => read !== FULL_FIELD_TREE),
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
export function restrictFilterToScopes(requested: Filter, ...scopes: readonly Scope[]): Document {
  const parts = [...scopes.map(toDatabaseFilter), toMongoFilter(requested)].filter(
    (part) => Object.keys(part).length > 0,
  );
  return parts.length > 1 ? { $and: parts } : (parts[0] ?? {});
}

/**
 * True if the Scope certainly reaches everything that the database finds by its filter. If not, the server's regex
 * engine may have given up on a document, and each found document is tested again with {@link isInScope}.
 */
export function isDatabaseFilterExact(scope: Scope): boolean {
  return scopeFilterOf(scope).certain;
}

/**
 * Whether the Scope reaches a document.
 * @param document as it is stored, with exact types
 */
export function isInScope(scope: Scope, document: Document): boolean {
  return scopeFilterOf(scope).match(document);
}

/** The cost of testing whether the Scope reaches a document (query/evaluate/filter-cost.ts). */
export function scopeMatchCost(scope: Scope): number {
  return scopeFilterOf(scope).cost;
}

/** True if the Scope reaches every possible document. */
export function includesAllDocuments(scope: Scope): boolean {
  return scopeFilterOf(scope).whole;
}

/** True if some reached document may have hidden fields. If false, stored bytes may be served unchanged. */
export function hidesFields(scope: Scope): boolean {
  return scopeFilterOf(scope).hides;
}

/** The visible fields of every reached document; null when they differ between documents. */
export function uniformVisibleFields(scope: Scope): FieldTree | null {
  return scopeFilterOf(scope).fields;
}

/**
 * The grants that reach a document, in the order of their policies; none when it is denied.
 * @param document as it is stored, with exact types
 */
export function grantsForDocument(scope: Scope, document: Document): readonly Grant[] {
  const { whole, match, grants } = scopeFilterOf(scope);
  if (whole && grants.length === 1) return scope.grants;
  return match(document) ? grants.filter((one) => one.match(document)).map(({ grant }) => grant) : [];
}

/**
 * The visible fields of a document: all that some grant shows that reaches it.
 * @returns null when the document is not reached
 */
export function visibleFieldTree(scope: Scope, document: Document): FieldTree | null {
  const { hides, fields } = scopeFilterOf(scope);
  if (!hides || fields !== null) return isInScope(scope, document) ? (fields ?? FULL_FIELD_TREE) : null;
  const grants = grantsForDocument(scope, document);
  return grants.length === 0 ? null : unionFieldTrees(grants.map(({ read }) => read));
}

/**
 * The visible part of the document: the same object when nothing is hidden, null when it is not reached.
 * @param document as it is stored, with exact types
 */
export function redactDocument(scope: Scope, document: Document): Document | null {
  const fields = visibleFieldTree(scope, document);
  return fields === null ? null : selectFields(document, fields);
}

/** True if a field is visible in every reached document. */
export function isFieldReadable(scope: Scope, path: string): boolean {
  return !hidesFields(scope) || scope.grants.every(({ read }) => fieldTreeIncludesPath(read, path));
}

/**
 * Checks that fields are visible in every document: filtering or sorting must not reveal a hidden value.
 * @param paths stored paths that a filter, a sort or an expansion reads
 * @throws MillraceError `field-hidden`
 */
export function requireFilterableFields(scope: Scope, paths: Iterable<string>): void {
  if (!hidesFields(scope)) return;
  for (const path of paths) if (!isFieldReadable(scope, path)) throw fieldHidden(path);
}

/**
 * Checks that explicitly requested fields are visible in at least some documents.
 * @param paths stored paths
 * @throws MillraceError `field-hidden`
 */
export function requireSelectableFields(scope: Scope, paths: Iterable<string>): void {
  if (!hidesFields(scope)) return;
  for (const path of paths) if (!scope.grants.some(({ read }) => mayIncludePath(read, path))) throw fieldHidden(path);
}

/** @param path a stored path */
export function fieldHidden(path: string): MillraceError {
  return new MillraceError(
    'field-hidden',
    `The field '${clientPath(path).slice(0, 80)}' cannot be used: you have no permission to read it`,
    {
      hint: 'A policy hides it, at least in some documents',
    },
  );
}

/**
 * {@link grantsForDocument}, a few milliseconds at a time where it may take long.
 * @param document as it is stored, with exact types; it must not change meanwhile
 */
export async function grantsForDocumentAsync(scope: Scope, document: Document): Promise<readonly Grant[]> {
  const request = () => grantsForDocument(scope, document);
  return scopeMatchCost(scope) < TEXT_MATCH_COST ? request() : runCooperatively(request);
}

/** {@link visibleFieldTree} in the same way. */
export async function visibleFieldTreeAsync(scope: Scope, document: Document): Promise<FieldTree | null> {
  const request = () => visibleFieldTree(scope, document);
  return scopeMatchCost(scope) < TEXT_MATCH_COST ? request() : runCooperatively(request);
}

/**
 * The result of `request` for a stored document; yields every few milliseconds where it may take long to read the document
 * and to test it against the Scope.
 * @param turn resolves when the next slice may begin; by default after other ready work
 */
export async function evaluateStoredDocument<T>(
  scope: Scope,
  raw: Uint8Array,
  request: (scope: Scope, document: Document) => T,
  turn?: () => Promise<unknown>,
): Promise<T> {
  const work = () => request(scope, decodeDocument(raw));
  return isExpensiveMatch(scopeMatchCost(scope) + DOCUMENT_READ_COST, raw.length)
    ? runCooperatively(work, turn)
    : work();
}
